"""What the commands for one layer answer."""

import json

import numpy as np
import pytest

from explorer.cli.attention import attention
from explorer.cli.feed_forward import feed_forward
from explorer.cli.session import Session
from explorer.errors import BadValue

PROMPT = "The capital of France is"


def test_a_head_is_answered_with_its_map(default_session: Session) -> None:
    said = json.loads(json.dumps(attention(default_session, PROMPT, layer=20, head=4), allow_nan=False))
    assert said["kv_head"] == 1
    pattern = np.array(said["pattern"])
    assert pattern.shape == (5, 5)
    assert np.array_equal(pattern, np.tril(pattern))
    assert said["first_token_share"] == pattern[:, 0].tolist()
    assert said["entropy"][0] == 0


def test_without_a_head_every_head_of_the_layer_is_answered(default_session: Session) -> None:
    said = attention(default_session, PROMPT, layer=20, head=None)
    assert said["head"] == list(range(9))
    assert said["kv_head"] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert np.array(said["pattern"]).shape == (9, 5, 5)
    assert np.array(said["first_token_share"])[:, -1].mean() == pytest.approx(0.9431, abs=1e-3)  # case A04


def test_the_strongest_neurons_are_answered_largest_first(default_session: Session) -> None:
    said = json.loads(json.dumps(feed_forward(default_session, PROMPT, layer=3, token=1, count=4), allow_nan=False))
    address = "layers.3.feed_forward.tap.product"
    product = default_session.trace(PROMPT, taps={address})[address][1]
    assert [neuron["index"] for neuron in said["neurons"]] == product.abs().argsort(descending=True)[:4].tolist()
    assert said["neurons"][0]["product"] == pytest.approx(float(product[product.abs().argmax()]))
    assert len(said["neurons"][0]["promoted"]) == 6
    assert said["sum_error"] < 1e-5


@pytest.mark.parametrize(("layer", "head"), [(30, 0), (-1, 0), (0, 9)])
def test_a_layer_or_head_that_is_not_there_is_refused(default_session: Session, layer: int, head: int) -> None:
    with pytest.raises(BadValue, match="is"):
        attention(default_session, PROMPT, layer=layer, head=head)


@pytest.mark.parametrize(("layer", "token", "count"), [(30, 0, 1), (0, 5, 1), (0, 0, 1537)])
def test_a_token_or_count_that_is_not_there_is_refused(
    default_session: Session, layer: int, token: int, count: int
) -> None:
    with pytest.raises(BadValue, match="is"):
        feed_forward(default_session, PROMPT, layer=layer, token=token, count=count)
