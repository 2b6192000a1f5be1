"""What the model would answer if it stopped after each layer: the logit lens.

nostalgebraist 2020, "interpreting GPT: the logit lens". Every depth of the stream goes through the final norm, with its
own root mean square, and through the unembedding. Whole tokens at a time: the last depth of a token is the model's own
answer, and what the depths above it are held against.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.model.llama import Llama
from explorer.trace.checkpoints import Checkpoints

BLOCK_ROWS = 128  # how many vectors are scored at a time: vectors × vocabulary is all that is held


@dataclass(frozen=True, kw_only=True)
class LensRequest:
    """Some ``tokens`` of a prompt, read at every depth; without ``normalised`` the final norm is left out.

    ``count`` says how many of the likeliest tokens are kept of each reading, ``watched`` whose score is kept.
    """

    model: str
    token_ids: tuple[int, ...]
    tokens: tuple[int, ...]
    count: int = 1
    normalised: bool = True
    watched: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Lens:
    """Readings (depth, token): depth 0 is the embedding, then one after each layer. In float32, on the CPU.

    ``top_ids`` and ``top_p`` (depth, token, count), likeliest first; ``entropy`` in nats; ``divergence`` in nats, KL of
    the model's own distribution from the reading, 0 where they agree; ``answers`` (token,), the model's likeliest next
    token, with ``answer_p`` and ``answer_ranks`` (1 for the likeliest) at every depth; ``watched_scores``,
    ``watched_p`` and ``watched_ranks`` (depth, token, watched).
    """

    tokens: tuple[int, ...]
    top_ids: Tensor
    top_p: Tensor
    entropy: Tensor
    divergence: Tensor
    answers: Tensor
    answer_p: Tensor
    answer_ranks: Tensor
    watched_scores: Tensor
    watched_p: Tensor
    watched_ranks: Tensor

    @property
    def n_bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, Tensor))


def lens(model: Llama, checkpoints: Checkpoints, request: LensRequest, progress: Callable[[float], None]) -> Lens:
    """The readings of ``request``'s tokens; ``progress`` is told the share done, and may raise to stop."""
    depths = len(checkpoints.stream)
    at_once = max(1, BLOCK_ROWS // depths)
    blocks = []
    for start in range(0, len(request.tokens), at_once):
        progress(start / len(request.tokens))
        blocks.append(_block(model, checkpoints.stream[:, list(request.tokens[start : start + at_once])], request))
    joined = {
        name: torch.cat([block[name] for block in blocks], dim=-1 if name == "answers" else 1) for name in blocks[0]
    }
    return Lens(tokens=request.tokens, **joined)


def _block(model: Llama, stream: Tensor, request: LensRequest) -> dict[str, Tensor]:
    """The readings of a few tokens: stream (depth, token, d_model)."""
    weight = model.embedding.weight
    with torch.inference_mode():
        x = stream.to(device=weight.device, dtype=weight.dtype)
        scores = model.unembedding(model.norm(x) if request.normalised else x).float()
        own = scores[-1] if request.normalised else model.unembedding(model.norm(x[-1])).float()
        log_p, own_log_p = scores.log_softmax(-1), own.log_softmax(-1)
        answers = own.argmax(-1)
        answer_scores = scores.gather(-1, answers.expand(len(scores), -1)[..., None])
        watched = scores[..., list(request.watched)]
        ranks = [(scores > each[..., None]).sum(-1) + 1 for each in watched.unbind(-1)]
        top = scores.topk(request.count)
        found = {
            "top_ids": top.indices,
            "top_p": log_p.gather(-1, top.indices).exp(),
            "entropy": -(log_p.exp() * log_p).sum(-1),
            "divergence": (own_log_p.exp() * (own_log_p - log_p)).sum(-1).clamp_min(0),
            "answers": answers,
            "answer_p": log_p.gather(-1, answers.expand(len(scores), -1)[..., None])[..., 0].exp(),
            "answer_ranks": (scores > answer_scores).sum(-1) + 1,
            "watched_scores": watched,
            "watched_p": log_p[..., list(request.watched)].exp(),
            "watched_ranks": torch.stack(ranks, -1) if ranks else torch.zeros(watched.shape, dtype=torch.int64),
        }
    return {name: tensor.cpu() for name, tensor in found.items()}
