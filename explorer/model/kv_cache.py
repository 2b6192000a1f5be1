"""Keys and values of the tokens already read, so that the next token costs one row instead of all."""

from collections.abc import Sequence

import torch
from torch import Tensor

from explorer.config import ModelConfig


class KVCache:
    """Room for the keys and values of ``capacity`` tokens in every layer; ``length`` of them are filled.

    They lie on ``device``, or for a model that is spread over several on that of each layer, which ``layers`` names.
    """

    def __init__(
        self,
        config: ModelConfig,
        capacity: int,
        *,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        layers: Sequence[torch.device] | None = None,
    ) -> None:
        shape = (batch, config.n_kv_heads, capacity, config.head_dim)
        self.capacity = capacity
        self.length = 0
        places = [device] * config.n_layers if layers is None else layers
        self.keys = [torch.empty(shape, dtype=dtype, device=place) for place in places]
        self.values = [torch.empty(shape, dtype=dtype, device=place) for place in places]

    def extend(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Store one layer's new keys and values behind the filled ones and return all of them.

        (batch, kv_head, token, head_dim) twice -> (batch, kv_head, length + token, head_dim) twice.
        ``advance`` counts the new tokens once all layers have stored theirs.
        """
        end = self.length + key.shape[2]
        if end > self.capacity:
            raise ValueError(f"the cache has room for {self.capacity} tokens, not for {end}")
        self.keys[layer][:, :, self.length : end] = key
        self.values[layer][:, :, self.length : end] = value
        return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]

    def advance(self, n_tokens: int) -> None:
        """Count ``n_tokens`` more as filled."""
        self.length += n_tokens

    @property
    def filled_bytes(self) -> int:
        """Bytes that the filled part takes in all layers, keys and values together."""
        batch, kv_heads, _, head_dim = self.keys[0].shape
        return 2 * len(self.keys) * batch * kv_heads * self.length * head_dim * self.keys[0].element_size()
