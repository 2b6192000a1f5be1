"""One prepared run that proves the GPU path: right numbers, a whole 8B model, and how near its speed is to the limit.

    PYTHONPATH=. python benchmarks/gpu_check.py                       on the GPU
    PYTHONPATH=. python benchmarks/gpu_check.py --device cpu --small  the same steps on a CPU with a small shape

1. The tiny model of the tests through the engine: its published scores, in float32.
2. A random model of middle size in every dtype: the device's scores against the CPU's in float32.
3. A random model of exactly the 8B shape in bfloat16: written as safetensors, loaded by the engine, 512 tokens read
   with the norms of the residual stream and every query, key and value kept, 128 tokens generated through the queue.

``ratio`` is the time per generated token over the time in which the device's measured copy bandwidth moves the weights
that every token needs (all but the embedding table). Needs 16 GB of disk, and 20 GB of memory on the device.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from gpu_check_model import MIDDLE, SMALL, random_llama, write_folder
from torch import Tensor

from explorer.checkpoint.names import parameter_shapes
from explorer.config import ModelConfig
from explorer.config.known_models import known_models
from explorer.engine.device import DTYPES
from explorer.engine.engine import Phase, Ticket
from explorer.engine.entries import file_entry
from explorer.engine.generation import generate
from explorer.engine.local import LocalEngine
from explorer.engine.shelf import Shelf
from explorer.model.sampling import SamplerSettings
from explorer.settings import Settings
from explorer.trace.generation import GenerationRequest, Step
from explorer.trace.trace import TraceRequest

FILES = Path(__file__).parent.parent / "tests" / "data" / "cases" / "files"
NORMS = frozenset({"tap.embedded", "layers.*.tap.after_attention", "layers.*.tap.after_feed_forward"})
TAPS = frozenset(f"layers.*.attention.tap.{name}" for name in ("rotated_query", "rotated_key", "value"))
# Largest difference of a score over the largest score. Halves keep 8 and 11 bits; layers add up their roundings.
TOLERANCES = {"float32": 2e-5, "bfloat16": 4e-2, "float16": 5e-3}
GIGABYTE = 1e9
Answer = TypeVar("Answer")
ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="a small shape in place of the 8B's")
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--decode", type=int, default=128)
    parser.add_argument("--folder", type=Path, help="where the weights are written (default: a temporary folder)")
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file, too")
    asked = parser.parse_args()
    device = torch.device(asked.device)
    config = SMALL if asked.small else known_models()["llama-3.1-8b"].config
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    said: dict[str, object] = {"device": name, "torch": torch.__version__, "model": config.name}
    said |= {"tiny": tiny_scores(device), "dtypes": dtype_errors(device)}
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        said |= whole_model(Path(folder), config, device, asked.tokens, asked.decode)
    text = json.dumps(said, indent=1)
    print(text)
    if asked.out is not None:
        asked.out.write_text(text)


def tiny_scores(device: torch.device) -> float:
    """The largest error of the tiny model's published scores on ``device``, in float32."""
    expected = torch.from_numpy(np.load(FILES / "tiny_a_expected.npz")["logits"]).float()
    ids = tuple(json.loads((FILES / "tiny_a_expected.json").read_text())["ids"])
    error = 0.0
    for name in ("tiny_a.gguf", "tiny_a_hf", "tiny_a_meta"):
        engine = ready(FILES / name, Settings(home=FILES, device=str(device), dtype="float32"))
        request = TraceRequest(model="it", token_ids=ids, taps=frozenset({"tap.logits"}), scored=(len(ids) - 1,))
        scores = engine.submit(request, "check").result()["tap.logits"].float()
        error = max(error, float((scores - expected[-1:]).abs().max()))
    check(error < 1e-4, f"the tiny model's scores are off by {error}")
    return error


def dtype_errors(device: torch.device) -> dict[str, float]:
    """Of a random model, in every dtype: the largest error against the CPU in float32, over the largest score."""
    ids = torch.randint(MIDDLE.vocab_size, (1, 200), generator=torch.Generator().manual_seed(1))
    plain = random_llama(MIDDLE, torch.device("cpu"), torch.float32)
    with torch.inference_mode():
        expected = plain(ids)
    errors = {}
    for name, dtype in DTYPES.items():
        model = random_llama(MIDDLE, torch.device("cpu"), torch.float32).to(device=device, dtype=dtype)
        with torch.inference_mode():
            found = model(ids.to(device)).float().cpu()
        errors[name] = float((found - expected).abs().max() / expected.abs().max())
        check(errors[name] < TOLERANCES[name], f"{name} is off by {errors[name]}, at most {TOLERANCES[name]}")
    return errors


def whole_model(folder: Path, config: ModelConfig, device: torch.device, tokens: int, decode: int) -> dict[str, object]:
    """Write, load, read and generate with a random model of ``config`` in bfloat16."""
    write_seconds, _ = timed(lambda: write_folder(folder, config, device))
    settings = Settings(home=folder, device=str(device), dtype="bfloat16", trace_cache_bytes=8 << 30, max_tokens=4096)
    reset_peak(device)
    load_seconds, engine = timed(lambda: ready(folder, settings))
    loaded = peak(device)

    def prompt(number: int) -> tuple[int, ...]:
        generator = torch.Generator().manual_seed(number)
        return tuple(torch.randint(config.vocab_size, (tokens,), generator=generator).tolist())

    def read(number: int, *, all_taps: bool) -> float:
        taps, norms = (TAPS, NORMS) if all_taps else (frozenset[str](), frozenset[str]())
        request = TraceRequest(model="it", token_ids=prompt(number), taps=taps, norms=norms, scored=(tokens - 1,))
        seconds, trace = timed(lambda: engine.submit(request, "check").result())
        kept = [trace[address] for address in trace.tensors]
        check(all(bool(values.isfinite().all()) for values in kept), "a kept tensor holds NaN or infinity")
        check(not all_taps or len(kept) >= 3 * config.n_layers, f"only {len(kept)} tensors were kept")
        return seconds

    read(0, all_taps=True)  # the first run chooses kernels and fills the allocator
    plain = statistics.median(read(1 + number, all_taps=False) for number in range(ROUNDS))
    tapped = statistics.median(read(100 + number, all_taps=True) for number in range(ROUNDS))

    ends: list[float] = []
    steps: list[Step] = []

    def waited(ticket: Ticket[Step]) -> Step:
        steps.append(ticket.result())
        return steps[-1]

    request = GenerationRequest(
        model="it", token_ids=prompt(7), limit=decode, context=tokens + decode, uniforms=(0.5,) * decode,
        settings=SamplerSettings(temperature=0.0),
    )  # fmt: skip
    generate(engine, request, "check", wait=waited, told=lambda _: ends.append(time.perf_counter()))
    check(len(ends) == decode and steps[-1].n_read == 1, f"{len(ends)} of {decode} tokens came")
    per_token = statistics.median(step.milliseconds for step in steps[1:]) / 1000
    whole_per_token = float(np.median(np.diff(ends)))
    shapes = parameter_shapes(config)
    needed = 2 * sum(int(np.prod(shape)) for name, shape in shapes.items() if name != "embedding.weight")
    if config.tied_embedding:
        needed += 2 * config.vocab_size * config.d_model
    bandwidth = copy_bandwidth(device)
    return {
        "weights_gb": round(2 * sum(int(np.prod(shape)) for shape in shapes.values()) / GIGABYTE, 3),
        "write_s": round(write_seconds, 2),
        "load_s": round(load_seconds, 2),
        "loaded_peak_gb": loaded,
        "prefill_tokens": tokens,
        "prefill_ms": round(1000 * plain, 2),
        "prefill_with_taps_ms": round(1000 * tapped, 2),
        "decoded": decode,
        "ms_per_token": round(1000 * per_token, 3),
        "ms_per_token_with_queue_and_sampler": round(1000 * whole_per_token, 3),
        "copy_bandwidth_gb_s": round(bandwidth / GIGABYTE, 1),
        "limit_ms_per_token": round(1000 * needed / bandwidth, 3),
        "ratio": round(per_token / (needed / bandwidth), 2),
        "peak_gb": peak(device),
    }


def ready(path: Path, settings: Settings) -> LocalEngine:
    """An engine with the model at ``path`` in memory, as "it"."""
    shelf = Shelf(settings, {"it": file_entry(path, settings, model="it", name="it")})
    engine = LocalEngine(shelf, settings)
    engine.prepare("it")
    while (state := engine.state("it")).phase is Phase.LOADING:
        time.sleep(0.01)
    if state.error is not None:
        raise state.error
    return engine


def copy_bandwidth(device: torch.device) -> float:
    """Bytes a second that a large copy on ``device`` reads and writes: the best of several."""
    count = 1 << (30 if device.type == "cuda" else 27)
    source, target = (torch.zeros(count, dtype=torch.uint8, device=device) for _ in range(2))
    best = min(timed(lambda: finished(target.copy_(source)))[0] for _ in range(10))
    return 2 * count / best


def finished(values: Tensor) -> Tensor:
    if values.is_cuda:
        torch.cuda.synchronize(values.device)
    return values


def timed(work: Callable[[], Answer]) -> tuple[float, Answer]:
    started = time.perf_counter()
    answer = work()
    return time.perf_counter() - started, answer


def reset_peak(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    Path("/proc/self/clear_refs").write_text("5")


def peak(device: torch.device) -> dict[str, float]:
    """The most memory in use since ``reset_peak``, in GB: of this process on the host, and on the GPU."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    said = {"host": round(int(lines["VmHWM"].split()[0]) * 1024 / GIGABYTE, 3)}
    if device.type == "cuda":
        said["device"] = round(torch.cuda.max_memory_allocated(device) / GIGABYTE, 3)
    return said


def check(holds: bool, failure: str) -> None:
    if not holds:
        raise SystemExit(f"gpu_check: {failure}")


if __name__ == "__main__":
    main()
