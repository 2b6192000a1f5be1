"""Ways to run a model that the tests compare with one another."""

from collections.abc import Iterable

import torch
from torch import Tensor

from explorer.model.llama import Llama
from explorer.model.tap import taps_of
from explorer.trace.checkpoints import run
from explorer.trace.recorder import recording
from explorer.trace.replay import replay
from explorer.trace.trace import Trace, TraceRequest


def ignore(_fraction: float) -> None:
    """Progress that nobody watches."""


def live(model: Llama, token_ids: Iterable[int]) -> dict[str, Tensor]:
    """Every tap's tensor, batch axis left out, read while the whole model runs once."""
    seen: dict[str, Tensor] = {}
    readers = {address: lambda x, address=address: seen.update({address: x[0].clone()}) for address in taps_of(model)}
    with torch.inference_mode(), recording(model, readers):
        model(torch.tensor([list(token_ids)]))
    return seen


def traced(model: Llama, request: TraceRequest) -> Trace:
    """Run, then replay what ``request`` names."""
    return replay(model, run(model, request.token_ids, ignore), request, ignore)


def every_tap(model: Llama) -> frozenset[str]:
    """All addresses of ``model``."""
    return frozenset(taps_of(model))
