"""Rows of the scored tokens only."""

import pytest
import torch

from explorer.errors import NoSuchTap
from explorer.model.llama import Llama
from explorer.trace.budget import request_bytes
from explorer.trace.codec import decode, encode
from explorer.trace.trace import TraceRequest
from tests.trace.runs import every_tap, live, traced

IDS = (5, 17, 3, 90, 41, 17)
SCORED = (4, 1)


def test_rows_are_the_scored_tokens_of_every_tap(tiny_llama: Llama) -> None:
    request = TraceRequest(model="tiny", token_ids=IDS, rows=every_tap(tiny_llama), scored=SCORED)
    trace, seen = traced(tiny_llama, request), live(tiny_llama, IDS)
    assert trace.rows.keys() == seen.keys()
    for address, rows in trace.rows.items():
        by_head = seen[address].ndim == 3
        expected = seen[address][:, list(SCORED)] if by_head else seen[address][list(SCORED)]
        torch.testing.assert_close(rows, expected, msg=address)
    assert not trace.tensors


def test_rows_cost_what_the_budget_says(tiny_llama: Llama) -> None:
    request = TraceRequest(
        model="tiny",
        token_ids=IDS,
        rows=frozenset({"layers.*.attention.tap.query", "tap.logits"}),
        norms=frozenset({"tap.embedded"}),
        scored=SCORED,
    )
    assert traced(tiny_llama, request).n_bytes == request_bytes(tiny_llama, request)


def test_a_trace_may_hold_the_same_address_whole_and_in_rows(tiny_llama: Llama) -> None:
    address = "layers.1.feed_forward.tap.output"
    both = frozenset({address})
    trace = traced(tiny_llama, TraceRequest(model="", token_ids=IDS, taps=both, rows=both, norms=both, scored=(2,)))
    assert torch.equal(trace.rows[address][0], trace[address][2])
    assert float(trace.norms[address][2]) == pytest.approx(float(trace.rows[address].norm()))
    assert trace.layer_rows("feed_forward.tap.output").shape == (1, 1, 36)


def test_rows_survive_the_way_through_bytes(tiny_llama: Llama) -> None:
    rows = frozenset({"tap.final", "layers.0.tap.after_attention"})
    trace = traced(tiny_llama, TraceRequest(model="", token_ids=IDS, rows=rows, scored=SCORED))
    back = decode(encode(trace))
    assert back.rows.keys() == trace.rows.keys()
    assert all(torch.equal(back.rows[address], trace.rows[address]) for address in rows)
    assert not back.tensors


def test_an_unknown_address_is_named(tiny_llama: Llama) -> None:
    with pytest.raises(NoSuchTap, match="no_such"):
        traced(tiny_llama, TraceRequest(model="", token_ids=IDS, rows=frozenset({"layers.*.no_such"})))
