"""A trace as safetensors bytes: for files, and for the way from a remote engine."""

import json

from safetensors.torch import load, save

from explorer.trace.trace import Trace

HEADER = "explorer.trace"


def encode(trace: Trace) -> bytes:
    """``trace`` as the bytes of a safetensors file: tensors by address; lengths, rows after ``norm:`` and ``rows:``."""
    tensors = {address: tensor.contiguous() for address, tensor in trace.tensors.items()}
    tensors |= {f"norm:{address}": tensor.contiguous() for address, tensor in trace.norms.items()}
    tensors |= {f"rows:{address}": tensor.contiguous() for address, tensor in trace.rows.items()}
    header = json.dumps({"token_ids": trace.token_ids, "scored": trace.scored})
    return save({name: tensor.clone() for name, tensor in tensors.items()}, metadata={HEADER: header})


def decode(data: bytes) -> Trace:
    """The trace that ``encode`` wrote."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(json.loads(data[8 : 8 + size])["__metadata__"][HEADER])
    tensors = load(data)
    return Trace(
        token_ids=tuple(header["token_ids"]),
        scored=tuple(header["scored"]),
        tensors={name: tensor for name, tensor in tensors.items() if not name.startswith(("norm:", "rows:"))},
        norms={name.removeprefix("norm:"): x for name, x in tensors.items() if name.startswith("norm:")},
        rows={name.removeprefix("rows:"): x for name, x in tensors.items() if name.startswith("rows:")},
    )
