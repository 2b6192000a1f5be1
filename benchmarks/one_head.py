"""How long it takes to open one head's attention map of a long prompt, and how much memory is held for it.

    python benchmarks/one_head.py --tokens 2048 --rounds 3 [--python transformer_lens=VENV/bin/python]

Each measurement is a process of its own on one thread: trace the prompt, then open heads in three layers as a
reader would. The ways alternate within a round. ``open`` is the median time from choosing a head to its map;
``held`` is what the process holds after the trace beyond the loaded model, ``peak`` the most it ever held beyond it.
All ways run the same float32 weights, and their maps are compared. The table is printed and written to ``results``.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

LAYERS, HEAD = (3, 7, 20), 3
HERE = Path(__file__).parent
Trace = Callable[[list[int]], None]
Open = Callable[[int], np.ndarray]


def ours(_folder: Path) -> tuple[Trace, Open]:
    """Checkpoints of the run; a head's map from one replayed layer."""
    from explorer.analysis.attention import attention_taps, head_pattern
    from explorer.cli.session import Session

    session, last = Session(), []

    def trace(ids: list[int]) -> None:
        last[:] = [ids]
        session.trace(ids, taps={"tap.logits"})

    return trace, lambda layer: head_pattern(session.trace(last[0], taps=attention_taps(layer)), layer, HEAD)


def transformers(folder: Path) -> tuple[Trace, Open]:
    """A forward pass that returns all attentions."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    kept: list[tuple[torch.Tensor, ...]] = []

    def trace(ids: list[int]) -> None:
        kept.clear()
        with torch.inference_mode():
            kept.append(model(torch.tensor([ids]), output_attentions=True, logits_to_keep=1).attentions)

    return trace, lambda layer: kept[0][layer][0, HEAD].numpy()


def transformer_lens(folder: Path) -> tuple[Trace, Open]:
    """run_with_cache, told to keep the attention patterns only."""
    import torch
    from transformer_lens.model_bridge import TransformerBridge

    model = TransformerBridge.boot_transformers(str(folder), dtype=torch.float32)
    kept = []

    def trace(ids: list[int]) -> None:
        kept.clear()
        with torch.inference_mode():
            _, cache = model.run_with_cache(
                torch.tensor([ids]), names_filter=lambda name: name.endswith("hook_pattern")
            )
            kept.append(cache)

    return trace, lambda layer: kept[0][f"blocks.{layer}.attn.hook_pattern"][0, HEAD].numpy()


WAYS = {"ours": ours, "transformers": transformers, "transformer_lens": transformer_lens}


def memory(field: str) -> float:
    """VmRSS or VmHWM of this process in MiB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def measure(way: str, n_tokens: int, folder: Path) -> None:
    """One process's measurement, printed as JSON; the maps go into ``folder``."""
    import torch

    torch.set_num_threads(1)
    ids = [(place * 7919) % 49152 for place in range(n_tokens)]
    trace, open_head = WAYS[way](folder / "model")
    trace(ids[:8])  # brings the mapped weights in
    loaded = memory("VmRSS")
    started, started_cpu = time.perf_counter(), time.process_time()
    trace(ids)
    traced, traced_cpu = time.perf_counter() - started, time.process_time() - started_cpu
    held, times, maps = memory("VmRSS") - loaded, [], []
    for layer in LAYERS:
        started = time.perf_counter()
        maps.append(open_head(layer))
        times.append(time.perf_counter() - started)
    np.save(folder / f"{way}.npy", np.stack(maps))
    peak = memory("VmHWM") - loaded
    said = {"trace": traced, "cpu": traced_cpu, "open": statistics.median(times), "held": held, "peak": peak}
    print(json.dumps(said))


def main() -> None:
    """Alternate the ways, compare their maps, print and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--python", action="append", default=[], metavar="WAY=PYTHON")
    parser.add_argument("--run", nargs=2, metavar=("WAY", "FOLDER"))
    given = parser.parse_args()
    if given.run:
        measure(given.run[0], given.tokens, Path(given.run[1]))
        return
    pythons = dict.fromkeys(("ours", "transformers"), sys.executable) | dict(each.split("=") for each in given.python)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, HERE / "default_as_hugging_face.py", folder / "model"], check=True)
        found: dict[str, list[dict[str, float]]] = {way: [] for way in pythons}
        for _ in range(given.rounds):
            for way, python in pythons.items():
                command = [python, __file__, "--tokens", str(given.tokens), "--run", way, name]
                ran = subprocess.run(command, check=True, capture_output=True, text=True)
                found[way].append(json.loads(ran.stdout.splitlines()[-1]))
        reference = np.load(folder / "transformers.npy")
        apart = {way: float(np.abs(np.load(folder / f"{way}.npy") - reference).max()) for way in pythons}
    middle = {way: {key: statistics.median(run[key] for run in runs) for key in runs[0]} for way, runs in found.items()}
    lines = [
        f"One head's map of {given.tokens:,} tokens, medians of {given.rounds} alternating runs on one thread",
        "",
        "| way | trace s | trace CPU s | open a head ms | held MiB | peak MiB | map apart |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {way} | {row['trace']:.1f} | {row['cpu']:.1f} | {1000 * row['open']:.0f} | {row['held']:,.0f} "
        f"| {row['peak']:,.0f} | {apart[way]:.1e} |"
        for way, row in middle.items()
    ]
    print("\n".join(lines))
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    (results / "one_head.md").write_text("\n".join(lines) + "\n")
    (results / "one_head.json").write_text(json.dumps({"runs": found, "apart": apart}, indent=1) + "\n")


if __name__ == "__main__":
    main()
