"""The pages about the stream, the norms and the positions: what they print is what holds."""

import numpy as np
import pytest

from tests.pages.conftest import Open
from tests.pages.drawings import facts, told


def number(text: str) -> float:
    return float(text.split()[0].replace(",", ""))


def test_the_account_of_the_default_prompt_adds_up_on_the_page(open_app: Open) -> None:
    app = open_app("pages/residual_stream.py", depth="24", token="0")
    assert not app.exception
    account = facts(app, "account-facts")
    assert number(account["Embedding + all writes"]["value"]) < 0.02
    assert number(account["The bars add up to"]["value"]) == pytest.approx(4990.663, rel=1e-3)  # case S01
    vector = facts(app, "vector-facts")
    assert number(vector["L2 length"]["value"]) == pytest.approx(22712.328, rel=1e-3)
    assert number(vector["Root mean square"]["value"]) == pytest.approx(22712.328 / 24, rel=1e-3)
    assert vector["Largest dimension"]["value"] == "507"


def test_the_grid_of_lengths_leaves_out_the_first_token_when_told_to(open_app: Open) -> None:
    assert told(open_app("pages/residual_stream.py"), "norm-grid")["shape"] == [5, 61]
    hidden = told(open_app("pages/residual_stream.py", skip_first="1"), "norm-grid")
    assert hidden["shape"] == [4, 61]
    assert hidden["selected"] == [3, 60]


@pytest.mark.parametrize("token", ["0", "-1"])
def test_one_token_alone_has_a_stream_too(open_app: Open, token: str) -> None:
    app = open_app("pages/residual_stream.py", prompt="a", skip_first="1", token=token)
    assert not app.exception
    assert told(app, "norm-grid")["shape"] == [1, 61]


def test_the_first_token_can_be_chosen_while_it_is_hidden(open_app: Open) -> None:
    app = open_app("pages/residual_stream.py", skip_first="1", token="0")
    assert not app.exception
    assert told(app, "norm-grid")["selected"] == [0, 60]


@pytest.mark.parametrize("norm", ["attention", "feed_forward", "final"])
def test_the_page_prints_how_near_its_norm_is_to_the_models(open_app: Open, norm: str) -> None:
    app = open_app("pages/normalization.py", norm=norm, layer="7")
    assert not app.exception
    assert number(facts(app, "norm-facts")["The model's own result"]["value"]) < 1e-4
    assert number(facts(app, "norm-facts")["rms after dividing"]["value"]) == pytest.approx(1, abs=1e-4)


def test_the_small_vector_is_edited_in_place_and_lives_in_the_address(open_app: Open) -> None:
    app = open_app("pages/normalization.py")
    assert facts(app, "rms-steps")["divide each by it"]["value"] == "0.46291, 0.92582, 1.3887"
    box = next(each for each in app.text_input if each.label == "A small vector")
    box.set_value("1, 1, 4").run()
    assert app.query_params["vector"] in ("1,1,4", ["1,1,4"])
    expected = np.array([1, 1, 4]) / np.sqrt(6 + 1e-5)
    shown = [float(part) for part in facts(app, "rms-steps")["divide each by it"]["value"].split(", ")]
    assert shown == pytest.approx(expected.tolist(), abs=1e-4)
    box = next(each for each in app.text_input if each.label == "A small vector")
    box.set_value("one").run()
    assert app.query_params["vector"] in ("1,1,4", ["1,1,4"])
    assert not app.exception


def test_a_vector_without_a_direction_is_answered(open_app: Open) -> None:
    app = open_app("pages/normalization.py", vector="0,0,0")
    assert not app.exception
    assert facts(app, "hand-facts")["Direction kept by RMSNorm"]["value"] == "–"


def test_the_dials_hold_the_real_vector_and_the_models_speeds(open_app: Open) -> None:
    app = open_app("pages/rope.py", layer="3", head="5", position="40", pair="5")
    assert not app.exception
    dials = told(app, "dials")
    assert (dials["position"], dials["own"], dials["selected"], dials["most"]) == (40, 4, 5, 8191)
    assert dials["speeds"] == pytest.approx([100_000 ** (-pair / 32) for pair in range(32)], rel=1e-12)
    assert number(facts(app, "pair-facts")["The model's own result"]["value"]) < 1e-4
    assert number(facts(app, "order-facts")["Both ways agree"]["value"]) < 1e-12


def test_moving_both_tokens_leaves_the_score_and_the_page_says_by_how_little(open_app: Open) -> None:
    moved = facts(open_app("pages/rope.py", shift="5000", source="0"), "shift-facts")
    assert number(moved["Both moved, to 5,004 and 5,000"]["note"].removeprefix("changed by ")) < 1e-10
    assert moved["Query at 4, key at 0"]["value"] == moved["Both moved, to 5,004 and 5,000"]["value"]


def test_the_running_model_and_llama_3_1_are_told_apart(open_app: Open) -> None:
    app = open_app("pages/rope.py")
    words = " ".join(text.value for text in (*app.markdown, *app.caption))
    assert "Runs here: SmolLM2" in words
    assert "29 kept, 6 blended, 29 slowed ×8" in words
    assert "theta 100,000, 32 pairs: no scaling" in words


def test_a_pair_and_a_position_beyond_the_model_are_brought_back_and_told(open_app: Open) -> None:
    app = open_app("pages/rope.py", pair="500", position="9000000")
    assert not app.exception
    assert any("pair goes up to 31" in toast.value for toast in app.toast)
    assert told(app, "dials")["position"] == 8191
