"""The tokenizer page, on the default model's vocabulary and the others."""

from typing import Any

import pytest

from explorer.analysis.languages import article_1
from explorer.cli.session import tokenizer_named
from explorer.engine.engine import Phase
from explorer.tokenizer.tokenizer import MAX_CHARACTERS
from explorer.ui import resources
from tests.pages.conftest import Open
from tests.pages.drawings import facts, told

FILE = "pages/tokenizer.py"
NAMES = ["SmolLM2-135M-Instruct", "Llama 3.1", "cl100k_base", "o200k_base"]


@pytest.fixture(autouse=True, scope="module")
def llama3_is_here(explorer_home: object) -> None:
    engine = resources.engine()
    engine.prepare("llama3")
    while engine.state("llama3").phase is Phase.LOADING:
        pass


@pytest.mark.parametrize("name", ["llama3", "cl100k_base", "o200k_base"])
def test_t01_every_vocabulary_draws_the_chips_of_the_case(open_app: Open, name: str, cases: dict[str, Any]) -> None:
    text = cases["T01"]["input"]["text"]
    app = open_app(FILE, prompt=text, vocabulary=name, bos="off", token="1")
    expected = cases["T01"]["expected"]["per_encoding"][name]["ids"]
    assert told(app, "tokens")["captions"] == [str(each) for each in expected]
    assert facts(app, "token-facts")["Kind"]["value"] == "byte fragment"
    assert "together with token" in facts(app, "token-facts")["Characters"]["note"]


def test_all_four_counts_stand_side_by_side(open_app: Open, cases: dict[str, Any]) -> None:
    text = "What is 3333+777?"
    app = open_app(FILE, prompt=text, bos="off")
    table = next(frame.value for frame in app.dataframe if "characters_per_token" in frame.value)
    assert table["vocabulary"].tolist() == NAMES
    assert table["tokens"].tolist()[1:] == [cases["T05"]["expected"][name]["count"] for name in
                                            ("llama3", "cl100k_base", "o200k_base")]  # fmt: skip


def test_the_piece_of_the_chosen_token_is_replayed_forward_and_back(open_app: Open) -> None:
    app = open_app(FILE, prompt="A hippopotamus", vocabulary="llama3", bos="off", token="2")
    assert told(app, "pieces")["labels"] == ["A", "·hippopotamus"]
    assert told(app, "merge")["parts"] == list("·hippopotamus")

    def click(label: str) -> None:
        next(button for button in app.button if button.label == label).click().run()

    steps = tokenizer_named("llama3").merge_steps(" hippopotamus")
    click("Next merge")
    assert len(told(app, "merge")["parts"]) == len("·hippopotamus") - 1
    assert app.query_params["step"] in ("1", ["1"])
    click("Tokens")
    assert told(app, "merge")["parts"] == ["·hipp", "opot", "amus"]
    assert told(app, "merge")["ids"] == [44_656, 89_490, 56_455]
    click("Back")
    assert told(app, "merge")["parts"] == [part.decode().replace(" ", "·") for part in steps[-2].parts]
    click("Bytes")
    assert told(app, "merge")["parts"] == list("·hippopotamus")
    assert facts(app, "merge-facts")["Replay gives the same ids"]["value"] == "2 of 2 different pieces"


@pytest.mark.parametrize(
    ("lookup", "name", "value"),
    [
        ("7042", "Id 7042", "·Paris"),
        ("99999999", "Id 99999999", "no such token"),
        ("Paris", "With a space before it", "id 7,042"),
        (" Paris", "The token", "id 7,042"),
        ("<|im_end|>", "Special token", "2"),
        ("unbelievable hippopotamus", "The token", "no such token"),
        ("", "As text it is cut into", "0 tokens"),
    ],
)
def test_an_id_or_a_text_is_looked_up(open_app: Open, lookup: str, name: str, value: str) -> None:
    assert facts(open_app(FILE, lookup=lookup), "lookup")[name]["value"] == value


def test_an_unused_row_is_named_in_the_look_up(open_app: Open) -> None:
    fact = facts(open_app(FILE, lookup="100256", vocabulary="cl100k_base"), "lookup")["Id 100256"]
    assert fact["value"] == "no such token" and "unused row" in fact["note"]


def test_a_sentence_in_another_language_shows_what_it_costs(open_app: Open) -> None:
    app = open_app(FILE, vocabulary="o200k_base")
    table = told(app, "languages")
    titles = [column["title"] for column in table["columns"]]
    assert titles[2:6] == NAMES
    rows = {row["id"]: row["cells"] for row in table["rows"]}
    tokenizer = tokenizer_named("o200k_base")
    english = len(tokenizer.encode(article_1()["English"]))
    for language, text in article_1().items():
        assert rows[language][5] == len(tokenizer.encode(text))
        assert rows[language][1] == pytest.approx(len(tokenizer.encode(text)) / english, rel=1e-4)


def test_special_tokens_are_a_switch(open_app: Open) -> None:
    text = "<|im_start|>user"
    assert len(told(open_app(FILE, prompt=text), "tokens")["labels"]) > 5
    app = open_app(FILE, prompt=text, special="1")
    assert told(app, "tokens")["kinds"] == ["special", "word"]


def test_a_long_text_is_drawn_in_part_and_counted_whole(open_app: Open) -> None:
    text = "🦙" * 5_000
    app = open_app(FILE, prompt=text, token="9000")
    strip = told(app, "tokens")
    assert (
        strip["count"]
        == len(tokenizer_named().encode(text))
        == int(facts(app, "counts")["Tokens"]["value"].replace(",", ""))
    )
    assert len(strip["labels"]) == 4_096
    assert strip["first"] <= 9_000 < strip["first"] + 4_096
    assert max(len(frame.value) for frame in app.dataframe) <= 1_000


def test_a_million_characters_are_counted_and_one_more_is_refused(open_app: Open, cases: dict[str, Any]) -> None:
    app = open_app(FILE)
    app.text_area(key="longer-text").set_value("^" * MAX_CHARACTERS).run(timeout=60)
    expected = cases["T08"]["expected"]["'^'*1e6"]
    said = facts(app, "longer-counts")
    for name, vocabulary in zip(NAMES[1:], ("llama3", "cl100k_base", "o200k_base"), strict=True):
        assert said[name]["value"] == f"{expected[vocabulary]:,} tokens"
    app.text_area(key="longer-text").set_value("^" * (MAX_CHARACTERS + 1)).run(timeout=60)
    assert any("1,000,001 characters; at most 1,000,000" in text.value for text in app.text)
    assert not app.exception
