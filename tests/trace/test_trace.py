"""A trace stacks its layers in the model's order and survives being written down."""

from dataclasses import replace

import pytest
import torch

from explorer.config import ModelConfig
from explorer.model.llama import Llama
from explorer.trace.codec import decode, encode
from explorer.trace.recorder import matching
from explorer.trace.trace import Trace, TraceRequest
from tests.conftest import random_llama
from tests.trace.runs import live, traced

TOKENS = (3, 1, 4, 1, 5)


def test_layers_stand_in_the_models_order_even_beyond_ten(tiny_config: ModelConfig) -> None:
    model = random_llama(replace(tiny_config, n_layers=12))
    taps = frozenset({"layers.*.tap.after_attention", "layers.*.attention.tap.output"})
    trace = traced(model, TraceRequest(model="", token_ids=TOKENS, taps=taps, norms=taps))
    expected = live(model, TOKENS)
    for tap in ("tap.after_attention", "attention.tap.output"):
        stacked = torch.stack([expected[f"layers.{layer}.{tap}"] for layer in range(12)])
        assert torch.equal(trace.layers(tap), stacked)
        torch.testing.assert_close(trace.layer_norms(tap), stacked.norm(dim=-1))


def test_an_asterisk_stands_for_the_layers_in_order(tiny_llama: Llama) -> None:
    addresses = [f"layers.{layer}.tap.before" for layer in range(12)]
    assert matching(["tap.final", *addresses], "layers.*.tap.before") == addresses
    assert matching(addresses, "layers.1.tap.before") == ["layers.1.tap.before"]


def everything(model: Llama) -> Trace:
    return traced(
        model,
        TraceRequest(model="", token_ids=TOKENS, taps=frozenset({"*"}), norms=frozenset({"*"}), scored=(4, 0)),
    )


def same(first: Trace, second: Trace) -> bool:
    return (
        (first.token_ids, first.scored) == (second.token_ids, second.scored)
        and first.tensors.keys() == second.tensors.keys()
        and first.norms.keys() == second.norms.keys()
        and all(torch.equal(x, second.tensors[address]) for address, x in first.tensors.items())
        and all(torch.equal(x, second.norms[address]) for address, x in first.norms.items())
        and all(x.dtype == second.tensors[address].dtype for address, x in first.tensors.items())
    )


def test_a_written_trace_reads_back_as_it_was(tiny_llama: Llama) -> None:
    trace = everything(tiny_llama)
    assert same(decode(encode(trace)), trace)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_written_trace_keeps_its_precision(tiny_config: ModelConfig, dtype: torch.dtype) -> None:
    trace = everything(random_llama(tiny_config).to(dtype))
    assert same(decode(encode(trace)), trace)


def test_a_trace_without_tensors_reads_back_as_it_was() -> None:
    trace = Trace(token_ids=(1, 2), scored=(), tensors={}, norms={})
    assert same(decode(encode(trace)), trace)


def test_writing_does_not_change_the_trace(tiny_llama: Llama) -> None:
    trace, again = everything(tiny_llama), everything(tiny_llama)
    encode(trace)
    assert same(trace, again)


def test_the_bytes_of_a_trace_are_those_of_its_tensors(tiny_llama: Llama) -> None:
    trace = everything(tiny_llama)
    elements = sum(x.numel() for x in (*trace.tensors.values(), *trace.norms.values()))
    assert trace.n_bytes == 4 * elements
