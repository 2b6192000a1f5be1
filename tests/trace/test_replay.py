"""A replayed tensor is the tensor of the live run, and a norm is the length of its vectors."""

import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from explorer.errors import Cancelled, NoSuchTap, NotFinite
from explorer.model.llama import Llama
from explorer.trace.checkpoints import run
from explorer.trace.replay import replay
from explorer.trace.trace import Trace, TraceRequest
from tests.trace.runs import every_tap, ignore, live, traced

TOKENS = tuple(range(3, 90, 4))


def assert_bit_equal(trace: Trace, expected: dict[str, Tensor]) -> None:
    assert trace.tensors.keys() == expected.keys()
    different = [address for address, tensor in expected.items() if not torch.equal(trace[address], tensor)]
    assert different == []


@pytest.mark.parametrize("tokens", [TOKENS, (5,), (5, 5)])
def test_every_replayed_tensor_is_the_live_one_bit_for_bit(tiny_llama: Llama, tokens: tuple[int, ...]) -> None:
    scored = tuple(range(len(tokens)))
    request = TraceRequest(model="tiny", token_ids=tokens, taps=every_tap(tiny_llama), scored=scored)
    assert_bit_equal(traced(tiny_llama, request), live(tiny_llama, tokens))


def test_every_replayed_tensor_of_the_default_model_is_the_live_one_bit_for_bit(default_llama: Llama) -> None:
    tokens = (504, 3575, 282, 4649, 314)
    request = TraceRequest(model="", token_ids=tokens, taps=every_tap(default_llama), scored=tuple(range(5)))
    assert_bit_equal(traced(default_llama, request), live(default_llama, tokens))


def test_every_replayed_tensor_is_the_live_one_in_bfloat16(tiny_a_llama: Llama) -> None:
    narrow = Llama(tiny_a_llama.config).requires_grad_(False).bfloat16()
    narrow.load_state_dict(tiny_a_llama.state_dict())
    request = TraceRequest(model="", token_ids=TOKENS, taps=every_tap(narrow), scored=tuple(range(len(TOKENS))))
    trace = traced(narrow, request)
    assert_bit_equal(trace, live(narrow, TOKENS))
    assert trace["tap.logits"].dtype == torch.bfloat16


def test_asking_for_one_tensor_gives_the_same_one_and_nothing_else(tiny_llama: Llama) -> None:
    expected = live(tiny_llama, TOKENS)
    checkpoints = run(tiny_llama, TOKENS, ignore)
    for address in sorted(every_tap(tiny_llama) - {"tap.normalised", "tap.logits"}):
        trace = replay(
            tiny_llama, checkpoints, TraceRequest(model="", token_ids=TOKENS, taps=frozenset({address})), ignore
        )
        assert_bit_equal(trace, {address: expected[address]})
        assert not trace.norms


def test_only_scored_tokens_are_scored_in_the_order_asked(tiny_llama: Llama) -> None:
    request = TraceRequest(
        model="", token_ids=TOKENS, taps=frozenset({"tap.normalised", "tap.logits"}), scored=(20, 3, 3)
    )
    trace, expected = traced(tiny_llama, request), live(tiny_llama, TOKENS)
    assert torch.equal(trace["tap.normalised"], expected["tap.normalised"][[20, 3, 3]])
    torch.testing.assert_close(trace["tap.logits"], expected["tap.logits"][[20, 3, 3]], atol=1e-5, rtol=0)


def test_norms_are_the_lengths_of_all_vectors(tiny_llama: Llama) -> None:
    scored = tuple(range(len(TOKENS)))
    request = TraceRequest(model="", token_ids=TOKENS, norms=every_tap(tiny_llama), scored=scored)
    trace, expected = traced(tiny_llama, request), live(tiny_llama, TOKENS)
    assert not trace.tensors
    assert trace.norms.keys() == expected.keys()
    for address, tensor in expected.items():
        lengths = tensor.double().pow(2).sum(-1).sqrt()
        torch.testing.assert_close(trace.norms[address].double(), lengths, atol=0, rtol=1e-5, msg=address)


def test_stream_norms_are_those_of_a_plain_loop_over_the_layers(tiny_llama: Llama) -> None:
    x = tiny_llama.embedding(torch.tensor([TOKENS]))
    rotation = tiny_llama.rotation(0, len(TOKENS))
    depths = [x]
    for layer in tiny_llama.layers:
        x = x + layer.attention(layer.attention_norm(x), rotation)
        depths.append(x)
        x = x + layer.feed_forward(layer.feed_forward_norm(x))
        depths.append(x)
    expected = torch.stack([depth[0].norm(dim=-1) for depth in depths])
    checkpoints = run(tiny_llama, TOKENS, ignore)
    torch.testing.assert_close(checkpoints.norms, expected)
    torch.testing.assert_close(checkpoints.stream, torch.stack([depth[0] for depth in depths[::2]]))


def test_the_same_tap_may_be_kept_whole_and_as_lengths(tiny_llama: Llama) -> None:
    address = frozenset({"layers.*.attention.tap.output"})
    trace = traced(tiny_llama, TraceRequest(model="", token_ids=TOKENS, taps=address, norms=address))
    assert trace.tensors.keys() == trace.norms.keys()
    torch.testing.assert_close(
        trace.layers("attention.tap.output").norm(dim=-1), trace.layer_norms("attention.tap.output")
    )


@given(st.lists(st.integers(0, 96), min_size=1, max_size=60).map(tuple), st.integers(1, 30))
@settings(max_examples=15, deadline=None)
def test_what_comes_later_changes_nothing_before(tiny_llama: Llama, tokens: tuple[int, ...], more: int) -> None:
    longer = tokens + tuple(range(more))
    before, after = (run(tiny_llama, ids, ignore).stream for ids in (tokens, longer))
    torch.testing.assert_close(before, after[:, : len(tokens)], atol=1e-4, rtol=0)


def test_progress_that_raises_stops_the_run_before_the_next_layer(tiny_llama: Llama) -> None:
    told: list[float] = []

    def stop_in_the_middle(fraction: float) -> None:
        told.append(fraction)
        if fraction > 0.5:
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        run(tiny_llama, TOKENS, stop_in_the_middle)
    assert told == pytest.approx([0, 1 / 3, 2 / 3])
    request = TraceRequest(model="", token_ids=TOKENS, taps=frozenset({"layers.*.attention.tap.query"}))
    with pytest.raises(Cancelled):
        replay(tiny_llama, run(tiny_llama, TOKENS, ignore), request, stop_in_the_middle)
    assert no_hooks_left(tiny_llama)


def test_an_unknown_address_is_named_and_leaves_no_hook(tiny_llama: Llama) -> None:
    for address in ("layers.9.tap.before", "layers.*.attention.tap.quarry", "attention", ""):
        with pytest.raises(NoSuchTap) as refusal:
            traced(tiny_llama, TraceRequest(model="", token_ids=TOKENS, taps=frozenset({address})))
        assert repr(address) in refusal.value.found
    assert no_hooks_left(tiny_llama)


def no_hooks_left(model: Llama) -> bool:
    return not any(module._forward_hooks for module in model.modules())


def test_two_threads_on_one_model_never_see_each_others_tensors(tiny_llama: Llama) -> None:
    prompts = {name: tuple((7 * name + 3 * place) % 97 for place in range(12 + name)) for name in range(4)}
    taps = every_tap(tiny_llama)
    expected = {name: live(tiny_llama, tokens) for name, tokens in prompts.items()}
    start, wrong = threading.Barrier(len(prompts)), []

    def trace_many_times(name: int) -> None:
        start.wait()
        tokens = prompts[name]
        for _ in range(15):
            seen = live(tiny_llama, tokens)
            request = TraceRequest(model="", token_ids=tokens, taps=taps, scored=tuple(range(len(tokens))))
            for tensors in (seen, traced(tiny_llama, request).tensors):
                wrong.extend(a for a, tensor in expected[name].items() if not torch.equal(tensors[a], tensor))

    threads = [threading.Thread(target=trace_many_times, args=(name,)) for name in prompts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert no_hooks_left(tiny_llama)


@pytest.mark.parametrize(
    ("damage", "place"),
    [
        ("layers.1.attention.value.weight", "in layer 1, attention"),
        ("layers.1.feed_forward.up.weight", "in layer 1, feed-forward"),
        ("layers.0.attention_norm.gain", "in layer 0, attention"),
        ("embedding.weight", "in the embedding of a token"),
    ],
)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_damaged_weight_is_found_where_it_first_does_harm(
    tiny_a_llama: Llama, damage: str, place: str, value: float
) -> None:
    broken = Llama(tiny_a_llama.config).requires_grad_(False)
    broken.load_state_dict(tiny_a_llama.state_dict())
    broken.get_parameter(damage)[-1:].fill_(value)  # case G05
    with pytest.raises(NotFinite, match=place):
        run(broken, (256, 72, 101, tiny_a_llama.config.vocab_size - 1), ignore)


def test_a_replay_stops_when_everything_was_seen(tiny_llama: Llama) -> None:
    checkpoints = run(tiny_llama, TOKENS, ignore)
    seen: list[str] = []
    hooks = [
        module.register_forward_hook(lambda *_, name=name: seen.append(name))
        for name, module in tiny_llama.layers[1].named_modules()
        if name in ("attention", "feed_forward")
    ]
    keys = frozenset({"layers.1.attention.tap.rotated_key"})
    trace = replay(tiny_llama, checkpoints, TraceRequest(model="", token_ids=TOKENS, taps=keys), ignore)
    assert trace.tensors.keys() == keys
    assert seen == []
    replay(
        tiny_llama, checkpoints, TraceRequest(model="", token_ids=TOKENS, taps=frozenset(taps_of_layer_one())), ignore
    )
    for hook in hooks:
        hook.remove()
    assert seen == ["attention"]


def taps_of_layer_one() -> list[str]:
    return ["layers.1.attention.tap.output", "layers.1.feed_forward.tap.gate"]
