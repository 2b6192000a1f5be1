"""The recorded run that stands in for the model."""

import torch

from explorer.cli.session import Session
from explorer.ui.recorded import NORMS, TAPS, can_stand_in, recorded_trace
from explorer.ui.view import View


def test_the_recorded_run_is_what_the_model_does(default_session: Session) -> None:
    live = default_session.trace(View().prompt, taps=TAPS, norms=NORMS)
    recorded = recorded_trace()
    assert recorded.token_ids == live.token_ids
    assert recorded.tensors.keys() == live.tensors.keys()
    assert recorded.norms.keys() == live.norms.keys()
    torch.testing.assert_close(recorded["tap.logits"], live["tap.logits"], rtol=1e-3, atol=1e-3)
    for address, norms in recorded.norms.items():
        torch.testing.assert_close(norms, live.norms[address], rtol=1e-3, atol=1e-3)


def test_it_stands_in_for_nothing_else() -> None:
    assert can_stand_in(View().model, TAPS, NORMS)
    assert not can_stand_in("another-model", TAPS, NORMS)
    assert not can_stand_in(View().model, frozenset({"layers.0.attention.tap.query"}), NORMS)
