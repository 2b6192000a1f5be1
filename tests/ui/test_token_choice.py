"""Which token a reader means."""

import pytest

from explorer.cli.session import Session
from explorer.tokenizer.tokenizer import Tokenizer
from explorer.ui.token_choice import chosen_token


@pytest.fixture(scope="module")
def tokenizer(default_session: Session) -> Tokenizer:
    return default_session.tokenizer


def test_a_word_is_meant_with_the_space_that_it_is_predicted_with(tokenizer: Tokenizer) -> None:
    choice = chosen_token(tokenizer, "Paris")
    assert choice.id is not None and tokenizer.label(choice.id) == "·Paris"
    assert [tokenizer.label(other) for other in choice.others] == ["Paris"]


def test_an_id_is_meant_by_its_number(tokenizer: Tokenizer) -> None:
    assert chosen_token(tokenizer, "#7042").id == 7042
    assert "0 to 49,151" in chosen_token(tokenizer, "#49152").problem


def test_a_special_token_can_be_named(tokenizer: Tokenizer) -> None:
    choice = chosen_token(tokenizer, "<|im_end|>")
    assert choice.id == 2


def test_what_is_no_token_is_shown_as_it_is_cut(tokenizer: Tokenizer) -> None:
    choice = chosen_token(tokenizer, "antidisestablishment")
    assert choice.id is None
    assert " | " in choice.problem


def test_an_empty_text_names_nothing(tokenizer: Tokenizer) -> None:
    choice = chosen_token(tokenizer, "")
    assert (choice.id, choice.problem) == (None, "")
