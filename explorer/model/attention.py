"""The half of a layer in which tokens read one another."""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from explorer.model.kv_cache import KVCache
from explorer.model.rms_norm import RMSNorm
from explorer.model.rope import rotate
from explorer.model.tap import Taps


class GroupedQueryAttention(nn.Module):
    """Let every token read the tokens up to itself; groups of query heads share one key/value head.

    softmax(q·k / sqrt(head_dim)) · v    Vaswani et al. 2017; Ainslie et al. 2023, "GQA"

    A Llama has neither ``bias`` nor ``head_norm_eps``: Qwen2 adds a bias to queries, keys and values; Qwen3 brings
    every head's query and key to unit size before they are rotated.
    """

    def __init__(
        self,
        layer: int,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        head_dim: int,
        *,
        bias: bool = False,
        head_norm_eps: float | None = None,
    ) -> None:
        super().__init__()
        self.layer = layer
        self.head_dim = head_dim
        self.query = nn.Linear(d_model, n_heads * head_dim, bias=bias)
        self.key = nn.Linear(d_model, n_kv_heads * head_dim, bias=bias)
        self.value = nn.Linear(d_model, n_kv_heads * head_dim, bias=bias)
        self.output = nn.Linear(n_heads * head_dim, d_model, bias=False)
        self.query_norm = RMSNorm(head_dim, head_norm_eps) if head_norm_eps is not None else None
        self.key_norm = RMSNorm(head_dim, head_norm_eps) if head_norm_eps is not None else None
        self.tap = Taps(
            input="batch token d_model",
            query="batch head token head_dim",
            key="batch kv_head token head_dim",
            value="batch kv_head token head_dim",
            rotated_query="batch head token head_dim",
            rotated_key="batch kv_head token head_dim",
            mixed="batch head token head_dim",
            output="batch token d_model",
        )

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor], cache: KVCache | None = None) -> Tensor:
        """(batch, token, d_model), cos and sin (token, head_dim / 2) -> (batch, token, d_model)"""
        x = self.tap.input(x)
        query, key = self.split_heads(self.query(x)), self.split_heads(self.key(x))
        if self.query_norm is not None and self.key_norm is not None:
            query, key = self.query_norm(query), self.key_norm(key)
        query, key = self.tap.query(query), self.tap.key(key)
        value = self.tap.value(self.split_heads(self.value(x)))

        query = self.tap.rotated_query(rotate(query, *rotation))
        key = self.tap.rotated_key(rotate(key, *rotation))
        if cache is not None:
            key, value = cache.extend(self.layer, key, value)

        mask, is_causal = causality(query, key)
        mixed = scaled_dot_product_attention(query, key, value, mask, is_causal=is_causal, enable_gqa=True)
        return self.tap.output(self.output(self.tap.mixed(mixed).transpose(1, 2).flatten(2)))

    def split_heads(self, x: Tensor) -> Tensor:
        """(batch, token, head * head_dim) -> (batch, head, token, head_dim)"""
        return x.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)


def causality(query: Tensor, key: Tensor) -> tuple[Tensor | None, bool]:
    """How to tell the kernel that no token reads the future, given that the queries are the last tokens of the keys.

    A mask (token, source) where one is needed, and whether the kernel shall apply its own triangle.
    """
    new, total = query.shape[-2], key.shape[-2]
    if new in (1, total):
        return None, new > 1
    return torch.ones(new, total, dtype=torch.bool, device=query.device).tril(total - new), False


def pattern(query: Tensor, key: Tensor) -> Tensor:
    """What the kernel computes inside and never shows: how much every token reads of every other.

    Scale, mask, softmax, written out in float32 for rotated queries (..., head, token, head_dim) and keys
    (..., kv_head, source, head_dim) of the same tokens -> (..., head, token, source). Rows add to 1; the future is
    exactly 0.
    """
    key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    score = query.float() @ key.float().transpose(-2, -1) / math.sqrt(query.shape[-1])
    new, total = score.shape[-2:]
    future = torch.ones(new, total, dtype=torch.bool, device=score.device).triu(total - new + 1)
    return score.masked_fill_(future, -math.inf).softmax(-1)
