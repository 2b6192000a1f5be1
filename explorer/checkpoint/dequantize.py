"""Turn the quantised blocks of a GGUF file back into numbers, exactly as llama.cpp does.

A block holds some dozen small integers and one or two half-precision scales: weight = scale * integer (+ minimum).
Each function takes blocks (block, byte) uint8 and gives (block, weight) float32. The layouts are those of ggml's
ggml-common.h and ``dequantize_row_*`` in ggml-quants.c.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from torch import Tensor

from explorer.checkpoint.ggml_type import GGML_TYPES
from explorer.errors import UnsupportedModel

# Few enough weights that the intermediate tensors stay in the processor's cache; a multiple of every block.
WEIGHTS_AT_ONCE = 1 << 18


def dequantize(type_name: str, data: Tensor) -> Tensor:
    """The numbers in ``data`` (byte,), whole blocks of the ggml type ``type_name``: (weight,) float32

    Raises ``UnsupportedModel`` for a type that is not in ``DEQUANTIZERS``.
    """
    check_dequantizable(type_name)
    kind = next(kind for kind in GGML_TYPES.values() if kind.name == type_name)
    blocks = data.view(-1, kind.block_bytes)
    weights = torch.empty(blocks.shape[0], kind.block_weights)
    step = WEIGHTS_AT_ONCE // kind.block_weights
    for start in range(0, blocks.shape[0], step):
        weights[start : start + step] = DEQUANTIZERS[type_name](blocks[start : start + step])
    return weights.flatten()


def check_dequantizable(type_name: str) -> None:
    """Refuse, by name, a type that ``dequantize`` does not know."""
    if type_name not in DEQUANTIZERS:
        raise UnsupportedModel(
            f"weights of the type {type_name} cannot be read, only {', '.join(DEQUANTIZERS)}",
            "Use the same model in another quantisation, such as Q8_0 or Q4_K_M.",
        )


def _f32(blocks: Tensor) -> Tensor:
    return blocks.contiguous().view(torch.float32)


def _f16(blocks: Tensor) -> Tensor:
    return blocks.contiguous().view(torch.float16).float()


def _bf16(blocks: Tensor) -> Tensor:
    return blocks.contiguous().view(torch.bfloat16).float()


def _q4_0(blocks: Tensor) -> Tensor:
    scale, packed = blocks.split((2, 16), dim=1)
    return _f16(scale) * _nibbles(packed).float().sub(8)


def _q4_1(blocks: Tensor) -> Tensor:
    scale, minimum, packed = blocks.split((2, 2, 16), dim=1)
    return _f16(scale) * _nibbles(packed).float() + _f16(minimum)


def _q5_0(blocks: Tensor) -> Tensor:
    scale, fifth_bits, packed = blocks.split((2, 4, 16), dim=1)
    return _f16(scale) * ((_nibbles(packed) | _bits(fifth_bits) << 4).float().sub(16))


def _q5_1(blocks: Tensor) -> Tensor:
    scale, minimum, fifth_bits, packed = blocks.split((2, 2, 4, 16), dim=1)
    return _f16(scale) * (_nibbles(packed) | _bits(fifth_bits) << 4).float() + _f16(minimum)


def _q8_0(blocks: Tensor) -> Tensor:
    scale, integers = blocks.split((2, 32), dim=1)
    return _f16(scale) * integers.view(torch.int8).float()


def _q4_k(blocks: Tensor) -> Tensor:
    scale, minimum, packed_scales, packed = blocks.split((2, 2, 12, 128), dim=1)
    integers = _nibbles(packed.reshape(-1, 4, 32))  # (block, 4, 64): two of the eight groups in each
    return _scaled_groups(integers, _f16(scale), _f16(minimum), packed_scales)


def _q5_k(blocks: Tensor) -> Tensor:
    scale, minimum, packed_scales, fifth_bits, packed = blocks.split((2, 2, 12, 32, 128), dim=1)
    low = _nibbles(packed.reshape(-1, 4, 32)).view(-1, 8, 32)
    # Byte i holds the fifth bit of weight i of each of the eight groups, one bit a group.
    high = fifth_bits[:, None, :] >> torch.arange(8, dtype=torch.uint8)[:, None] & 1
    return _scaled_groups(low | high << 4, _f16(scale), _f16(minimum), packed_scales)


def _q6_k(blocks: Tensor) -> Tensor:
    packed, top_bits, scales, scale = blocks.split((128, 64, 16, 2), dim=1)
    low = _nibbles(packed.reshape(-1, 2, 64)).view(-1, 2, 4, 32)
    shifts = torch.tensor([0, 2, 4, 6], dtype=torch.uint8)[:, None]
    high = top_bits.reshape(-1, 2, 1, 32) >> shifts & 3
    integers = (low | high << 4).view(-1, 16, 16).float() - 32
    group_scales = _f16(scale) * scales.view(torch.int8).float()  # (block, 16)
    return (integers * group_scales[:, :, None]).flatten(1)


def _nibbles(packed: Tensor) -> Tensor:
    """The low halves of all bytes, then the high halves: (..., byte) -> (..., 2 * byte)"""
    return torch.cat((packed & 15, packed >> 4), dim=-1)


def _bits(packed: Tensor) -> Tensor:
    """The bits of all bytes, lowest first: (block, byte) -> (block, 8 * byte)"""
    return (packed[:, :, None] >> torch.arange(8, dtype=torch.uint8) & 1).flatten(1)


def _scaled_groups(integers: Tensor, scale: Tensor, minimum: Tensor, packed_scales: Tensor) -> Tensor:
    """Q4_K and Q5_K: eight groups of 32 weights, each with a 6-bit scale and a 6-bit minimum packed in 12 bytes."""
    scales, minimums, rest = packed_scales.split(4, dim=1)
    group_scales = torch.cat((scales & 63, rest & 15 | scales >> 6 << 4), dim=1).float() * scale  # (block, 8)
    group_minimums = torch.cat((minimums & 63, rest >> 4 | minimums >> 6 << 4), dim=1).float() * minimum
    return (integers.view(-1, 8, 32).float() * group_scales[:, :, None] - group_minimums[:, :, None]).flatten(1)


DEQUANTIZERS: Mapping[str, Callable[[Tensor], Tensor]] = MappingProxyType(
    {
        "F32": _f32,
        "F16": _f16,
        "BF16": _bf16,
        "Q4_0": _q4_0,
        "Q4_1": _q4_1,
        "Q5_0": _q5_0,
        "Q5_1": _q5_1,
        "Q8_0": _q8_0,
        "Q4_K": _q4_k,
        "Q5_K": _q5_k,
        "Q6_K": _q6_k,
    }
)
