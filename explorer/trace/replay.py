"""From the checkpoints of a run to exactly the tensors that a request names."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress

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
    addresses, scored = taps_of(model), list(request.scored)
    whole = {address for pattern in request.taps for address in matching(addresses, pattern)}
    lengths = {address for pattern in request.norms for address in matching(addresses, pattern)}
    partial = {address for pattern in request.rows for address in matching(addresses, pattern)}
    # copies: a view would keep the checkpoints of all layers alive for as long as the trace lives
    stored = _stored_stream(checkpoints)
    tensors = {address: x.clone() for address, x in stored.items() if address in whole}
    rows = {address: x[scored] for address, x in stored.items() if address in partial}
    norms = {address: x.clone() for address, x in _stored_norms(checkpoints).items() if address in lengths}

    by_layer: dict[int, dict[str, Reader]] = defaultdict(dict)
    scoring: dict[str, Reader] = {}
    missing_whole, missing_norms, missing_rows = whole - tensors.keys(), lengths - norms.keys(), partial - rows.keys()
    for address in missing_whole | missing_norms | missing_rows:
        keepers: list[Reader] = []
        if address in missing_whole:
            keepers.append(_keep_whole(address, tensors))
        if address in missing_norms:
            keepers.append(_keep_norms(address, norms))
        if address in missing_rows:
            token_axis = addresses[address].axes.index("token") - 1
            keepers.append(_keep_rows(address, rows, None if address in SCORED else (token_axis, scored)))
        reader = _all_of(keepers)
        if address in SCORED:
            scoring[address] = reader
        else:
            by_layer[int(address.split(".")[1])][address] = reader

    device = model.embedding.weight.device
    with torch.inference_mode():
        rotation = model.rotation(0, len(request.token_ids)) if by_layer else None
        for done, layer in enumerate(sorted(by_layer)):
            progress(done / len(by_layer))
            with suppress(_AllSeenError), recording(model, _until_all_seen(by_layer[layer])):
                model.layers[layer](checkpoints.stream[layer][None].to(device), rotation)
        if scoring:
            with recording(model, scoring):
                model.score(checkpoints.stream[-1][None, scored].to(device))
    return Trace(token_ids=request.token_ids, scored=request.scored, tensors=tensors, norms=norms, rows=rows)


class _AllSeenError(Exception):
    """Ends a layer's replay: what follows would be computed for nobody."""


def _until_all_seen(readers: Mapping[str, Reader]) -> dict[str, Reader]:
    """``readers``, the last of which to be called ends the replay. A map of attention needs no feed-forward."""
    missing = set(readers)

    def counted(address: str, reader: Reader) -> Reader:
        def read(x: Tensor) -> None:
            reader(x)
            missing.discard(address)
            if not missing:
                raise _AllSeenError

        return read

    return {address: counted(address, reader) for address, reader in readers.items()}


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


def _keep_whole(address: str, tensors: dict[str, Tensor]) -> Reader:
    def read(x: Tensor) -> None:
        tensors[address] = x[0].cpu()

    return read


def _keep_norms(address: str, norms: dict[str, Tensor]) -> Reader:
    def read(x: Tensor) -> None:
        norms[address] = x[0].float().norm(dim=-1).cpu()

    return read


def _keep_rows(address: str, rows: dict[str, Tensor], chosen: tuple[int, list[int]] | None) -> Reader:
    """``chosen`` is the token axis and the tokens on it; None where the tensor holds the scored tokens already."""

    def read(x: Tensor) -> None:
        if chosen is None:
            rows[address] = x[0].cpu()
        else:
            axis, tokens = chosen
            rows[address] = x[0].index_select(axis, torch.tensor(tokens, device=x.device)).cpu()

    return read


def _all_of(readers: list[Reader]) -> Reader:
    def read(x: Tensor) -> None:
        for reader in readers:
            reader(x)

    return read
