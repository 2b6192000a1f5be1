"""How much memory loading takes above the model itself, for each format and precision.

    PYTHONPATH=. python benchmarks/load_memory.py

Writes one random model in several formats, then loads each in a process of its own. ``held`` is the anonymous memory
that the loaded model takes, ``above`` how much more there was at the worst moment of loading; pages of mapped files are
in neither, as the system takes them back when it needs them. All in MB; ``largest file`` is that of the weights.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import torch
from gpu_check_model import SCALING, random_weight, write_folder

from explorer.checkpoint.names import META_NAMES, parameter_shapes
from explorer.checkpoint.open_checkpoint import open_checkpoint
from explorer.config import ModelConfig
from explorer.engine.device import DTYPES
from explorer.engine.memory import Memory
from explorer.engine.placement import place, placement
from explorer.model.llama import Llama

CPU = torch.device("cpu")
MEGABYTE = 1e6
CONFIG = ModelConfig(
    name="medium", vocab_size=32_000, d_model=1024, n_layers=16, n_heads=16, n_kv_heads=4, head_dim=64, d_ff=4096,
    context=8192, rope_theta=500_000.0, rope_scaling=SCALING, norm_eps=1e-5, tied_embedding=False,
)  # fmt: skip
SHARD_BYTES = 150_000_000
# Meta cuts the outputs of these matrices over its files, the inputs of the others.
CUT_ALONG_INPUTS = ("attention.output.weight", "feed_forward.down.weight")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", nargs=2, metavar=("FOLDER", "DTYPE"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.load is not None:
        print(json.dumps(measured(Path(asked.load[0]), asked.load[1])))
        return
    with tempfile.TemporaryDirectory() as root:
        folders = {"Hugging Face": "hugging_face", "Meta, 1 file": "meta_1", "Meta, 2 files": "meta_2"}
        for name in folders.values():
            (Path(root) / name).mkdir()
        write_folder(Path(root) / "hugging_face", CONFIG, CPU, SHARD_BYTES)
        for count in (1, 2):
            write_meta(Path(root) / f"meta_{count}", count)
        print("| format | in memory as | largest file | held | above |\n|---|---|---|---|---|")
        for title, name in folders.items():
            folder = Path(root) / name
            largest = max(path.stat().st_size for path in folder.iterdir()) / MEGABYTE
            for dtype in ("bfloat16", "float32"):
                ran = subprocess.run(
                    [sys.executable, __file__, "--load", str(folder), dtype], capture_output=True, text=True, check=True
                )
                said = json.loads(ran.stdout)
                print(f"| {title} | {dtype} | {largest:.0f} | {said['held']:.0f} | {said['above']:.0f} |")


def measured(folder: Path, dtype: str) -> dict[str, float]:
    """Load a model; the anonymous memory that it holds, and the worst moment above that, in MB."""
    torch.set_num_threads(1)
    before, worst, ended = anonymous(), 0.0, threading.Event()

    def watch() -> None:
        nonlocal worst
        while not ended.wait(0.001):
            worst = max(worst, anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    checkpoint = open_checkpoint(folder, folder.name)
    where = placement(checkpoint, dtype, [Memory(device=CPU, free=1 << 40)])
    with torch.device("meta"):
        model = Llama(checkpoint.config)
    place(model, checkpoint, where)
    ended.set()
    watcher.join()
    held = anonymous()
    assert model.embedding.weight.dtype == DTYPES[dtype]
    return {"held": held - before, "above": max(worst - held, 0.0)}


def anonymous() -> float:
    """Anonymous memory of this process in MB."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["RssAnon"].split()[0]) * 1024 / MEGABYTE


def write_meta(folder: Path, count: int) -> None:
    """Write the model as ``params.json`` and ``consolidated.NN.pth``, cut over ``count`` files."""
    parts: list[dict[str, torch.Tensor]] = [{} for _ in range(count)]
    for name, shape in parameter_shapes(CONFIG).items():
        weight = random_weight(name, shape, CPU, torch.bfloat16)
        axis = int(name.endswith(CUT_ALONG_INPUTS))
        cut = [weight] * count if weight.dim() == 1 else weight.chunk(count, axis)
        for part, piece in zip(parts, cut, strict=True):
            part[META_NAMES.stored_name(name)] = piece.clone()
    for number, part in enumerate(parts):
        torch.save(part, folder / f"consolidated.{number:02}.pth")
    params = {
        "dim": CONFIG.d_model, "n_layers": CONFIG.n_layers, "n_heads": CONFIG.n_heads, "n_kv_heads": CONFIG.n_kv_heads,
        "vocab_size": CONFIG.vocab_size, "ffn_dim_multiplier": 1.5, "multiple_of": 256, "norm_eps": CONFIG.norm_eps,
        "rope_theta": CONFIG.rope_theta, "use_scaled_rope": True,
    }  # fmt: skip
    (folder / "params.json").write_text(json.dumps(params))


if __name__ == "__main__":
    main()
