"""A model that reads in pieces knows what a model that reads at once knows."""

import pytest
import torch

from explorer.config import ModelConfig
from explorer.model.kv_cache import KVCache
from explorer.model.llama import Llama
from tests.model.test_llama import some_tokens


@pytest.mark.parametrize("pieces", [[1] * 40, [40], [5, 1, 20, 14], [39, 1], [1, 39]])
@torch.inference_mode()
def test_reading_in_pieces_gives_the_logits_of_reading_at_once(
    tiny_config: ModelConfig, tiny_llama: Llama, pieces: list[int]
) -> None:
    tokens, cache = some_tokens(tiny_config, 40), KVCache(tiny_config, 50)
    logits = torch.cat([tiny_llama(piece, cache) for piece in tokens.split(pieces, dim=1)], dim=1)
    torch.testing.assert_close(logits, tiny_llama(tokens), atol=1e-4, rtol=0)


@torch.inference_mode()
def test_greedy_generation_with_and_without_a_cache_gives_the_same_tokens(
    tiny_config: ModelConfig, tiny_llama: Llama
) -> None:
    prompt, new = some_tokens(tiny_config, 10), 60
    without = prompt
    for _ in range(new):
        without = torch.cat((without, tiny_llama(without)[:, -1:].argmax(-1)), dim=1)

    cache, piece, pieces = KVCache(tiny_config, 10 + new), prompt, [prompt]
    for _ in range(new):
        piece = tiny_llama(piece, cache)[:, -1:].argmax(-1)
        pieces.append(piece)
    assert torch.cat(pieces, dim=1).tolist() == without.tolist()


@torch.inference_mode()
def test_the_cache_counts_its_tokens_and_bytes(tiny_config: ModelConfig, tiny_llama: Llama) -> None:
    cache = KVCache(tiny_config, 50)
    tiny_llama(some_tokens(tiny_config, 30), cache)
    assert cache.length == 30
    stored = [store[:, :, :30].contiguous() for store in (*cache.keys, *cache.values)]
    assert cache.filled_bytes == sum(store.nbytes for store in stored)


def test_a_full_cache_says_how_much_room_it_has(tiny_config: ModelConfig, tiny_llama: Llama) -> None:
    cache = KVCache(tiny_config, 5)
    with pytest.raises(ValueError, match="room for 5 tokens, not for 6"):
        tiny_llama(some_tokens(tiny_config, 6), cache)


@torch.inference_mode()
def test_a_cache_for_two_prompts_keeps_them_apart(tiny_config: ModelConfig, tiny_llama: Llama) -> None:
    both = torch.cat((some_tokens(tiny_config, 12, seed=3), some_tokens(tiny_config, 12, seed=4)))
    cache = KVCache(tiny_config, 12, batch=2)
    tiny_llama(both[:, :8], cache)
    torch.testing.assert_close(tiny_llama(both[:, 8:], cache), tiny_llama(both)[:, 8:], atol=1e-4, rtol=0)
