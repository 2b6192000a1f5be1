"""The markup of the diagram: sound, named, and free of typed sizes."""

import re
from xml.etree.ElementTree import Element, fromstring

import pytest

from explorer.architecture.blueprint import Blueprint
from explorer.architecture.catalogue import PART
from explorer.architecture.plan import BLOCKS, plan
from explorer.config.known_models import known_models
from explorer.figures.diagram import Drawing, diagrams, words_on_flows

SVG = "{http://www.w3.org/2000/svg}"
BOTH = frozenset(BLOCKS)


def blueprint(model: str) -> Blueprint:
    return Blueprint(known_models()[model].config)


@pytest.fixture(scope="module")
def small() -> Blueprint:
    return blueprint("llama-3.1-8b")


def parsed(drawing: Drawing) -> list[Element]:
    return [fromstring(markup) for markup in diagrams(drawing)]


def texts(root: Element, name: str) -> list[str]:
    return [text.text or "" for text in root.iter(f"{SVG}text") if name in text.attrib["class"].split()]


@pytest.mark.parametrize("opened", [frozenset(), BOTH])
def test_every_box_is_a_named_button_in_the_order_of_the_data(small: Blueprint, opened: frozenset[str]) -> None:
    for root in parsed(Drawing(model=small, n_tokens=5, opened=opened)):
        boxes = [group for group in root.iter(f"{SVG}g") if "data-part" in group.attrib]
        assert [box.attrib["data-part"] for box in boxes] == [part.id for part in plan(small.config, opened).parts]
        for box in boxes:
            assert box.attrib["role"] == "button" and box.attrib["tabindex"] == "-1"
            part = PART[box.attrib["data-part"]]
            assert box.attrib["aria-label"].startswith(part.short) and part.title in box.attrib["aria-label"]
            assert box.find(f"{SVG}title").text
        groups = [group for group in root.iter(f"{SVG}g") if "data-toggle" in group.attrib]
        toggles = {group.attrib["data-toggle"]: group for group in groups}
        assert set(toggles) == BOTH
        assert {t.attrib["aria-expanded"] for t in toggles.values()} == {"true" if opened else "false"}
        assert root.attrib["aria-label"] and root.attrib["role"] == "group"


def test_every_arrow_says_from_where_to_where_and_what(small: Blueprint) -> None:
    drawing = Drawing(model=small, n_tokens=5, opened=BOTH)
    root = parsed(drawing)[0]
    wires = [path for path in root.iter(f"{SVG}path") if "data-from" in path.attrib]
    assert len(wires) == len(words_on_flows(drawing, BOTH))
    for wire in wires:
        assert re.fullmatch(r".+ → .+: [\d, ×]+", wire.find(f"{SVG}title").text)
    assert {wire.attrib["data-kind"] for wire in wires} == {"data", "residual", "auxiliary"}


def test_shapes_are_numbers_or_symbols(small: Blueprint) -> None:
    numbers, symbols = (
        texts(parsed(Drawing(model=small, n_tokens=5, opened=BOTH, symbols=symbols))[0], "shape")
        for symbols in (False, True)
    )
    assert len(numbers) == len(symbols)
    assert "5 × 4,096" in numbers and "32 × 5 × 128" in numbers and "8 × 5 × 128" in numbers
    assert "T × d" in symbols and "H × T × h" in symbols and "H × T × T" in symbols
    assert not any(any(character.isdigit() for character in text) for text in symbols)


def test_the_badge_counts_the_layers() -> None:
    for model, count in (("llama-3.1-8b", "×32"), ("llama-3.1-70b", "×80"), ("llama-3.1-405b", "×126")):
        names = texts(parsed(Drawing(model=blueprint(model), n_tokens=5))[0], "name")
        assert any(name.endswith(count) for name in names)


def test_a_second_size_marks_what_differs_and_only_that(small: Blueprint) -> None:
    large = blueprint("llama-3.1-70b")
    root = parsed(Drawing(model=small, other=large, n_tokens=5, opened=BOTH))[0]
    boxes = {group.attrib["data-part"]: group for group in root.iter(f"{SVG}g") if "data-part" in group.attrib}
    marked = {part for part, box in boxes.items() if "differs" in box.attrib["class"]}
    same = {"token_ids", "next_token", "rope_angles", "kv_cache", "rotary", "scores", "mask", "softmax", "mix", "silu"}
    assert not marked & same
    assert {"layer", "embedding", "attention", "query", "key", "gate", "down", "final_norm", "unembedding"} <= marked
    assert "5 × 8,192" in texts(root, "other")
    alone = parsed(Drawing(model=small, other=small, n_tokens=5))[0]
    assert "≠" not in texts(alone, "unlike")
    tied = parsed(Drawing(model=blueprint("smollm2-135m-instruct"), other=small, n_tokens=5))[0]
    assert {"tied", "its own table"} <= set(texts(tied, "note"))


def test_the_markup_holds_no_colour_and_is_small(small: Blueprint) -> None:
    for markup in diagrams(Drawing(model=small, other=blueprint("llama-3.1-405b"), n_tokens=5, opened=BOTH)):
        assert "#" not in markup.replace("url(#head-", "") and "fill=" not in markup and "style=" not in markup
        assert len(markup) < 40_000


def test_a_name_with_markup_in_it_is_only_text(small: Blueprint) -> None:
    from dataclasses import replace

    name = '<script>alert("1")</script>&'
    odd = Blueprint(replace(small.config, name=name, n_layers=1))
    root = parsed(Drawing(model=odd, n_tokens=5))[0]
    assert name in root.attrib["aria-label"]
    assert not list(root.iter(f"{SVG}script"))
