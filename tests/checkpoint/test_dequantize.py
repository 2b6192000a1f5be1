"""Dequantisation, bit for bit against the gguf package."""

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, GGUFReader
from gguf.quants import dequantize as reference

from explorer.checkpoint.dequantize import DEQUANTIZERS, WEIGHTS_AT_ONCE, dequantize
from explorer.checkpoint.ggml_type import GGML_TYPES
from explorer.checkpoint.gguf_file import GGUFFile
from explorer.errors import UnsupportedModel
from tests.checkpoint.test_gguf_header import assert_same_header

KINDS = {kind.name: kind for kind in GGML_TYPES.values()}


def same_bits(ours: torch.Tensor, theirs: np.ndarray) -> bool:
    """Equal in every bit; any NaN equals any other."""
    a, b = ours.numpy(), np.asarray(theirs, np.float32)
    return bool(np.all((a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))))


@pytest.mark.parametrize("type_name", DEQUANTIZERS)
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_random_blocks_give_the_bits_that_the_gguf_package_gives(type_name):
    kind = KINDS[type_name]
    # A little more than is done at once; random bytes make every scale, also infinities, NaN and subnormals.
    n_blocks = WEIGHTS_AT_ONCE // kind.block_weights + 3
    data = np.random.default_rng(7).integers(0, 256, n_blocks * kind.block_bytes, np.uint8)
    theirs = reference(data.reshape(n_blocks, kind.block_bytes), GGMLQuantizationType[type_name])
    assert same_bits(dequantize(type_name, torch.from_numpy(data)), theirs.reshape(-1))


def test_every_type_that_cannot_be_read_is_refused_by_its_name():
    for type_name in KINDS.keys() - DEQUANTIZERS.keys():
        with pytest.raises(UnsupportedModel, match=f"of the type {type_name} cannot be read, only F32"):
            dequantize(type_name, torch.zeros(KINDS[type_name].block_bytes, dtype=torch.uint8))


def test_the_default_model_holds_the_numbers_that_the_gguf_package_reads(default_gguf):
    reader, ours = GGUFReader(default_gguf), GGUFFile(default_gguf)
    assert_same_header(ours.header, reader)
    chosen = {"token_embd.weight", "output_norm.weight", "blk.0.attn_q.weight", "blk.29.ffn_down.weight"}
    for tensor in reader.tensors:
        if tensor.name in chosen:
            theirs = reference(tensor.data, tensor.tensor_type)
            assert same_bits(ours.read(tensor.name), theirs), tensor.name
