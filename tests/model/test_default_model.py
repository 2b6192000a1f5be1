"""What the default model is known to do, measured by others' code on the same weights."""

from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from explorer.model.attention import pattern
from explorer.model.kv_cache import KVCache
from explorer.model.llama import Llama
from explorer.model.sampling import NextToken, SamplerSettings, next_token
from explorer.trace.trace import Trace, TraceRequest
from tests.loaded_models import default_model
from tests.model import hugging_face
from tests.trace.runs import traced

CAPITAL = (504, 3575, 282, 4649, 314)  # "The capital of France is"
STREAM = frozenset({"tap.embedded", "layers.*.tap.after_feed_forward"})
HEADS = frozenset({"layers.*.attention.tap.rotated_query", "layers.*.attention.tap.rotated_key"})


@pytest.fixture(scope="module")
def llama(explorer_home: Path) -> Llama:
    return default_model(explorer_home).model


@pytest.fixture(scope="module")
def transformers_llama(llama: Llama) -> LlamaForCausalLM:
    return hugging_face.twin(llama)


@pytest.fixture(scope="module")
def trace(llama: Llama) -> Trace:
    taps = STREAM | HEADS | {"tap.logits"}
    return traced(llama, TraceRequest(model="", token_ids=CAPITAL, taps=taps, norms=STREAM, scored=(4,)))


@pytest.fixture(scope="module")
def tokens_of(explorer_home: Path) -> dict[int, str]:
    names = default_model(explorer_home).info.card.tokenizer.data["tokenizer.ggml.tokens"]
    assert isinstance(names, list | tuple)
    return dict(enumerate(names))


def stream(trace: Trace) -> Tensor:
    """The residual stream after the embedding and after every layer: (depth, token, d_model)"""
    return torch.stack((trace["tap.embedded"], *trace.layers("tap.after_feed_forward")))


def likeliest(llama: Llama, ids: tuple[int, ...]) -> NextToken:
    return next_token(llama(torch.tensor([ids]))[0, -1], SamplerSettings())


def test_paris_follows_the_capital_of_france_is(llama: Llama) -> None:
    logits, result = llama(torch.tensor([CAPITAL]))[0, -1], likeliest(llama, CAPITAL)  # case G01
    assert result.ids[:5].tolist() == [7042, 260, 4528, 2250, 1315]
    assert logits[result.ids[:5]].tolist() == pytest.approx([17.3713, 14.8886, 13.245, 13.0095, 12.9515], abs=1e-3)
    assert result.p[:5].tolist() == pytest.approx([0.772532, 0.064522, 0.012471, 0.009854, 0.009299], abs=1e-4)
    assert result.entropy == pytest.approx(1.48117, abs=1e-3)


def test_a_comma_follows_once_upon_a_time(llama: Llama, tokens_of: dict[int, str]) -> None:
    ids = {name: number for number, name in tokens_of.items()}
    prompt = tuple(ids[name] for name in ("Once", "Ġupon", "Ġa", "Ġtime"))
    result = likeliest(llama, prompt)  # case G04
    assert [tokens_of[number] for number in result.ids[:5].tolist()] == [",", "Ġin", "Ġthere", "Ġthe", "Ġa"]
    assert result.p[:5].tolist() == pytest.approx([0.92727, 0.016003, 0.007826, 0.005082, 0.005044], abs=1e-4)


FIRST_TOKEN = [
    2.001, 47.662, 209.276, 677.397, 674.805, 670.652, 663.856, 657.923, 648.563, 548.752, 147.944, 131.53, 22712.328,
    22704.467, 22692.545, 22680.372, 22663.953, 22650.301, 22636.041, 22628.046, 22621.457, 22621.441, 22629.432,
    22623.488, 22626.512, 22597.94, 22601.367, 22595.13, 22371.346, 8420.466, 4990.663,
]  # fmt: skip
LAST_TOKEN = [
    2.601, 35.194, 62.608, 72.977, 77.365, 84.294, 88.191, 88.511, 89.697, 102.39, 118.218, 126.98, 122.47, 136.932,
    141.647, 152.108, 170.33, 181.98, 177.004, 180.499, 191.091, 200.697, 237.196, 273.726, 336.211, 429.89, 472.062,
    501.344, 595.191, 666.044, 619.245,
]  # fmt: skip


@pytest.mark.parametrize(("token", "expected"), [(0, FIRST_TOKEN), (-1, LAST_TOKEN)])
def test_the_stream_has_the_published_lengths_up_to_before_the_final_norm(
    trace: Trace, token: int, expected: list[float]
) -> None:
    lengths = torch.cat((trace.norms["tap.embedded"][None], trace.layer_norms("tap.after_feed_forward")))[:, token]
    assert lengths.tolist() == pytest.approx(expected, rel=1e-3)  # cases S01 and S02


def test_three_coordinates_carry_the_jump_of_the_first_token(trace: Trace) -> None:
    after_the_jump = stream(trace)[12, 0].abs()
    assert set(after_the_jump.topk(3).indices.tolist()) == {507, 247, 14}  # case S01
    assert float(after_the_jump[507]) == pytest.approx(22543, rel=1e-3)


SINK_SHARES = [
    0.3016, 0.1638, 0.5628, 0.8284, 0.7676, 0.7797, 0.8711, 0.9073, 0.8472, 0.6354, 0.4652, 0.2087, 0.4648, 0.5619,
    0.7004, 0.7844, 0.3842, 0.7842, 0.8708, 0.6897, 0.9431, 0.708, 0.4977, 0.7279, 0.8962, 0.8998, 0.7882, 0.6602,
    0.8442, 0.6346,
]  # fmt: skip


def test_the_last_token_reads_mostly_the_first(trace: Trace) -> None:
    patterns = pattern(trace.layers("attention.tap.rotated_query"), trace.layers("attention.tap.rotated_key"))
    shares = patterns[:, :, -1, 0].mean(-1)
    assert shares.tolist() == pytest.approx(SINK_SHARES, abs=1e-3)  # case A04
    assert int(shares.argmax()) == 20


LENS = [
    "Ġis", "Ġa", ".", ".", ".", ".", "Ġ", "Ġ", "Ġ", ".", ".", "Ġ", ".", "Ġ", "Ġ", "Ġ", "Ġ", "Ġ", "Ġ", "Ġ", "Ġ", "Ġ",
    "Ġ", "Ġ", ".", "Ġthe", "Ġ", "Ġthe", "Ġthe", "Ġcapital", "ĠParis",
]  # fmt: skip


def test_the_lens_reads_paris_only_at_the_last_depth(llama: Llama, trace: Trace, tokens_of: dict[int, str]) -> None:
    depths = stream(trace)[:, -1]
    lens = llama.score(depths[:, None])[:, 0]
    assert [tokens_of[number] for number in lens.argmax(-1).tolist()] == LENS  # case G02
    torch.testing.assert_close(lens[-1], trace["tap.logits"][0], atol=1e-4, rtol=0)
    assert tokens_of[int(llama.unembedding(depths[-1]).argmax())] == "reponame"  # what leaving out the norm gives


@torch.inference_mode()
def test_the_logits_are_those_of_transformers_on_the_same_weights(
    llama: Llama, transformers_llama: LlamaForCausalLM
) -> None:
    ids = torch.randint(49_152, (1, 40), generator=torch.Generator().manual_seed(0))
    for tokens in (torch.tensor([CAPITAL]), ids):
        torch.testing.assert_close(llama(tokens), transformers_llama(tokens).logits, atol=1e-4, rtol=0)


@torch.inference_mode()
def test_64_greedy_tokens_are_those_of_transformers_with_and_without_a_cache(
    llama: Llama, transformers_llama: LlamaForCausalLM
) -> None:
    prompt, new = torch.tensor([CAPITAL]), 64
    cache, piece, pieces = KVCache(llama.config, len(CAPITAL) + new), prompt, [prompt]
    for _ in range(new):
        piece = llama(piece, cache)[:, -1:].argmax(-1)
        pieces.append(piece)
    ours = torch.cat(pieces, dim=1)
    theirs = transformers_llama.generate(prompt, max_new_tokens=new, min_new_tokens=new, do_sample=False)
    assert ours.tolist() == theirs.tolist()
    # Without a cache every token comes from a forward over all before it: the rows of one forward over the whole text.
    whole = llama(ours[:, :-1])[0].argmax(-1)
    assert whole[len(CAPITAL) - 1 :].tolist() == ours[0, len(CAPITAL) :].tolist()
