"""What every page does with a link."""

import json
import subprocess
import sys

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import ROOT, Open

FILES = ["app.py", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "pages").glob("*.py"))]


def chips(app: AppTest) -> dict[str, object]:
    """What the token strip was told to draw."""
    data: dict[str, object] = json.loads(app.get_by_key("tokens").proto.json)
    return data


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("prompt", ["The capital of France is", "a", "🦙 naïve\n\t  $5 *a* <b>x</b> | [x](y)"])
def test_a_page_shows_any_prompt_without_an_error(open_app: Open, file: str, prompt: str) -> None:
    app = open_app(file, prompt=prompt)
    assert not app.exception
    assert "named-error" not in str(app)
    assert app.text_area[0].value == prompt


@pytest.mark.parametrize("file", FILES)
def test_an_empty_prompt_is_answered_in_words(open_app: Open, file: str) -> None:
    app = open_app(file, prompt="")
    assert not app.exception
    assert app.text_area[0].value == ""


@pytest.mark.parametrize("file", FILES)
def test_a_bad_link_shows_the_default_and_says_so(open_app: Open, file: str) -> None:
    app = open_app(file, layer="999", head="-1", temperature="hot", seed="abc", token="77")
    assert not app.exception
    assert app.toast
    assert any("could not be used" in toast.value for toast in app.toast)


@pytest.mark.parametrize("file", FILES)
def test_an_unknown_model_is_named_and_nothing_is_lost(open_app: Open, file: str) -> None:
    app = open_app(file, model="no-such-model", prompt="keep me")
    assert not app.exception
    assert app.text_area[0].value == "keep me"
    assert any("no-such-model" in text.value for text in app.text)


def test_a_slider_writes_its_value_into_the_address(open_app: Open) -> None:
    app = open_app("pages/sampling.py", temperature="0.3")
    slider = next(each for each in app.slider if each.label == "Temperature")
    assert slider.value == 0.3
    slider.set_value(1.2).run()
    assert app.query_params["temperature"] in ("1.2", ["1.2"])
    app.text_area[0].set_value("Once upon a time").run()
    slider = next(each for each in app.slider if each.label == "Temperature")
    assert slider.value == 1.2


def test_draw_again_moves_to_the_next_draw(open_app: Open) -> None:
    app = open_app("pages/sampling.py")
    app.button[0].click().run()
    assert app.query_params["draw"] in ("2", ["2"])


def test_the_snippets_of_all_pages_run_as_they_stand(open_app: Open) -> None:
    snippets = [code.value for file in FILES for code in open_app(file).code if "explorer.cli.session" in code.value]
    assert len(snippets) >= 3
    script = "\n".join(snippets)
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "·Paris" in ran.stdout
