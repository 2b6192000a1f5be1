"""The attention page, on the default model."""

import math

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from explorer.analysis.attention import attention_taps, head_pattern
from explorer.cli.session import Session
from tests.pages.conftest import Open
from tests.pages.drawings import facts, sent, told

FILE = "pages/attention.py"
PROMPT = "When Mary and John went to the store, John gave a drink to Mary."


def drawn(app: AppTest, key: str) -> np.ndarray:
    """The values of a map as the browser will read them."""
    header, payload = sent(app, key)
    cells = len(header["rows"])
    return (np.frombuffer(payload, "<u2").reshape(cells, cells) / 65_535.0) ** 2 * header["largest"]


@pytest.fixture(scope="module")
def weights(default_session: Session) -> np.ndarray:
    return head_pattern(default_session.trace(PROMPT, taps=attention_taps(18)), 18, 6)


def test_the_map_that_is_sent_is_the_head_that_the_link_names(open_app: Open, weights: np.ndarray) -> None:
    app = open_app(FILE, prompt=PROMPT, layer="18", head="6")
    assert not app.exception
    np.testing.assert_allclose(drawn(app, "map"), weights, atol=2e-5)
    header, _ = sent(app, "map")
    assert header["rows"][1] == "1 ·Mary"
    mark = told(app, "map-mark")
    token = len(weights) - 1
    assert (mark["row"], mark["column"]) == (token, int(weights[token].argmax()))


def test_without_the_first_token_the_rest_adds_to_one_and_the_page_says_so(open_app: Open, weights: np.ndarray) -> None:
    app = open_app(FILE, prompt=PROMPT, layer="18", head="6", skip_first="1")
    shown = drawn(app, "map")
    assert not shown[:, 0].any()
    np.testing.assert_allclose(shown[1:].sum(1), 1, atol=1e-3)
    assert any("as the model computes it" in caption.value for caption in app.caption)
    assert facts(app, "head-facts")["On the first token"]["value"] == f"{weights[1:, 0].mean():.1%}"


def test_a_cell_that_a_link_names_is_computed_in_front_of_the_reader(open_app: Open, weights: np.ndarray) -> None:
    app = open_app(FILE, prompt=PROMPT, layer="18", head="6", token="9", source="3")
    cell = facts(app, "cell-facts")
    assert (cell["Reads"]["value"], cell["Is read"]["value"]) == ("·John", "·John")
    score = float(cell["÷ √64"]["value"])
    assert float(cell["q · k"]["value"]) / 8 == pytest.approx(score, abs=1e-4)
    assert float(cell["Softmax against its row"]["value"]) == pytest.approx(weights[9, 3], abs=1e-5)
    low, high = cell["Softmax against its row"]["note"].removeprefix("exp(").removesuffix(")").split(" − ")
    assert math.exp(float(low) - float(high)) == pytest.approx(weights[9, 3], rel=1e-3)


def test_a_source_that_lies_in_the_future_falls_back_to_the_strongest(open_app: Open, weights: np.ndarray) -> None:
    app = open_app(FILE, prompt=PROMPT, layer="18", head="6", token="3", source="9")
    assert not app.exception
    assert told(app, "map-mark")["column"] == int(weights[3, :4].argmax())


def test_who_reads_a_token_is_a_column_of_the_map(open_app: Open, weights: np.ndarray) -> None:
    app = open_app(FILE, prompt=PROMPT, layer="18", head="6", token="3", direction="read_by")
    np.testing.assert_allclose(told(app, "arcs")["values"], weights[:, 3], atol=1e-3)


def test_weighted_cells_are_lengths_in_the_stream(
    open_app: Open, default_session: Session, weights: np.ndarray
) -> None:
    app = open_app(FILE, prompt=PROMPT, layer="18", head="6", weighted="1")
    trace = default_session.trace(PROMPT, taps=attention_taps(18))
    value = trace["layers.18.attention.tap.value"][2]  # query head 6 of 9 reads key/value head 2 of 3
    output = default_session.engine.parameter(default_session.model, "layers.18.attention.output.weight")
    lengths = torch.stack([output[:, 6 * 64 : 7 * 64] @ vector for vector in value]).norm(dim=1).numpy()
    np.testing.assert_allclose(drawn(app, "map"), weights * lengths, atol=2e-5 * lengths.max())


def test_the_grid_has_a_square_for_every_head_and_marks_the_open_one(open_app: Open, weights: np.ndarray) -> None:
    app = open_app(FILE, prompt=PROMPT, layer="18", head="6")
    header, payload = sent(app, "heads")
    assert (header["rows"], header["columns"], header["size"]) == (9, 30, 32)
    pixels = np.frombuffer(payload, np.uint8).reshape(9, 30, 32, 32)
    places = np.arange(32) * len(weights) // 32
    expected = 17 * np.rint(np.sqrt(weights[np.ix_(places, places)]) * 15)
    assert np.array_equal(pixels[6, 18], expected)
    assert told(app, "heads-mark") == {"target": "heads", "row": 6, "column": 18}


def test_the_table_has_every_head_and_knows_the_induction_heads(open_app: Open, weights: np.ndarray) -> None:
    table = told(open_app(FILE, prompt=PROMPT, layer="18", head="6"), "head-table")
    assert len(table["rows"]) == 270
    titles = [column["title"] for column in table["columns"]]
    row = next(row for row in table["rows"] if row["id"] == "18-6")
    scores = dict(zip(titles, row["cells"], strict=True))
    assert "induction" in scores["Looks like"]
    assert scores["First token"] == pytest.approx(weights[1:, 0].mean(), abs=1e-4)


def test_one_token_has_a_map_and_dashes_for_scores(open_app: Open) -> None:
    app = open_app(FILE, prompt="a")
    assert not app.exception
    assert drawn(app, "map").tolist() == [[1.0]]
    rows = told(app, "head-table")["rows"]
    assert all(row["cells"][2] is None for row in rows)


def test_the_cache_is_as_small_as_the_sharing_makes_it(open_app: Open) -> None:
    cache = facts(open_app(FILE, prompt="The capital of France is"), "cache-facts")
    here = cache["Cache for these 5 tokens"]
    assert here["value"] == f"{2 * 30 * 3 * 64 * 5 * 4:,} bytes"
    assert here["note"].startswith(f"{2 * 30 * 9 * 64 * 5 * 4:,} ")


def test_a_long_prompt_is_pooled_stays_small_and_shows_the_chosen_cell_exactly(
    open_app: Open, default_session: Session
) -> None:
    prompt = "one two three four five six seven eight nine ten " * 30
    app = open_app(FILE, prompt=prompt, layer="18", head="6", token="200", source="180")
    assert not app.exception
    n_tokens = len(default_session.tokenizer.encode(prompt))
    weights = head_pattern(default_session.trace(prompt, taps=attention_taps(18)), 18, 6)
    small = drawn(app, "map")
    each = math.ceil(n_tokens / 256)
    assert small.shape[0] == math.ceil(n_tokens / each)
    assert small[50, 45] == pytest.approx(weights[50 * each : 51 * each, 45 * each : 46 * each].max(), abs=2e-5)
    mark = told(app, "window-mark")
    window = drawn(app, "window")
    assert window[mark["row"], mark["column"]] == pytest.approx(weights[200, 180], abs=2e-5)
    for key in ("map", "heads", "window", "shared"):
        assert len(app.get_by_key(key).proto.bytes) < 100_000
