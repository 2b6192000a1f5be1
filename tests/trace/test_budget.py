"""The bytes that a request will keep are known before it runs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.errors import NoSuchTap, TooLarge
from explorer.model.llama import Llama
from explorer.model.tap import taps_of
from explorer.trace.budget import check_budget, checkpoint_bytes, request_bytes, shape_of
from explorer.trace.checkpoints import run
from explorer.trace.trace import TraceRequest
from tests.trace.runs import ignore, traced

PATTERNS = (
    "tap.embedded", "tap.final", "tap.normalised", "tap.logits", "layers.*.tap.before", "layers.1.tap.before",
    "layers.*.tap.after_attention", "layers.*.tap.after_feed_forward", "layers.0.attention.tap.query",
    "layers.*.attention.tap.*", "layers.2.feed_forward.tap.product", "layers.*.feed_forward.tap.gate", "*",
)  # fmt: skip
patterns = st.frozensets(st.sampled_from(PATTERNS), max_size=5)


@given(st.integers(1, 40), patterns, patterns, st.lists(st.integers(0, 39), max_size=6))
@settings(max_examples=60, deadline=None)
def test_the_bytes_foretold_are_the_bytes_kept(
    tiny_llama: Llama, n_tokens: int, taps: frozenset[str], norms: frozenset[str], scored: list[int]
) -> None:
    rows = tuple(token for token in scored if token < n_tokens)
    request = TraceRequest(model="", token_ids=tuple(range(n_tokens)), taps=taps, norms=norms, scored=rows)
    assert request_bytes(tiny_llama, request) == traced(tiny_llama, request).n_bytes


@pytest.mark.parametrize("pattern", [*PATTERNS, "layers.0.*", "layers.*.feed_forward.tap.*"])
def test_a_trace_keeps_no_memory_alive_but_its_own(tiny_llama: Llama, pattern: str) -> None:
    request = TraceRequest(
        model="", token_ids=tuple(range(9)), taps=frozenset({pattern}), norms=frozenset({pattern}), scored=(8,)
    )
    trace = traced(tiny_llama, request)
    storages = {x.untyped_storage() for x in (*trace.tensors.values(), *trace.norms.values())}
    assert sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values()) <= trace.n_bytes


def test_narrow_numbers_take_half_the_bytes_and_lengths_stay_float32(tiny_a_llama: Llama) -> None:
    narrow = Llama(tiny_a_llama.config).requires_grad_(False).bfloat16()
    narrow.load_state_dict(tiny_a_llama.state_dict())
    everything = frozenset({"*"})
    request = TraceRequest(model="", token_ids=(1, 2, 3), taps=everything, norms=everything, scored=(0, 2))
    assert request_bytes(narrow, request) == traced(narrow, request).n_bytes
    checkpoints = run(narrow, (1, 2, 3), ignore)
    assert checkpoint_bytes(narrow.config, 3, 2) == checkpoints.n_bytes


@pytest.mark.parametrize("n_tokens", [1, 7, 40])
def test_the_bytes_of_a_runs_checkpoints_are_foretold(tiny_llama: Llama, n_tokens: int) -> None:
    checkpoints = run(tiny_llama, tuple(range(n_tokens)), ignore)
    assert checkpoint_bytes(tiny_llama.config, n_tokens, 4) == checkpoints.n_bytes


def test_a_request_passes_at_the_limit_and_is_refused_one_byte_below(tiny_llama: Llama) -> None:
    request = TraceRequest(model="", token_ids=(1, 2, 3), taps=frozenset({"layers.*.attention.tap.query"}))
    needed = traced(tiny_llama, request).n_bytes + run(tiny_llama, (1, 2, 3), ignore).n_bytes
    check_budget(tiny_llama, request, needed)
    with pytest.raises(TooLarge) as refusal:
        check_budget(tiny_llama, request, needed - 1)
    assert f"{needed:,} bytes" in refusal.value.found
    assert f"{needed - 1:,}" in refusal.value.found
    assert refusal.value.remedy


def test_an_unknown_address_is_refused_before_anything_runs(tiny_llama: Llama) -> None:
    for request in (
        TraceRequest(model="", token_ids=(1,), taps=frozenset({"layers.3.tap.before"})),
        TraceRequest(model="", token_ids=(1,), norms=frozenset({"layers.*.tap.nothing"})),
    ):
        with pytest.raises(NoSuchTap):
            check_budget(tiny_llama, request, 10**9)


def test_a_declared_shape_leaves_the_batch_out(tiny_llama: Llama) -> None:
    taps = taps_of(tiny_llama)
    assert shape_of(taps["layers.0.attention.tap.rotated_key"], tiny_llama.config, 7) == (2, 7, 10)
    assert shape_of(taps["tap.logits"], tiny_llama.config, 7) == (7, 97)
