"""Links and views."""

from dataclasses import fields
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.ui.view import MAX_CHARACTERS, UnusableValueError, View

PROMPTS = st.text(st.characters(codec="utf-8"), max_size=400)


def through_a_link(view: View) -> View:
    """What a browser that opens the view's link sees."""
    params = dict(parse_qsl(urlencode(view.params()), keep_blank_values=True))
    parsed, problems = View.parse(params)
    assert not problems
    return parsed


@given(prompt=PROMPTS, token=st.integers(-1, 5000), temperature=st.floats(0, 5), seed=st.integers(0, 2**31 - 1))
def test_a_link_brings_back_the_view(prompt: str, token: int, temperature: float, seed: int) -> None:
    view = View().changed(prompt=prompt, token=token, temperature=temperature, seed=seed)
    assert view.prompt == prompt
    assert through_a_link(view) == view


@given(st.dictionaries(st.sampled_from([each.name for each in fields(View)] + ["v", "unknown"]), st.text(max_size=30)))
def test_no_link_raises_and_what_cannot_be_used_falls_back(params: dict[str, str]) -> None:
    view, problems = View.parse(params)
    assert through_a_link(view) == view
    for each in fields(View):
        if any(problem.startswith(f"{each.name} ") for problem in problems):
            assert getattr(view, each.name) == each.default


def test_defaults_are_not_written() -> None:
    assert View().params() == {}
    assert View().changed(layer=3).params() == {"layer": "3"}


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"layer": "abc"}, "layer is not a whole number"),
        ({"layer": "-1"}, "layer must be between 0"),
        ({"temperature": "nan"}, "temperature must be between 0 and 5"),
        ({"top_p": "1.5"}, "top_p must be between 0 and 1"),
        ({"model": "../../etc/passwd"}, "model is not the id of a model"),
        ({"model": "/etc/passwd"}, "model is not the id of a model"),
        ({"prompt": "z.AAAA"}, "prompt could not be unpacked"),
        ({"v": "99"}, "another version"),
    ],
)
def test_each_bad_value_is_named(params: dict[str, str], problem: str) -> None:
    view, problems = View.parse(params)
    assert view == View()
    assert len(problems) == 1
    assert problem in problems[0]


def test_unknown_parameters_are_ignored() -> None:
    assert View.parse({"unknown": "1", "embed": "true"}) == (View(), [])


def test_a_packed_bomb_is_refused() -> None:
    import base64
    import zlib

    bomb = base64.urlsafe_b64encode(zlib.compress(b"a" * 50_000_000, 9)).decode().rstrip("=")
    view, problems = View.parse({"prompt": f"z.{bomb}"})
    assert view.prompt == View().prompt
    assert "the limit is" in problems[0]


def test_a_prompt_at_the_limit_travels_and_one_more_does_not() -> None:
    view = View().changed(prompt="é" * MAX_CHARACTERS)
    assert through_a_link(view) == view
    with pytest.raises(UnusableValueError, match="the limit is"):
        View().changed(prompt="é" * (MAX_CHARACTERS + 1))


def test_a_link_from_the_issue_tracker_is_read_byte_for_byte() -> None:
    prompt = "a&b=c#d 50% + 1 🦙 naïve"
    query = "a%26b%3Dc%23d+50%25+%2B+1+%F0%9F%A6%99+na%C3%AFve"
    assert urlencode(View().changed(prompt=prompt).params()) == f"prompt={query}"
    assert View.parse(dict(parse_qsl(f"prompt={query}")))[0].prompt == prompt


@pytest.mark.parametrize(("token", "n_tokens", "place"), [(-1, 5, 4), (0, 5, 0), (4, 5, 4), (5, 5, 4), (99, 1, 0)])
def test_the_selected_token_is_one_that_is_there(token: int, n_tokens: int, place: int) -> None:
    assert View(token=token).place(n_tokens) == place
