"""From the checkpoints of a run to exactly the tensors that a request names."""

from collections import defaultdict
from collections.abc import Callable

import torch
from torch import Tensor

from explorer.model.llama import Llama
from explorer.model.tap import taps_of
from explorer.trace.checkpoints import Checkpoints
from explorer.trace.recorder import Reader, matching, recording
from explorer.trace.trace import Trace, TraceRequest

SCORED = frozenset({"tap.normalised", "tap.logits"})


def replay(model: Llama, checkpoints: Checkpoints, request: TraceRequest, progress: Callable[[float], None]) -> Trace:
    """Collect what ``request`` names, running again only the layers that it reaches into.

    ``progress`` is told the share of those layers done, and may raise to stop. Raises ``NoSuchTap`` for an address that
    the model does not have.
    """
    addresses = taps_of(model)
    whole = {address for pattern in request.taps for address in matching(addresses, pattern)}
    lengths = {address for pattern in request.norms for address in matching(addresses, pattern)}
    # copies: a view would keep the checkpoints of all layers alive for as long as the trace lives
    tensors = {address: x.clone() for address, x in _stored_stream(checkpoints).items() if address in whole}
    norms = {address: x.clone() for address, x in _stored_norms(checkpoints).items() if address in lengths}

    by_layer: dict[int, dict[str, Reader]] = defaultdict(dict)
    scoring: dict[str, Reader] = {}
    for address in (whole - tensors.keys()) | (lengths - norms.keys()):
        keep_whole = tensors if address in whole - tensors.keys() else None
        keep_norm = norms if address in lengths - norms.keys() else None
        reader = _keeper(address, keep_whole, keep_norm)
        if address in SCORED:
            scoring[address] = reader
        else:
            by_layer[int(address.split(".")[1])][address] = reader

    device = model.embedding.weight.device
    with torch.inference_mode():
        rotation = model.rotation(0, len(request.token_ids)) if by_layer else None
        for done, layer in enumerate(sorted(by_layer)):
            progress(done / len(by_layer))
            with recording(model, by_layer[layer]):
                model.layers[layer](checkpoints.stream[layer][None].to(device), rotation)
        if scoring:
            with recording(model, scoring):
                model.score(checkpoints.stream[-1][None, list(request.scored)].to(device))
    return Trace(token_ids=request.token_ids, scored=request.scored, tensors=tensors, norms=norms)


def _stored_stream(checkpoints: Checkpoints) -> dict[str, Tensor]:
    """The addresses whose tensors are the checkpoints themselves."""
    last = len(checkpoints.stream) - 1
    stored = {"tap.embedded": checkpoints.stream[0], "tap.final": checkpoints.stream[last]}
    for layer in range(last):
        stored[f"layers.{layer}.tap.before"] = checkpoints.stream[layer]
        stored[f"layers.{layer}.tap.after_feed_forward"] = checkpoints.stream[layer + 1]
    return stored


def _stored_norms(checkpoints: Checkpoints) -> dict[str, Tensor]:
    """The addresses whose lengths were measured during the run."""
    last = len(checkpoints.stream) - 1
    stored = {"tap.embedded": checkpoints.norms[0], "tap.final": checkpoints.norms[2 * last]}
    for layer in range(last):
        stored[f"layers.{layer}.tap.before"] = checkpoints.norms[2 * layer]
        stored[f"layers.{layer}.tap.after_attention"] = checkpoints.norms[2 * layer + 1]
        stored[f"layers.{layer}.tap.after_feed_forward"] = checkpoints.norms[2 * layer + 2]
    return stored


def _keeper(address: str, whole: dict[str, Tensor] | None, norms: dict[str, Tensor] | None) -> Reader:
    def read(x: Tensor) -> None:
        if whole is not None:
            whole[address] = x[0].cpu()
        if norms is not None:
            norms[address] = x[0].float().norm(dim=-1).cpu()

    return read
