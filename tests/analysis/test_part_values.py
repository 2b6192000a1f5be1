"""What flowed out of a part, against the model run by hand."""

import math

import pytest
import torch
from torch import Tensor

from explorer.analysis.part_values import (
    FIRST,
    angle_values,
    first_values,
    has_heads,
    histogram_of,
    part_taps,
    part_values,
    summary_of,
)
from explorer.architecture.catalogue import PART, PARTS
from explorer.model.llama import Llama
from explorer.model.rope import rotate
from explorer.trace.checkpoints import run
from explorer.trace.replay import replay
from explorer.trace.trace import Trace, TraceRequest

IDS = (3, 14, 15, 92, 6)
LAYER = 1


def trace_of(model: Llama, part: str) -> Trace:
    taps = part_taps(PART[part], LAYER)
    request = TraceRequest(model="tiny", token_ids=IDS, taps=taps, scored=(4,))
    return replay(model, run(model, IDS, lambda share: None), request, lambda share: None)


def by_hand(model: Llama) -> dict[str, Tensor]:
    """The layer, written out without its own attention or feed-forward."""
    config, layer = model.config, model.layers[LAYER]
    x = model.embedding(torch.tensor([IDS]))
    rotation = model.rotation(0, len(IDS))
    for each in model.layers[:LAYER]:
        x = each(x, rotation)
    normed = x[0] / (x[0].pow(2).mean(-1, keepdim=True) + config.norm_eps).sqrt() * layer.attention_norm.gain
    heads = {
        name: getattr(layer.attention, name)(normed).view(len(IDS), -1, config.head_dim).transpose(0, 1)
        for name in ("query", "key", "value")
    }
    query, key = rotate(heads["query"], *rotation), rotate(heads["key"], *rotation)
    group = config.heads_per_kv_head
    scores = torch.stack([query[head] @ key[head // group].T for head in range(config.n_heads)])
    scores = scores / math.sqrt(config.head_dim)
    masked = scores + torch.full((5, 5), -math.inf).triu(1)
    shares = masked.softmax(-1)
    mixed = torch.stack([shares[head] @ heads["value"][head // group] for head in range(config.n_heads)])
    return heads | {
        "attention_norm": normed, "scores": scores, "mask": masked, "softmax": shares, "mix": mixed,
    }  # fmt: skip


@pytest.mark.parametrize("part", ["query", "key", "value", "attention_norm", "scores", "mask", "softmax", "mix"])
def test_the_numbers_of_a_part_are_those_of_the_model_written_out(tiny_llama: Llama, part: str) -> None:
    expected = by_hand(tiny_llama)[part]
    (values,) = part_values(trace_of(tiny_llama, part), PART[part], tiny_llama.config, layer=LAYER, head=4)
    torch.testing.assert_close(torch.tensor(values.whole), expected, atol=1e-5, rtol=1e-4)
    if has_heads(PART[part]):
        shown = 4 if len(expected) == tiny_llama.config.n_heads else 4 // tiny_llama.config.heads_per_kv_head
        assert values.head == shown
        torch.testing.assert_close(torch.tensor(values.map), expected[shown], atol=1e-5, rtol=1e-4)
    else:
        assert values.head is None


@pytest.mark.parametrize("part", [part.id for part in PARTS if part.taps and not part.optional])
def test_every_part_with_taps_can_be_looked_into(tiny_llama: Llama, part: str) -> None:
    found = part_values(trace_of(tiny_llama, part), PART[part], tiny_llama.config, layer=LAYER, head=0)
    assert len(found) == len(PART[part].taps)
    for values in found:
        assert values.map.ndim == 2 and len(values.map) in (1, len(IDS))
        assert (values.head is not None) == has_heads(PART[part])


def test_a_summary_and_a_histogram_agree_with_numpy(tiny_llama: Llama) -> None:
    (values,) = part_values(trace_of(tiny_llama, "mask"), PART["mask"], tiny_llama.config, layer=LAYER, head=2)
    finite = by_hand(tiny_llama)["mask"]
    finite = finite[finite.isfinite()].double()
    summary = summary_of(values, row=3)
    assert summary["min"] == pytest.approx(float(finite.min()), rel=1e-5)
    assert summary["mean"] == pytest.approx(float(finite.mean()), abs=1e-6)
    assert summary["deviation"] == pytest.approx(float(finite.std(correction=0)), rel=1e-5)
    row = by_hand(tiny_llama)["mask"][2, 3, :4]
    assert summary["length"] == pytest.approx(float(row.norm()), rel=1e-5)
    table = histogram_of(values)
    assert table["count"].sum() == len(finite) == 6 * 15
    assert table["from"].iloc[0] == pytest.approx(float(finite.min()), rel=1e-5)


def test_the_first_values_stand_beside_their_tokens(tiny_llama: Llama) -> None:
    (values,) = part_values(trace_of(tiny_llama, "embedding"), PART["embedding"], tiny_llama.config, layer=0, head=0)
    table = first_values(values, [str(token) for token in IDS])
    assert list(table["token"]) == [str(token) for token in IDS]
    assert table.shape == (5, 1 + FIRST)
    assert table["dimension 2"].tolist() == pytest.approx(tiny_llama.embedding.weight[list(IDS), 2].tolist())


def test_the_angles_are_positions_times_speeds(tiny_llama: Llama) -> None:
    cosine, sine = angle_values(tiny_llama.config, 6)
    torch.testing.assert_close(torch.tensor(cosine.map), tiny_llama.rotation(0, 6)[0])
    assert cosine.map[0].tolist() == [1.0] * 5 and sine.map[0].tolist() == [0.0] * 5
    assert float((cosine.map**2 + sine.map**2).max()) == pytest.approx(1.0)
