"""Copies of the tiny model of the cases in which one thing is different."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from explorer.checkpoint.checkpoint import Checkpoint
from explorer.model.llama import Llama
from tests.conftest import DATA

CASES = DATA / "cases" / "files"
EXPECTED = json.loads((CASES / "tiny_a_expected.json").read_text())
LOGITS = torch.from_numpy(np.load(CASES / "tiny_a_expected.npz")["logits"]).float()
INDEX = "model.safetensors.index.json"
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


def copied(tmp_path: Path, name: str = "tiny_a_hf") -> Path:
    folder = tmp_path / name
    shutil.copytree(CASES / name, folder, copy_function=shutil.copyfile)
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755)
    return folder


def changed_json(path: Path, change: Callable[[dict], None]) -> None:
    table = json.loads(path.read_text())
    change(table)
    path.write_text(json.dumps(table))


def changed_shard(folder: Path, change: Callable[[dict[str, Tensor]], None], shard: str = FIRST) -> None:
    """Change the tensors of one file, and the index with them."""
    tensors = load_file(folder / shard)
    before = set(tensors)
    change(tensors)
    save_file(tensors, folder / shard)

    def follow(index: dict) -> None:
        for name in before - set(tensors):
            del index["weight_map"][name]
        index["weight_map"] |= dict.fromkeys(set(tensors) - before, shard)

    changed_json(folder / INDEX, follow)


def loaded(checkpoint: Checkpoint, dtype: torch.dtype = torch.float32) -> Llama:
    with torch.device("meta"):
        model = Llama(checkpoint.config)
    checkpoint.load_into(model, dtype)
    return model.requires_grad_(False)


@torch.inference_mode()
def logits(checkpoint: Checkpoint) -> Tensor:
    """The scores of the prompt of the cases: (token, vocab)"""
    return loaded(checkpoint)(torch.tensor([EXPECTED["ids"]]))[0]
