"""The embedding page, on the default model."""

import pytest
import torch

from explorer.cli.session import Session
from tests.pages.conftest import Open
from tests.pages.drawings import facts, told

FILE = "pages/embedding.py"
PROMPT = "The cat sat on the mat because the cat was tired."


@pytest.fixture(scope="module")
def weight(default_session: Session) -> torch.Tensor:
    assert default_session.info.parameters > 0
    return default_session.engine.parameter(default_session.model, "embedding.weight")


@pytest.fixture(scope="module")
def ids(default_session: Session) -> list[int]:
    return list(default_session.tokenizer.encode(PROMPT).ids)


def test_the_table_shows_the_chosen_dimensions_of_every_token(
    open_app: Open, weight: torch.Tensor, ids: list[int]
) -> None:
    shown = told(open_app(FILE, prompt=PROMPT, first_dimension="100", n_dimensions="6", token="1"), "values")
    assert (shown["ids"], shown["selected"]) == (ids, 1)
    numbers = {row["name"]: row["cells"] for row in shown["rows"]}
    for dimension in range(100, 106):
        assert numbers[str(dimension)] == [f"{value:+.4f}" for value in weight[ids, dimension].tolist()]
    assert numbers["length"] == [f"{value:.4f}" for value in weight[ids].norm(dim=-1).tolist()]
    assert len(numbers) == 6 + 2


def test_one_hot_times_the_matrix_is_the_row_and_tying_is_said(open_app: Open, ids: list[int]) -> None:
    said = facts(open_app(FILE, prompt=PROMPT, token="1"), "product")
    assert said["Product − row"]["value"] == "exactly 0"
    assert said["× embedding matrix"]["note"] == f"{49_152 * 576:,} numbers"
    assert said["One-hot vector"]["value"] == f"1 at {ids[1]:,}, else 0"
    assert said["The table"]["value"] == "tied"


def test_the_nearest_tokens_are_those_of_a_plain_product(
    open_app: Open, weight: torch.Tensor, ids: list[int], default_session: Session
) -> None:
    app = open_app(FILE, prompt=PROMPT, token="1")
    row = weight[ids[1]].double()
    expected = (weight.double() @ row / weight.double().norm(dim=-1) / row.norm()).topk(16)
    tables = [frame.value for frame in app.dataframe if list(frame.value.columns) == ["rank", "id", "token", "cosine"]]
    assert tables[0]["id"].tolist() == expected.indices.tolist()
    assert tables[0]["cosine"].tolist() == pytest.approx(expected.values.tolist(), abs=1e-5)
    king, man, woman = (
        weight[default_session.tokenizer.find(text)[0]].double() for text in (" king", " man", " woman")
    )
    total = king - man + woman
    expected = (weight.double() @ total / weight.double().norm(dim=-1) / total.norm()).topk(15)
    assert tables[1]["id"].tolist() == expected.indices.tolist()


def test_the_angles_of_two_equal_tokens_are_one(open_app: Open, ids: list[int], weight: torch.Tensor) -> None:
    app = open_app(FILE, prompt=PROMPT)
    table = next(frame.value for frame in app.dataframe if "other token" in frame.value)
    assert len(table) == len(ids) * (len(ids) - 1) // 2
    same = table[(table["place"] == 1) & (table["other place"] == 8)]
    assert ids[1] == ids[8]
    assert same["cosine"].iloc[0] == pytest.approx(1)
    for row in table.sample(10, random_state=0).to_dict("records"):
        pair = weight[[ids[row["place"]], ids[row["other place"]]]].double()
        assert row["cosine"] == pytest.approx(torch.cosine_similarity(pair[0], pair[1], dim=0).item(), abs=1e-5)


def test_a_term_that_is_not_one_token_is_named_with_its_tokens(open_app: Open) -> None:
    app = open_app(FILE, term_a=" hippopotamus", term_b="")
    assert any("is not one token but" in text.value and "hippopotamus" in text.value for text in app.text)
    assert any("one text is empty" in text.value for text in app.text)
    assert not app.exception


def test_a_text_longer_than_the_model_takes_is_still_looked_up(open_app: Open, default_session: Session) -> None:
    text = "one two three " * 1_000
    app = open_app(FILE, prompt=text, token="2500")
    encoding = default_session.tokenizer.encode(text)
    assert len(encoding) > 2_048
    shown = told(app, "values")
    assert shown["first"] <= 2_500 < shown["first"] + len(shown["ids"])
    assert shown["ids"][shown["selected"]] == encoding.ids[2_500]
    assert any("are read, around the chosen one" in caption.value for caption in app.caption)
    assert not app.exception


def test_a_dimension_beyond_the_model_falls_back_to_the_last(open_app: Open) -> None:
    app = open_app(FILE, first_dimension="9999")
    assert told(app, "values")["rows"][0]["name"] == "575"
    assert app.toast
