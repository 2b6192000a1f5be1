"""Where layers lie: what fits is computed before anything is loaded, and every way gives the same numbers."""

from dataclasses import replace

import pytest
import torch

from explorer.checkpoint.checkpoint import Checkpoint
from explorer.checkpoint.names import parameter_shapes
from explorer.checkpoint.open_checkpoint import open_checkpoint
from explorer.config import TokenizerSource
from explorer.config.hugging_face import config_from_hugging_face
from explorer.engine.device import DTYPES
from explorer.engine.engine import Phase
from explorer.engine.entries import file_entry
from explorer.engine.generation import generate
from explorer.engine.local import LocalEngine
from explorer.engine.memory import Memory
from explorer.engine.placement import Placement, fits_as_preferred, place, placement
from explorer.engine.shelf import Shelf
from explorer.errors import Cancelled, TooLarge
from explorer.model.kv_cache import KVCache
from explorer.model.llama import Llama
from explorer.model.sampling import SamplerSettings
from explorer.settings import Settings
from explorer.trace.checkpoints import run
from explorer.trace.generation import GenerationRequest
from explorer.trace.replay import replay
from explorer.trace.trace import Trace, TraceRequest
from tests.checkpoint.tiny_folders import CASES, EXPECTED, loaded
from tests.config.test_hugging_face import table
from tests.engine.test_local import wait_for

CPU, META, GPU = torch.device("cpu"), torch.device("meta"), torch.device("cuda:0")
EVERYTHING = TraceRequest(
    model="tiny", token_ids=tuple(EXPECTED["ids"]), taps=frozenset({"*"}), norms=frozenset({"*"}), scored=(0, 50)
)


def published(name: str, mapped: torch.dtype | None = None) -> Checkpoint:
    """A model of published sizes whose weights are never read."""
    tiny = open_checkpoint(CASES / "tiny_a_hf", "tiny")
    config = config_from_hugging_face(table(name), name=name)
    kinds = dict.fromkeys(parameter_shapes(config), mapped) if mapped is not None else {}
    return replace(tiny, config=config, tokenizer=TokenizerSource(format="none"), mapped=kinds)


def have(device: torch.device, gigabytes: float, count: int = 1) -> list[Memory]:
    places = [device] if count == 1 else [torch.device(device.type, index) for index in range(count)]
    return [Memory(device=place, free=int(gigabytes * 1e9)) for place in places]


def test_auto_is_wide_on_the_cpu_and_narrow_on_a_gpu() -> None:
    model = published("llama3.1-8b")
    assert placement(model, "auto", have(CPU, 64)).dtype == torch.float32
    where = placement(model, "auto", have(GPU, 24))
    assert (where.dtype, where.device, where.streamed) == (torch.bfloat16, "cuda:0", False)


def test_auto_takes_half_the_room_where_float32_does_not_fit() -> None:
    where = placement(published("llama3.1-8b"), "auto", have(CPU, 24))
    assert (where.dtype, where.streamed) == (torch.bfloat16, False)
    assert not fits_as_preferred(published("llama3.1-8b"), "auto", have(CPU, 24))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_mapped_file_in_half_precision_needs_no_memory_of_its_own(dtype: torch.dtype) -> None:
    where = placement(published("llama3.1-70b", dtype), "auto", have(CPU, 8))
    assert (where.dtype, where.streamed) == (dtype, False)


@pytest.mark.parametrize("name", DTYPES)
def test_a_precision_that_is_asked_for_is_never_replaced(name: str) -> None:
    for memory in (have(CPU, 64), have(CPU, 12), have(GPU, 80)):
        assert placement(published("llama3.1-8b"), name, memory).dtype == DTYPES[name]


@pytest.mark.parametrize(("name", "count", "each"), [("llama3.1-70b", 2, 141), ("llama3.1-70b", 4, 80),
                                                     ("llama3.1-405b", 8, 141)])  # fmt: skip
def test_a_model_larger_than_one_gpu_is_spread_over_all_whole_layer_by_whole_layer(
    name: str, count: int, each: float
) -> None:
    model, memories = published(name), have(GPU, each, count)
    where = placement(model, "auto", memories)
    assert not where.streamed and len(set(where.layers)) > 1
    assert list(where.layers) == sorted(where.layers, key=lambda device: device.index)
    needed = model.bytes_to_load(torch.bfloat16, GPU)
    for memory in memories:
        layers = [number for number, device in enumerate(where.layers) if device == memory.device]
        held = sum(needed[name] for name in needed if name.startswith("layers.") and int(name.split(".")[1]) in layers)
        if memory.device == where.outer:
            held += sum(count for name, count in needed.items() if not name.startswith("layers."))
        assert held <= memory.usable


def test_a_model_larger_than_all_gpus_is_read_layer_by_layer() -> None:
    where = placement(published("llama3.1-70b"), "auto", have(GPU, 24, 2))
    assert where.streamed and set(where.layers) == {GPU}


def test_what_cannot_even_be_streamed_is_refused_with_the_published_size_and_the_ways_out() -> None:
    with pytest.raises(TooLarge) as refusal:
        placement(published("llama3.1-70b"), "auto", have(GPU, 4))
    assert "llama3.1-70b in bfloat16 needs 141.1 GB, and 7.6 GB even if read" in refusal.value.found
    assert "cuda:0 has 3.8 GB to give" in refusal.value.found
    assert "EXPLORER_DEVICE=cpu" in refusal.value.remedy
    with pytest.raises(TooLarge) as refusal:
        placement(published("llama3.1-8b"), "float32", have(CPU, 4))
    assert "32.1 GB" in refusal.value.found and "smaller model" in refusal.value.remedy


def placed(where: Placement) -> tuple[Llama, float | None]:
    checkpoint = open_checkpoint(CASES / "tiny_a_hf", "tiny")
    with torch.device("meta"):
        model = Llama(checkpoint.config)
    return model, place(model, checkpoint, where)


def traced(model: Llama) -> Trace:
    def silent(_share: float) -> None:
        pass

    return replay(model, run(model, EVERYTHING.token_ids, silent), EVERYTHING, silent)


def test_a_streamed_model_gives_every_number_of_the_plain_one_bit_for_bit_and_keeps_no_layer() -> None:
    streamed, seconds = placed(Placement(dtype=torch.float32, outer=CPU, layers=(CPU,) * 3, streamed=True))
    assert seconds is not None and seconds > 0
    expected, found = traced(loaded(open_checkpoint(CASES / "tiny_a_hf", "tiny"))), traced(streamed)
    assert set(found.tensors) == set(expected.tensors) and len(found.tensors) > 50
    assert all(torch.equal(found.tensors[name], expected.tensors[name]) for name in expected.tensors)
    assert all(torch.equal(found.norms[name], expected.norms[name]) for name in expected.norms)
    assert all(weight.is_meta for weight in streamed.layers.parameters())
    assert not streamed.embedding.weight.is_meta and not streamed.unembedding.weight.is_meta


def test_a_streamed_run_that_is_cancelled_inside_a_layer_lets_go_and_the_next_one_runs() -> None:
    streamed, _ = placed(Placement(dtype=torch.float32, outer=CPU, layers=(CPU,) * 3, streamed=True))

    def cancel(share: float) -> None:
        if share > 0:
            raise Cancelled("Nobody waits.")

    with pytest.raises(Cancelled):
        run(streamed, EVERYTHING.token_ids, cancel)
    assert all(weight.is_meta for weight in streamed.layers.parameters())
    assert traced(streamed).tensors


def test_over_two_devices_each_layer_runs_where_it_lies_and_its_input_follows() -> None:
    # The meta device computes shapes only: enough to see that nothing meets a tensor of another device.
    where = Placement(dtype=torch.float32, outer=CPU, layers=(CPU, CPU, META))
    assert where.device == "cpu and meta"
    model, seconds = placed(where)
    assert seconds is None
    assert [next(layer.parameters()).device for layer in model.layers] == [CPU, CPU, META]
    plain = loaded(open_checkpoint(CASES / "tiny_a_hf", "tiny"))
    seen: dict[str, list[torch.Tensor]] = {"plain": [], "placed": []}
    for name, one in (("plain", plain), ("placed", model)):
        for layer in one.layers:
            layer.tap.after_feed_forward.register_forward_hook(lambda _m, _i, out, name=name: seen[name].append(out))
    with torch.inference_mode():
        plain(torch.tensor([EVERYTHING.token_ids]))
        assert model.stream(torch.tensor([EVERYTHING.token_ids])).shape == (1, 51, 64)
    assert [x.device for x in seen["placed"]] == [CPU, CPU, META]
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(seen["placed"][:2], seen["plain"][:2], strict=True))


def test_over_two_devices_each_layers_keys_and_values_lie_beside_it() -> None:
    model, _ = placed(Placement(dtype=torch.float32, outer=CPU, layers=(CPU, CPU, META)))
    cache = KVCache(model.config, 60, layers=(CPU, CPU, META))
    plain = loaded(open_checkpoint(CASES / "tiny_a_hf", "tiny"))
    with torch.inference_mode():
        for ids in (EVERYTHING.token_ids[:50], EVERYTHING.token_ids[50:]):
            assert model.stream(torch.tensor([ids]), cache).shape == (1, len(ids), 64)
        whole = KVCache(plain.config, 60)
        plain.stream(torch.tensor([EVERYTHING.token_ids]), whole)
    assert [keys.device for keys in cache.keys] == [values.device for values in cache.values] == [CPU, CPU, META]
    for kept, expected in ((cache.keys, whole.keys), (cache.values, whole.values)):
        torch.testing.assert_close(kept[1][:, :, :51], expected[1][:, :, :51], atol=1e-5, rtol=0)


def test_a_streamed_model_generates_what_the_plain_one_does() -> None:
    room = Memory(device=CPU, free=600_000)
    settings = Settings(home=CASES, dtype="float32", device="cpu")
    texts = []
    for memory in (lambda device: room, lambda device: Memory(device=CPU, free=1 << 30)):
        engine = LocalEngine(Shelf(settings, {"tiny": file_entry(CASES / "tiny_a.gguf", settings)}, memory), settings)
        engine.prepare("tiny")
        wait_for(engine, Phase.READY, model="tiny")
        request = GenerationRequest(
            model="tiny", token_ids=EVERYTHING.token_ids[:20], settings=SamplerSettings(temperature=0.0),
            uniforms=(0.5,) * 8, limit=8, context=64,
        )  # fmt: skip
        texts.append([choice.token_id for choice in generate(engine, request, "me").choices])
        assert (engine.info("tiny").seconds is None) == (memory(CPU) is not room)
    assert texts[0] == texts[1] and len(texts[0]) == 8


def test_an_engine_says_how_long_a_streamed_model_takes_and_still_shows_its_weights() -> None:
    settings = Settings(home=CASES)
    room = Memory(device=CPU, free=600_000)  # more than the tables and two layers, less than all three
    entry = file_entry(CASES / "tiny_a.gguf", replace(settings, dtype="float32"))
    shelf = Shelf(replace(settings, dtype="float32", device="cpu"), {"tiny": entry}, lambda device: room)
    engine = LocalEngine(shelf, settings)
    engine.prepare("tiny")
    wait_for(engine, Phase.READY, model="tiny")
    info = engine.info("tiny")
    assert "read layer by layer: about 1 s for every prompt" in info.source and info.seconds is not None
    plain = loaded(open_checkpoint(CASES / "tiny_a.gguf", "tiny"))
    name = "layers.2.attention.query.weight"
    assert torch.equal(engine.parameter("tiny", name, rows=(0, 5)), plain.get_parameter(name)[[0, 5]])
    assert engine.submit(EVERYTHING, "me").result().tensors
