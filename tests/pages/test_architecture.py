"""The architecture page without a browser."""

import json
import time

import pytest
from streamlit.testing.v1 import AppTest

from explorer.architecture.catalogue import PARTS
from explorer.architecture.plan import BLOCKS
from tests.pages.conftest import Open

FILE = "pages/architecture.py"


def data(app: AppTest, key: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(app.get_by_key(key).proto.json)
    return found


def fact_values(app: AppTest, key: str) -> dict[str, str]:
    return {fact["name"]: fact["value"] for fact in data(app, key)["facts"]}  # type: ignore[attr-defined]


@pytest.mark.parametrize("part", [part.id for part in PARTS if not part.optional])
def test_every_part_has_its_panel(open_app: Open, part: str) -> None:
    app = open_app(FILE, part=part, layer="3", head="4")
    assert not app.exception and not app.toast
    assert data(app, "diagram-mark")["part"] == part
    assert f'data-part="{part}"' in str(data(app, "diagram")["wide"])
    assert app.code[-1].value.count("# ← here") >= 1


def test_the_layer_slider_shows_another_tensor_of_the_same_run(open_app: Open) -> None:
    shown = [data(open_app(FILE, part="attention", layer=layer), "strip-output")["values"] for layer in ("0", "29")]
    assert shown[0] != shown[1]


def test_a_size_without_weights_shows_counts_and_no_numbers_of_a_run(open_app: Open) -> None:
    app = open_app(FILE, size="llama-3.1-405b", part="feed_forward")
    assert not app.exception
    assert fact_values(app, "model-facts")["Parameters"] == "406 billion"
    assert fact_values(app, "part-facts")["Parameters"] == f"{3 * 16384 * 53248:,}"
    assert not [each for each in app.get("bidi_component") if "strip" in str(each)] or "strip-output" not in str(app)
    assert any("no invented numbers" in caption.value for caption in app.caption)


def test_two_sizes_stand_side_by_side(open_app: Open) -> None:
    app = open_app(FILE, size="llama-3.1-8b", against="llama-3.1-70b")
    table = app.dataframe[0].value
    layers = table[table["Fact"] == "Layers"].iloc[0].tolist()
    assert layers == ["≠", "Layers", "32", "80"]
    assert "×32  |  ×80" in str(data(app, "diagram")["wide"])


def test_an_unknown_size_falls_back_and_says_so(open_app: Open) -> None:
    app = open_app(FILE, size="llama-9", against="llama-9")
    assert not app.exception
    assert any("size" in toast.value for toast in app.toast)


def test_a_part_inside_a_block_opens_it(open_app: Open) -> None:
    app = open_app(FILE, part="softmax")
    markup = str(data(app, "diagram")["wide"])
    assert 'data-part="softmax"' in markup and 'data-part="silu"' not in markup
    both = str(data(open_app(FILE, inside="both"), "diagram")["wide"])
    assert len(BLOCKS) == both.count('aria-expanded="true"')


def test_a_choice_changes_the_address(open_app: Open) -> None:
    app = open_app(FILE)
    app.selectbox[0].set_value("llama-3.1-70b").run()
    assert app.query_params["size"] in ("llama-3.1-70b", ["llama-3.1-70b"])
    app.radio[0].set_value("symbols").run()
    assert app.query_params["shapes"] in ("symbols", ["symbols"])
    assert not app.exception


def test_a_warm_page_is_quick(open_app: Open) -> None:
    open_app(FILE, size="llama-3.1-405b")
    began = time.perf_counter()
    open_app(FILE, size="llama-3.1-405b")
    assert time.perf_counter() - began < 1.5
