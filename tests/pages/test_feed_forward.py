"""The feed-forward page, on the default model."""

import pytest
import torch

from explorer.cli.session import Session
from tests.pages.conftest import Open
from tests.pages.drawings import facts, told

FILE = "pages/feed_forward.py"
PROMPT = "The capital of France is"
LAYER = 20


@pytest.fixture(scope="module")
def product(default_session: Session) -> torch.Tensor:
    """What flows into the last matrix, (token, d_ff)."""
    address = f"layers.{LAYER}.feed_forward.tap.product"
    return default_session.trace(PROMPT, taps={address})[address]


def test_the_neurons_listed_are_those_with_the_largest_products(open_app: Open, product: torch.Tensor) -> None:
    table = told(open_app(FILE, prompt=PROMPT, layer=str(LAYER)), "neurons")
    order = product[-1].abs().argsort(descending=True)[:24].tolist()
    assert [int(row["id"]) for row in table["rows"]] == order
    place = [column["title"] for column in table["columns"]].index("Product")
    for row in table["rows"]:
        assert row["cells"][place] == pytest.approx(float(product[-1, int(row["id"])]), rel=1e-3)


def test_a_neuron_is_shown_along_the_whole_text(open_app: Open, product: torch.Tensor) -> None:
    text = told(open_app(FILE, prompt=PROMPT, layer=str(LAYER), neuron="7", token="2"), "neuron-text")
    expected = product[:, 7] / product[:, 7].abs().max()
    assert text["values"] == pytest.approx(expected.tolist(), abs=2e-3)
    assert text["selected"] == 2


def test_the_sum_of_the_neurons_is_said_with_its_error(open_app: Open) -> None:
    said = facts(open_app(FILE, prompt=PROMPT, layer=str(LAYER)), "feed-forward-facts")
    assert float(said["Sum of all neurons = output"]["value"].removeprefix("± ")) < 1e-5


def test_a_neuron_that_is_not_there_falls_back_to_the_strongest(open_app: Open, product: torch.Tensor) -> None:
    app = open_app(FILE, prompt=PROMPT, layer=str(LAYER), neuron="99999")
    assert not app.exception
    assert told(app, "neurons-mark")["row"] == str(int(product[-1].abs().argmax()))


def test_the_share_below_a_threshold_is_counted_over_all_tokens(open_app: Open, product: torch.Tensor) -> None:
    app = open_app(FILE, prompt=PROMPT, layer=str(LAYER), threshold="0.2")
    share = float((product.abs() < 0.2).double().mean())
    assert any(text.value.startswith(f"{share:.1%} of all products") for text in app.text)


def test_a_preset_fills_in_the_numbers_of_its_model(open_app: Open) -> None:
    app = open_app(FILE, prompt=PROMPT)
    assert facts(app, "width-facts")["d_ff"]["value"] == "1,536"  # 2/3 of 4 x 576, a multiple of 256
    next(button for button in app.button if button.label == "Llama 3.1 8B").click().run()
    assert facts(app, "width-facts")["d_ff"]["value"] == "14,336"
