"""The questions of the guided tour, answered by other means."""

import math

import pytest
import torch

from explorer.analysis.tour import NORMS, STOPS, Seen, look_layer, tour_taps
from explorer.cli.session import Session
from explorer.ui.navigation import PAGES

PROMPTS = ["The capital of France is", "a", "The quick brown fox jumps over the lazy dog and then it sleeps all day"]


def seen_by(session: Session, prompt: str) -> Seen:
    config = session.card.config
    trace = session.trace(prompt, taps=tour_taps(config), norms=NORMS)
    tokens = session.tokenizer.encode(prompt).tokens
    return Seen(
        trace=trace, labels=[token.label for token in tokens], config=config, text=prompt, label=session.tokenizer.label
    )


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.title)
def test_every_stop_asks_something_that_has_one_answer(default_session: Session, prompt: str, stop) -> None:
    question = stop.ask(seen_by(default_session, prompt))
    assert len(question.options) == len(question.values) >= 1
    assert len(set(question.options)) == len(question.options)
    assert 0 <= question.answer < len(question.options)
    assert all(math.isfinite(value) for value in question.values)
    assert stop.page in PAGES


def answer(session: Session, title: str) -> str:
    stop = next(stop for stop in STOPS if stop.title == title)
    question = stop.ask(seen_by(session, PROMPTS[0]))
    return question.options[question.answer]


def test_the_answers_are_those_of_the_run(default_session: Session) -> None:
    assert answer(default_session, "Text becomes pieces") == "5"
    assert answer(default_session, "Layers add, nothing is erased") == "0: The"
    assert answer(default_session, "Size is tamed before reading") == "24.0"  # the square root of 576
    assert answer(default_session, "The last vector speaks") == "·Paris"
    assert answer(default_session, "One token is drawn") == "2"
    assert answer(default_session, "Heads share their keys") == f"{2 * 30 * 3 * 64 * 5 * 4 / 1024:,.0f} KiB"


def test_the_most_read_token_is_that_of_an_explicit_softmax(default_session: Session) -> None:
    layer = look_layer(default_session.card.config)
    taps = {f"layers.{layer}.attention.tap.rotated_query", f"layers.{layer}.attention.tap.rotated_key"}
    trace = default_session.trace(PROMPTS[0], taps=taps)
    query = trace[f"layers.{layer}.attention.tap.rotated_query"][0, -1].double()
    keys = trace[f"layers.{layer}.attention.tap.rotated_key"][0].double()
    shares = torch.softmax(keys @ query / math.sqrt(len(query)), 0)
    stop = next(stop for stop in STOPS if stop.title == "Tokens read tokens")
    question = stop.ask(seen_by(default_session, PROMPTS[0]))
    assert question.values == pytest.approx(shares.tolist(), abs=1e-6)
    assert question.answer == int(shares.argmax())


def test_each_stop_is_a_page_of_the_navigation() -> None:
    assert 8 <= len(STOPS) <= 12
