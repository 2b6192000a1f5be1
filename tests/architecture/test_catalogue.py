"""The list of parts and flows against the model that runs."""

import re
from dataclasses import replace

import pytest
import torch

from explorer.architecture.blueprint import Blueprint, source_of
from explorer.architecture.catalogue import FLOWS, PART, PARTS
from explorer.architecture.facts import facts
from explorer.architecture.part import Flow, FlowKind, Kind, Part
from explorer.architecture.plan import BLOCKS, plan, present
from explorer.architecture.prose import FOLDER, explanation, summary
from explorer.architecture.shapes import flow_axes, in_numbers, in_symbols
from explorer.config import ModelConfig
from explorer.config.known_models import known_models
from explorer.model.attention import pattern
from explorer.model.kv_cache import KVCache
from explorer.model.llama import Llama
from explorer.model.rope import rotation_angles, rotation_speeds
from explorer.model.tap import taps_of

PUBLISHED = ("llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b")
N_TOKENS = 7


def qwen3(config: ModelConfig) -> ModelConfig:
    return replace(config, query_key_norm=True, query_key_value_bias=True)


@pytest.mark.parametrize("family", [lambda config: config, qwen3])
def test_every_parameter_belongs_to_exactly_one_part(tiny_config: ModelConfig, family) -> None:
    blueprint = Blueprint(family(tiny_config))
    owners = blueprint.owners
    assert {name: len(parts) for name, parts in owners.items() if len(parts) != 1} == {}
    assert set(owners) == {name for name, _ in blueprint.model.named_parameters()}


@pytest.mark.parametrize("model", [*PUBLISHED, "smollm2-135m-instruct"])
def test_the_parts_add_up_to_the_model(model: str) -> None:
    blueprint = Blueprint(known_models()[model].config)
    outside = sum(blueprint.parameters_of(part.id) for part in PARTS if not part.inside and part.id != "layer")
    total = outside + blueprint.config.n_layers * blueprint.parameters_of("layer")
    assert total == blueprint.parameters == sum(p.numel() for p in Llama.parameters(blueprint.model))


def test_published_totals_come_out() -> None:
    # "The Llama 3 Herd of Models" and the sizes of the published safetensors, to the unit
    totals = {name: Blueprint(known_models()[name].config).parameters for name in PUBLISHED}
    assert list(totals.values()) == [8_030_261_248, 70_553_706_496, 405_853_388_800]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.id)
def test_every_part_is_in_the_model_and_marks_lines_of_code_that_run(tiny_config: ModelConfig, part: Part) -> None:
    model = Blueprint(qwen3(tiny_config)).model
    if part.address:
        model.get_submodule(part.address.format(layer=0))
    for tap in part.taps:
        assert tap.format(layer=0) in taps_of(model)
    marked = [line for line in source_of(part.code).splitlines() if part.line in line]
    assert 1 <= len(marked) <= 3, part.id
    assert part.inside == "" or part.inside in PART


@pytest.mark.parametrize("model", PUBLISHED)
def test_shapes_on_the_arrows_are_those_of_the_tensors_that_flow(model: str) -> None:
    config = replace(known_models()[model].config, n_layers=1)
    blueprint = Blueprint(config)
    seen = run_on_meta(blueprint)
    axes = {address: tap.axes for address, tap in blueprint.taps.items()}
    for flow in present(config)[1]:
        real = shape_of_flow(flow, seen, config)
        said = in_numbers(flow_axes(flow, axes), config, N_TOKENS)
        assert said == " × ".join(f"{size:,}" for size in real), flow


def run_on_meta(blueprint: Blueprint) -> dict[str, torch.Tensor]:
    seen: dict[str, torch.Tensor] = {}
    hooks = [
        tap.register_forward_hook(lambda module, args, out, address=address: seen.__setitem__(address, out))
        for address, tap in blueprint.taps.items()
    ]
    with torch.device("meta"), torch.no_grad():
        blueprint.model(torch.zeros(1, N_TOKENS, dtype=torch.long))
    for hook in hooks:
        hook.remove()
    return seen


def shape_of_flow(flow: Flow, seen: dict[str, torch.Tensor], config: ModelConfig) -> tuple[int, ...]:
    if flow.tap:
        return tuple(seen[flow.tap.format(layer=0)].shape[1:])
    query, key = (seen[f"layers.0.attention.tap.rotated_{name}"] for name in ("query", "key"))
    if flow.source == "rope_angles":
        speeds = rotation_speeds(config.head_dim, config.rope_theta, config.rope_scaling)
        return tuple(rotation_angles(torch.arange(N_TOKENS), speeds)[0].shape)
    if flow.source == "kv_cache":
        with torch.device("meta"):
            cache = KVCache(config, N_TOKENS, device="meta")
            return tuple(cache.extend(0, key, key)[0].shape[1:])
    if flow.source in ("scores", "mask", "softmax"):
        return tuple(pattern(query[0], key[0]).shape)
    assert flow.source == "token_ids"
    return (N_TOKENS,)


def test_every_flow_joins_two_parts_and_the_data_never_flows_back() -> None:
    order = {part.id: place for place, part in enumerate(PARTS)}
    for flow in FLOWS:
        assert bool(flow.tap) != bool(flow.axes)
        assert order[flow.source] < order[flow.target] or flow.kind is FlowKind.AUXILIARY
    ends = {flow.source for flow in FLOWS} | {flow.target for flow in FLOWS}
    assert ends == {part.id for part in PARTS} - {"layer", *BLOCKS}


def test_one_who_starts_at_the_ids_reaches_the_next_token_through_every_part() -> None:
    for opened in ((), BLOCKS):
        drawn = plan(known_models()["llama-3.1-8b"].config, opened)
        reached, frontier = {"token_ids", "rope_angles"}, {"token_ids", "rope_angles"}
        while frontier:
            frontier = {flow.target for flow in drawn.flows if flow.source in frontier} - reached
            reached |= frontier
        assert reached == {part.id for part in drawn.parts} - drawn.opened


def test_a_llama_has_no_head_norms_and_its_arrows_pass_straight_by(tiny_config: ModelConfig) -> None:
    parts, flows = present(tiny_config)
    assert not any(part.optional for part in parts)
    straight = {(flow.source, flow.target, flow.tap.rpartition(".")[2]) for flow in flows}
    assert {("query", "rotary", "query"), ("key", "rotary", "key")} <= straight
    with_norms = present(qwen3(tiny_config))[0]
    assert {part.id for part in with_norms} - {part.id for part in parts} == {"query_norm", "key_norm"}


def test_every_symbol_stands_for_one_length() -> None:
    assert in_symbols(("head", "token", "head_dim")) == "H × T × h"
    assert in_symbols(("token", "d_model")) == "T × d"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.id)
@pytest.mark.parametrize("family", [lambda config: config, qwen3])
def test_every_part_has_words_whose_facts_exist(tiny_config: ModelConfig, part: Part, family) -> None:
    values = facts(Blueprint(family(tiny_config)), N_TOKENS)
    said = summary(part.id, values)
    assert said.endswith(".") and "@" not in said and len(said) < 260
    words = explanation(part.id, values)
    assert "@" not in words and words.count("$$") == 2 and len(words) > 250


def test_no_word_holds_a_number_that_a_size_holds() -> None:
    sizes = {number for known in known_models().values() for number in numbers_of(known.config)} - {0.0, 1.0, 2.0}
    texts = {path.name: path.read_text("utf-8") for path in (FOLDER / "parts").glob("*.md")}
    texts |= {f"{part.id} in the catalogue": f"{part.title} {part.label} {part.note}" for part in PARTS}
    for name, text in texts.items():
        names_of_matrices = re.sub(r"`w[123]`|\(0, 1\), \(2, 3\)|float(16|32|64)|Qwen[23]|Llama 3.1|GPT-2", "", text)
        said = {float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", names_of_matrices)}
        assert not said & sizes, (name, said & sizes)
    assert {path.stem for path in (FOLDER / "parts").glob("*.md")} == set(PART)


def numbers_of(config: ModelConfig) -> set[float]:
    held = {float(value) for value in vars(config).values() if isinstance(value, int | float)}
    scaling = vars(config.rope_scaling) if config.rope_scaling else {}
    return held | {float(value) for value in scaling.values() if isinstance(value, int | float)}


def test_every_category_is_used() -> None:
    assert {part.kind for part in PARTS} == set(Kind)
