"""The cost page without a browser."""

import json
import subprocess
import sys
import time

import pytest
from streamlit.testing.v1 import AppTest

from tests.conftest import DATA
from tests.pages.conftest import ROOT, Open

PAGE = "pages/cost.py"
CONFIGS = DATA / "cases" / "files" / "configs"


def tiles(app: AppTest, key: str) -> dict[str, dict[str, str]]:
    """What a list of facts was told to show."""
    facts = json.loads(app.get_by_key(key).proto.json)["facts"]
    return {fact["name"]: fact for fact in facts}


def test_a_known_model_is_counted_to_the_unit(open_app: Open) -> None:
    app = open_app(PAGE, counted="llama-3.1-8b", at_context="131072")
    summary = tiles(app, "cost-summary")
    assert summary["Parameters"]["note"] == "8,030,261,248"
    assert summary["Cache at 131,072"]["value"] == "16 GiB"
    assert "15,009,316,864 with matrices" in summary["Operations of a token"]["note"]  # case K08
    files = tiles(app, "cost-parameters")["Numbers in its files"]
    assert (files["value"], files["note"]) == ("8,030,261,248", "differs from this count by 0")


def test_the_buffers_of_an_old_file_are_told_apart(open_app: Open) -> None:
    files = tiles(open_app(PAGE, counted="llama-2-7b"), "cost-parameters")["Numbers in its files"]
    assert (files["value"], files["note"]) == ("6,738,417,664", "2,048 of them buffers, not learned")  # case K02


def test_the_running_model_is_held_against_its_loaded_weights(open_app: Open) -> None:
    files = tiles(open_app(PAGE), "cost-parameters")["Numbers in its files"]
    assert (files["value"], files["note"]) == ("134,515,008", "differs from this count by 0")


@pytest.mark.parametrize("counted", ["running", "gpt-2-small", "mixtral-8x7b", "mistral-7b-v0.1", "gemma-2-9b"])
def test_every_kind_of_model_is_shown(open_app: Open, counted: str) -> None:
    app = open_app(PAGE, counted=counted, precision="int4", batch="16", accelerator="l4")
    assert not app.exception and not app.toast
    assert len(app.get("plotly_chart")) == 4


def test_a_pasted_configuration_is_counted_and_stays_in_the_link(open_app: Open) -> None:
    app = open_app(PAGE, counted="pasted")
    assert not app.exception and not app.get("plotly_chart")
    app.text_area[1].set_value((CONFIGS / "qwen2.5-7b.json").read_text()).run()
    assert tiles(app, "cost-summary")["Parameters"]["note"] == "7,615,616,512"  # case C10
    packed = "".join(app.query_params["description"])
    assert packed.startswith("z.") and len(packed) < 600


@pytest.mark.parametrize(("text", "words"), [("{", "not JSON"), ('{"model_type": "mamba"}', "'mamba'")])
def test_a_description_that_cannot_be_counted_is_refused_in_words(open_app: Open, text: str, words: str) -> None:
    app = open_app(PAGE, counted="pasted", description=text)
    assert not app.exception
    assert any(words in each.value for each in app.text)
    assert app.text_area[1].value == text


def test_figures_of_a_machine_can_be_replaced(open_app: Open) -> None:
    slow = tiles(open_app(PAGE, counted="llama-3.1-8b", bandwidth="1"), "cost-times")["One new token"]
    assert slow["value"] == "16.1 s"  # 16 GB at one GB a second


def test_a_model_or_machine_that_is_not_listed_falls_back_and_is_told(open_app: Open) -> None:
    app = open_app(PAGE, counted="no-such-model", accelerator="abacus")
    assert not app.exception
    assert len(app.toast) == 2


def test_the_snippets_run_as_they_stand(open_app: Open) -> None:
    app = open_app(PAGE, counted="llama-3.1-8b")
    snippets = [code.value for code in app.code if "sizes = " in code.value]
    assert len(snippets) == 5
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(snippets)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "58720256" in ran.stdout


def test_another_context_is_drawn_within_a_second(open_app: Open) -> None:
    app = open_app(PAGE, counted="llama-3.1-405b")
    began = time.perf_counter()
    next(each for each in app.number_input if each.label == "Tokens in the context").set_value(1000).run()
    assert not app.exception and time.perf_counter() - began < 3
