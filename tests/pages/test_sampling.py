"""The sampling page, on the default model."""

import pytest

from tests.pages.conftest import Open
from tests.pages.drawings import facts

FILE = "pages/sampling.py"
PROMPT = "The capital of France is"


def test_any_token_can_be_looked_up(open_app: Open) -> None:
    app = open_app(FILE, prompt=PROMPT, lookup="London")
    said = facts(app, "lookup-4528")  # case G01
    assert said["Rank"]["value"] == "3"
    assert float(said["p"]["value"]) == pytest.approx(0.012471, abs=1e-4)
    assert float(said["Logit"]["value"]) == pytest.approx(13.245, abs=2e-3)


def test_what_the_filters_cut_is_said_of_a_token_that_was_looked_up(open_app: Open) -> None:
    app = open_app(FILE, prompt=PROMPT, lookup="#4528", top_k="2")
    assert facts(app, "lookup-4528")["q"] == {"name": "q", "value": "0", "note": "cut", "literal": False}


def test_order_and_tie_rule_are_named(open_app: Open) -> None:
    app = open_app(FILE, prompt=PROMPT)
    rule = next(caption.value for caption in app.caption if caption.value.startswith("The order is"))
    assert "temperature, softmax, top-k, top-p, min-p, renormalise, draw" in rule
    assert "At an exact tie top-p keeps one token more" in rule


def test_every_stage_says_how_many_tokens_it_leaves(open_app: Open) -> None:
    app = open_app(FILE, prompt=PROMPT, top_k="5", top_p="0.8")
    heads = [markdown.value for markdown in app.markdown]
    assert "**3. Softmax: p**: 49,152 tokens" in heads
    assert "**4. Top-k**: 5 tokens" in heads
    assert "**5. Top-p**: 1 token" in heads  # the likeliest of five holds 0.89 of what they hold


def test_the_probabilities_of_the_kept_tokens_add_to_1(open_app: Open) -> None:
    app = open_app(FILE, prompt=PROMPT, top_p="0.9", temperature="1.5")
    assert float(facts(app, "sampling-facts")["Sum of q"]["value"]) == pytest.approx(1)
