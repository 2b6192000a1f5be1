"""Direct logit attribution: parts that add up, to the model's own number, whichever model and token."""

import pytest
import torch

from explorer.analysis.attribution import attribution, attribution_rows, by_layer, head_parts
from explorer.analysis.residual_stream import account
from explorer.cli.attribution import attributed
from explorer.cli.session import Session
from explorer.trace.trace import Trace, TraceRequest
from tests.loaded_models import tiny_a
from tests.trace.runs import traced

CAPITAL = "The capital of France is"
PARIS, LONDON = 7042, 4528
IDS = tuple(range(40, 50))


@pytest.fixture(scope="module")
def trace() -> Trace:
    rows = attribution_rows(0) | attribution_rows(1)
    request = TraceRequest(model="", token_ids=IDS, rows=rows, taps=frozenset({"tap.logits", "tap.final"}), scored=(7,))
    return traced(tiny_a().model, request)


def test_every_part_is_its_write_read_at_the_frozen_scale(trace: Trace) -> None:
    model = tiny_a().model
    logits = trace["tap.logits"][0]
    token = 123
    found = attribution(
        account(trace), model.norm.gain, model.config.norm_eps, model.unembedding.weight[[token]], float(logits[token])
    )
    rms = (trace["tap.final"][7].double().pow(2).mean() + model.config.norm_eps).sqrt()
    write = trace.rows["layers.1.feed_forward.tap.output"][0].double()
    expected = float(((write / rms) * model.norm.gain.double()) @ model.unembedding.weight[token].double())
    part = found.parts[(found.parts["layer"] == 1) & (found.parts["part"] == "feed-forward")]
    assert part["contribution"].item() == pytest.approx(expected, rel=1e-6)
    assert found.total == pytest.approx(float(logits[token]), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("layer", [0, 1])
def test_the_heads_add_up_to_their_attention(trace: Trace, layer: int) -> None:
    model, logits = tiny_a().model, trace["tap.logits"][0]
    rows = model.unembedding.weight[[5, 9]]
    found = attribution(account(trace), model.norm.gain, model.config.norm_eps, rows, float(logits[5] - logits[9]))
    output = model.get_parameter(f"layers.{layer}.attention.output.weight")
    heads = head_parts(trace, layer, output, found.direction)
    assert len(heads) == model.config.n_heads
    wrote = by_layer(found.parts)["attention"][layer]
    assert heads["contribution"].sum() == pytest.approx(wrote, rel=1e-5, abs=1e-7)


def test_one_head_is_what_is_lost_without_it(trace: Trace) -> None:
    model = tiny_a().model
    found = attribution(account(trace), model.norm.gain, model.config.norm_eps, model.unembedding.weight[[5]], 0.0)
    output = model.get_parameter("layers.0.attention.output.weight")
    mixed = trace.rows["layers.0.attention.tap.mixed"][:, 0].clone()  # (head, head_dim)
    mixed[:1] = 0
    without = (output @ mixed.flatten()).double().numpy()
    whole = trace.rows["layers.0.attention.tap.output"][0].double().numpy()
    lost = float((whole - without) @ found.direction)
    assert head_parts(trace, 0, output, found.direction)["contribution"][0] == pytest.approx(lost, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("against", [None, LONDON])
def test_the_parts_of_paris_add_up_to_its_logit(default_session: Session, against: int | None) -> None:
    found, heads = attributed(default_session, CAPITAL, token=PARIS, against=against, layer=20)
    logit = 17.3713 if against is None else 17.3713 - 13.245  # case G01
    assert found.logit == pytest.approx(logit, abs=2e-3)
    assert abs(found.residual) <= 1e-3 * abs(found.logit)
    layers = by_layer(found.parts)
    assert heads["contribution"].sum() == pytest.approx(layers["attention"][20], rel=1e-3, abs=1e-5)
    assert layers["so_far"].iloc[-1] == pytest.approx(found.total, rel=1e-9)


def test_the_difference_of_two_tokens_is_the_difference_of_their_parts(default_session: Session) -> None:
    apart = attributed(default_session, CAPITAL, token=PARIS, against=LONDON)[0].parts["contribution"]
    each = [attributed(default_session, CAPITAL, token=token)[0].parts["contribution"] for token in (PARIS, LONDON)]
    torch.testing.assert_close(torch.tensor(apart.to_numpy()), torch.tensor((each[0] - each[1]).to_numpy()))
