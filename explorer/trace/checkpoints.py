"""The little that a run leaves behind, from which everything else is replayed.

Kept: the residual stream entering each layer and leaving the last one, and the length of every stream vector. A layer's
queries, keys, gates and products come from running that one layer again on its checkpoint: bit-equal to the first run.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.errors import NotFinite
from explorer.model.llama import Llama
from explorer.trace.recorder import Reader, recording


@dataclass(frozen=True, kw_only=True)
class Checkpoints:
    """One run of the model on one prompt.

    ``stream`` (layer + 1, token, d_model) enters each layer, its last entry leaves the last one; in the dtype of the
    model, on the CPU. ``norms`` (2 * layer + 1, token) in float32: after the embedding, then after every attention and
    every feed-forward.
    """

    token_ids: tuple[int, ...]
    stream: Tensor
    norms: Tensor

    @property
    def n_bytes(self) -> int:
        """Bytes of both tensors."""
        return self.stream.nbytes + self.norms.nbytes


def run(model: Llama, token_ids: tuple[int, ...], progress: Callable[[float], None]) -> Checkpoints:
    """Run the model once and keep its checkpoints.

    ``progress`` is told the share of the layers done before each one, and may raise to stop the run. Raises
    ``NotFinite`` naming the first place where NaN or infinity appeared.
    """
    config = model.config
    n_tokens, device = len(token_ids), model.embedding.weight.device
    stream = torch.empty(config.n_layers + 1, n_tokens, config.d_model, dtype=model.embedding.weight.dtype)
    norms = torch.empty(2 * config.n_layers + 1, n_tokens)

    def entering(layer: int) -> Reader:
        def read(x: Tensor) -> None:
            progress(layer / config.n_layers)
            stream[layer] = x[0]

        return read

    def length(depth: int) -> Reader:
        def read(x: Tensor) -> None:
            norms[depth] = x[0].float().norm(dim=-1)

        return read

    readers = {"tap.embedded": length(0)}
    for layer in range(config.n_layers):
        readers[f"layers.{layer}.tap.before"] = entering(layer)
        readers[f"layers.{layer}.tap.after_attention"] = length(2 * layer + 1)
        readers[f"layers.{layer}.tap.after_feed_forward"] = length(2 * layer + 2)
    with torch.inference_mode(), recording(model, readers):
        stream[config.n_layers] = model.stream(torch.tensor([token_ids], device=device))[0]
    _check_finite(norms)
    return Checkpoints(token_ids=token_ids, stream=stream, norms=norms)


def _check_finite(norms: Tensor) -> None:
    broken = (~norms.isfinite()).any(dim=1).nonzero()
    if len(broken) == 0:
        return
    depth = int(broken[0])
    if depth == 0:
        place = "in the embedding of a token"
    else:
        place = f"in layer {(depth - 1) // 2}, {'attention' if depth % 2 else 'feed-forward'}"
    raise NotFinite(
        f"The model produced NaN or infinity, first {place}.",
        "The weights of that layer are damaged, or their precision is too narrow: try EXPLORER_DTYPE=float32.",
    )
