"""Vectors read through the unembedding: which tokens they speak for, and which they speak against.

Used for the logit lens (stream vectors, normalised first), for the value rows of neurons and for the writes of heads
(taken as they are). Computed in blocks, so that vectors × vocabulary is never held.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.model.llama import Llama

Vectors = Tensor  # (vector, d_model)

BLOCK_ROWS = 128


@dataclass(frozen=True, kw_only=True)
class Readout:
    """For each of some vectors: the highest and the lowest scores, and what the whole vocabulary looks like.

    ``top_ids``, ``top_scores``, ``bottom_ids``, ``bottom_scores`` (vector, count), best first and lowest first;
    ``entropy`` (vector,) of the softmax over the vocabulary, in nats; ``normaliser`` (vector,), the log of the sum of
    the exponentials: a score minus it is a log-probability; ``watched`` (vector, watched id), the scores of the ids
    that were asked for; ``watched_ranks`` the same shape, 1 for the highest score.
    """

    top_ids: Tensor
    top_scores: Tensor
    bottom_ids: Tensor
    bottom_scores: Tensor
    entropy: Tensor
    normaliser: Tensor
    watched: Tensor
    watched_ranks: Tensor


def readout(model: Llama, vectors: Vectors, *, count: int, normalised: bool, watched: tuple[int, ...] = ()) -> Readout:
    """Score the vocabulary for ``vectors`` (vector, d_model), after the model's final norm where ``normalised`` is set.

    Each vector is divided by its own root mean square, as the model would divide the last one. On the CPU, in float32.
    """
    device, dtype = model.embedding.weight.device, model.embedding.weight.dtype
    blocks = []
    with torch.inference_mode():
        for block in vectors.split(BLOCK_ROWS):
            x = block.to(device=device, dtype=dtype)
            scores = model.unembedding(model.norm(x) if normalised else x).float()
            normaliser = scores.logsumexp(-1)
            log_p = scores - normaliser[:, None]
            top, bottom = scores.topk(count), scores.topk(count, largest=False)
            chosen = scores[:, list(watched)]
            ranks = torch.empty_like(chosen, dtype=torch.int64)
            for column, score in enumerate(chosen.unbind(-1)):
                ranks[:, column] = (scores > score[:, None]).sum(-1) + 1
            parts = (
                top.indices, top.values, bottom.indices, bottom.values,
                -(log_p.exp() * log_p).sum(-1), normaliser, chosen, ranks,
            )  # fmt: skip
            blocks.append([part.cpu() for part in parts])
    joined = [torch.cat(parts) for parts in zip(*blocks, strict=True)]
    return Readout(
        top_ids=joined[0], top_scores=joined[1], bottom_ids=joined[2], bottom_scores=joined[3],
        entropy=joined[4], normaliser=joined[5], watched=joined[6], watched_ranks=joined[7],
    )  # fmt: skip
