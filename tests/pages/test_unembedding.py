"""The unembedding page, on the default model."""

import numpy as np
import pytest

from explorer.cli.attribution import attributed
from explorer.cli.lens import readings
from explorer.cli.session import Session
from tests.pages.conftest import Open
from tests.pages.drawings import facts, sent, told

FILE = "pages/unembedding.py"
PROMPT = "The capital of France is"
LONG = "one two three four five six seven eight nine ten eleven twelve"


def test_the_grid_holds_every_reading_of_a_short_text(open_app: Open, default_session: Session) -> None:
    app = open_app(FILE, prompt=PROMPT)
    header, payload = sent(app, "lens")
    shape = (len(header["rows"]), len(header["columns"]))
    count = shape[0] * shape[1]
    found = readings(default_session, PROMPT)
    assert shape == found.top_ids.shape[:2]
    shares = np.frombuffer(payload, "<f4", count).reshape(shape)
    assert shares == pytest.approx(found.top_p[..., 0].numpy(), abs=1e-4)
    names = np.frombuffer(payload, "<u2", count, 8 * count).reshape(shape)
    labels = [default_session.tokenizer.label(each) for each in found.top_ids[..., 0].flatten().tolist()]
    assert [header["labels"][name] for name in names.flatten()] == labels
    assert told(app, "lens-mark") == {"target": "lens", "row": shape[0] - 1, "column": shape[1] - 1}


def test_of_a_long_text_one_token_is_read_until_more_is_asked_for(open_app: Open) -> None:
    def read(whole: str) -> int:
        header, payload = sent(open_app(FILE, prompt=LONG, token="3", whole=whole), "lens")
        shape = (len(header["rows"]), len(header["columns"]))
        shades = np.frombuffer(payload, "u1", shape[0] * shape[1], 10 * shape[0] * shape[1]).reshape(shape)
        return int((shades > 0).all(axis=0).sum())

    assert read("0") == 1
    assert read("1") == 12


def test_the_parts_add_up_to_the_models_number(open_app: Open, default_session: Session) -> None:
    said = facts(open_app(FILE, prompt=PROMPT, layer="20", rival="London"), "part-facts")
    assert said["Score of"]["value"] == "·Paris less ·London"
    found, _ = attributed(default_session, PROMPT, token=7042, against=4528, layer=20)
    assert float(said["The model's number"]["value"]) == pytest.approx(found.logit, abs=1e-4)
    assert float(said["The model's number"]["value"]) == pytest.approx(17.3713 - 13.245, abs=2e-3)  # case G01
    assert float(said["Sum of all parts"]["note"].removeprefix("apart by ")) < 4e-3


def test_a_token_that_is_none_is_told_and_the_answer_stands_in(open_app: Open) -> None:
    app = open_app(FILE, prompt=PROMPT, answer="antidisestablishment")
    assert any("is no single token" in text.value for text in app.text)
    assert facts(app, "part-facts")["Score of"]["value"] == "·Paris"


def test_the_chosen_depth_says_what_is_likeliest_with_and_without_the_norm(open_app: Open) -> None:
    app = open_app(FILE, prompt=PROMPT)
    assert any(text.value == "Likeliest here: ·Paris with the final norm, reponame without it." for text in app.text)


def test_the_probabilities_add_to_1(open_app: Open) -> None:
    assert float(facts(open_app(FILE, prompt=PROMPT), "score-facts")["Sum of all p"]["value"]) == pytest.approx(1)
