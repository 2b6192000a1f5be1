"""Neurons, their sum, and what they speak for."""

import json
import math

import numpy as np
import pytest
import torch

from explorer.analysis.activations import FUNCTIONS, activation_curves
from explorer.analysis.feed_forward import (
    along_the_text,
    feed_forward_taps,
    needed_for,
    neuron_table,
    pushes,
    quietness,
    strongest,
    sum_error,
    with_readout,
)
from explorer.analysis.feed_forward_width import Width, presets
from explorer.cli.session import Session
from explorer.model.llama import Llama
from explorer.trace.readout import readout
from explorer.trace.trace import Trace, TraceRequest
from tests.conftest import DATA
from tests.loaded_models import tiny_a
from tests.trace.runs import live, traced

IDS = (5, 17, 3, 90, 41, 17, 8)
LAYER, TOKEN = 1, 4
PUBLISHED = json.loads((DATA / "cases" / "files" / "tiny_a_expected.json").read_text())


@pytest.fixture(scope="module")
def trace(tiny_llama: Llama) -> Trace:
    return traced(tiny_llama, TraceRequest(model="tiny", token_ids=IDS, taps=feed_forward_taps(LAYER)))


@pytest.fixture(scope="module")
def down(tiny_llama: Llama) -> torch.Tensor:
    return tiny_llama.layers[LAYER].feed_forward.down.weight.detach()


def test_a_neuron_has_the_published_gate_up_and_product() -> None:
    llama = tiny_a().model
    ids = tuple(PUBLISHED["ids"])
    found = traced(llama, TraceRequest(model="tiny_a", token_ids=ids, taps=feed_forward_taps(0)))
    table = neuron_table(found, 0, len(ids) - 1, llama.layers[0].feed_forward.down.weight.detach())
    first = table.iloc[0]  # case F01
    assert first["gate"] == pytest.approx(-2.166443, abs=1e-5)
    assert first["silu_gate"] == pytest.approx(-0.22272, abs=1e-5)
    assert first["up"] == pytest.approx(-0.189145, abs=1e-5)
    assert first["product"] == pytest.approx(0.042126, abs=1e-5)
    for (neuron, product), row in zip(
        PUBLISHED["ffn_act_layer0_last_top5_abs"], strongest(table, 5).itertuples(), strict=True
    ):
        assert row.neuron == neuron  # case F03
        assert row.product == pytest.approx(product, abs=1e-4)


def test_the_stages_are_what_flows_through_the_layer(tiny_llama: Llama, trace: Trace, down: torch.Tensor) -> None:
    seen = live(tiny_llama, IDS)
    table = neuron_table(trace, LAYER, TOKEN, down)
    for name, tap in (("gate", "gate"), ("silu_gate", "activated"), ("up", "up"), ("product", "product")):
        recorded = seen[f"layers.{LAYER}.feed_forward.tap.{tap}"][TOKEN]
        np.testing.assert_allclose(table[name], recorded, atol=1e-6)
    product = seen[f"layers.{LAYER}.feed_forward.tap.product"]
    np.testing.assert_allclose(along_the_text(trace, LAYER, 7), product[:, 7], atol=1e-6)


def test_the_neurons_add_up_to_what_the_layer_wrote(trace: Trace, down: torch.Tensor) -> None:
    table = neuron_table(trace, LAYER, TOKEN, down)
    written = trace[f"layers.{LAYER}.feed_forward.tap.output"][TOKEN]
    added = sum(product * down[:, neuron] for neuron, product in enumerate(table["product"]))
    torch.testing.assert_close(added, written, atol=1e-5, rtol=0)
    assert sum_error(trace, LAYER, TOKEN, table, down) < 1e-6


def test_the_neurons_of_the_default_model_add_up_in_every_layer(default_session: Session) -> None:
    for layer in range(0, 30, 6):
        trace = default_session.trace("The capital of France is", taps=feed_forward_taps(layer))
        down = default_session.engine.parameter(default_session.model, f"layers.{layer}.feed_forward.down.weight")
        for token in range(5):
            table = neuron_table(trace, layer, token, down)
            assert sum_error(trace, layer, token, table, down) < 1e-5
            assert table["share"].sum() == pytest.approx(1, abs=1e-9)


def test_a_share_is_the_part_along_the_output(trace: Trace, down: torch.Tensor) -> None:
    table = neuron_table(trace, LAYER, TOKEN, down)
    output = trace[f"layers.{LAYER}.feed_forward.tap.output"][TOKEN].double()
    for neuron in (0, 13, 43):
        adds = table["product"][neuron] * down[:, neuron].double()
        assert table["length"][neuron] == pytest.approx(float(adds.norm()), rel=1e-6)
        cosine = float(torch.nn.functional.cosine_similarity(adds, output, dim=0))
        assert table["share"][neuron] == pytest.approx(cosine * float(adds.norm() / output.norm()), abs=1e-6)


def test_a_neuron_speaks_for_the_tokens_whose_logits_it_raises(
    tiny_llama: Llama, trace: Trace, down: torch.Tensor
) -> None:
    table = strongest(neuron_table(trace, LAYER, TOKEN, down), 5)
    scores = readout(tiny_llama, pushes(table, down, tiny_llama.norm.gain.detach()), count=3, normalised=False)
    named = with_readout(table, scores, lambda token: f"<{token}>")
    stream = live(tiny_llama, IDS)["tap.final"][TOKEN]
    rms = stream.square().mean().add(tiny_llama.config.norm_eps).sqrt()
    for row in named.itertuples():
        adds = row.product * down[:, row.neuron]
        logits = tiny_llama.unembedding(tiny_llama.norm.gain * adds / rms)  # its term in the model's own logits
        order = [f"<{token}>" for token in logits.argsort(descending=True).tolist()]
        assert row.promoted == order[:3]
        assert row.suppressed == order[-3:][::-1]


def test_adding_the_strongest_neurons_leaves_less_and_at_last_nothing(trace: Trace, down: torch.Tensor) -> None:
    table = neuron_table(trace, LAYER, TOKEN, down)
    missing = needed_for(table, down)
    assert missing[0] == 1
    assert missing[-1] == pytest.approx(0, abs=1e-9)
    longest = table.sort_values("length", ascending=False)["neuron"].tolist()[:10]
    output = trace[f"layers.{LAYER}.feed_forward.tap.output"][TOKEN]
    partial = sum(table["product"][neuron] * down[:, neuron] for neuron in longest)
    assert missing[10] == pytest.approx(float((output - partial).norm() / output.norm()), abs=1e-5)


def test_quietness_counts_the_products_below_a_threshold(tiny_llama: Llama, trace: Trace) -> None:
    sizes = live(tiny_llama, IDS)[f"layers.{LAYER}.feed_forward.tap.product"].abs().flatten().tolist()
    table = quietness(trace, LAYER, [0.0, 0.1, 1e9])
    assert table["share"].tolist() == [0, pytest.approx(sum(size < 0.1 for size in sizes) / len(sizes)), 1]


def test_silu_dips_below_zero_where_it_should() -> None:
    x = torch.tensor([-20, -1.278464542761074, -1, 0, 1, 5], dtype=torch.float64)  # case F02
    expected = [
        -4.122307236380407e-08,
        -0.2784645427610738,
        -0.2689414213699951,
        0.0,
        0.7310585786300049,
        4.966535745378576,
    ]
    np.testing.assert_allclose(FUNCTIONS["SiLU"](x), expected, atol=1e-12)


def formulas(name: str, x: float) -> tuple[float, float]:
    """Value and slope of a function by its formula."""
    if name == "ReLU":
        return max(0.0, x), float(x > 0)
    if name == "GELU":
        phi = 0.5 * (1 + math.erf(x / math.sqrt(2)))
        return x * phi, phi + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    if name == "SiLU":
        s = 1 / (1 + math.exp(-x))
        return x * s, s + x * s * (1 - s)
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    bend = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
    return 0.5 * x * (1 + math.tanh(inner)), 0.5 * (1 + math.tanh(inner)) + 0.5 * x * bend / math.cosh(inner) ** 2


def test_the_curves_and_their_slopes_follow_the_formulas() -> None:
    curves = activation_curves()
    assert set(curves["name"]) == {"ReLU", "GELU", "GELU (tanh)", "SiLU"}
    for row in curves[curves["x"] != 0].itertuples():
        value, slope = formulas(row.name, row.x)
        assert row.value == pytest.approx(value, abs=1e-12)
        assert row.slope == pytest.approx(slope, abs=1e-12)


def test_every_published_width_follows_from_the_rule() -> None:
    assert len(presets()) >= 5
    for preset in presets():
        assert preset.width.d_ff == preset.d_ff, preset.name


def meta_width(dim: int, ffn_dim_multiplier: float | None, multiple_of: int) -> int:
    """``FeedForward.__init__`` of Meta's reference code, step by step."""
    hidden_dim = int(2 * (4 * dim) / 3)
    if ffn_dim_multiplier is not None:
        hidden_dim = int(ffn_dim_multiplier * hidden_dim)
    return multiple_of * ((hidden_dim + multiple_of - 1) // multiple_of)


def test_widths_are_those_of_the_reference_code() -> None:
    for d_model in (1, 576, 2048, 4096, 5120, 16384):
        assert Width(d_model=d_model, multiplier=1.0, multiple_of=256).d_ff == meta_width(d_model, None, 256)
        for multiplier, multiple_of in ((1.3, 1024), (1.2, 4096), (0.5, 7)):
            width = Width(d_model=d_model, multiplier=multiplier, multiple_of=multiple_of)
            assert width.d_ff == meta_width(d_model, multiplier, multiple_of)
