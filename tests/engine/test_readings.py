"""Readings of the lens through the engine's queue."""

import pytest
import torch

from explorer.engine.engine import Phase
from explorer.engine.entries import file_entry
from explorer.engine.local import LocalEngine
from explorer.engine.shelf import Shelf
from explorer.errors import BadValue, NoSuchToken
from explorer.settings import Settings
from explorer.trace.checkpoints import run
from explorer.trace.generation import StepRequest
from explorer.trace.lens import LensRequest, lens
from explorer.trace.trace import TraceRequest
from tests.conftest import DATA
from tests.loaded_models import TINY_A, tiny_a

IDS = (5, 9, 200, 31)


@pytest.fixture(scope="module")
def engine() -> LocalEngine:
    settings = Settings(home=DATA)
    made = LocalEngine(Shelf(settings, {"tiny_a": file_entry(TINY_A, settings)}), settings)
    made.prepare("tiny_a")
    while made.state("tiny_a").phase is Phase.LOADING:
        pass
    return made


def asked(*tokens: int, ids: tuple[int, ...] = IDS) -> LensRequest:
    return LensRequest(model="tiny_a", token_ids=ids, tokens=tokens, count=2)


def test_a_reading_uses_the_run_that_a_trace_has_made(engine: LocalEngine) -> None:
    engine.submit(TraceRequest(model="tiny_a", token_ids=IDS, taps=frozenset({"tap.final"})), "a").result()
    runs = engine.forward_passes
    found = [engine.submit_lens(asked(token), "a").result() for token in range(4)]
    assert engine.forward_passes == runs
    whole = lens(tiny_a().model, run(tiny_a().model, IDS, lambda fraction: None), asked(0, 1, 2, 3), lambda share: None)
    assert torch.equal(torch.cat([each.top_ids for each in found], 1), whole.top_ids)


@pytest.mark.parametrize(
    ("request_", "error", "says"),
    [
        (asked(4), BadValue, "token number 4"),
        (asked(), BadValue, "No token"),
        (asked(0, ids=()), BadValue, "no token"),
        (asked(0, ids=(10**6,)), NoSuchToken, "1000000"),
    ],
)
def test_what_cannot_be_read_is_refused_before_it_waits(
    engine: LocalEngine, request_: LensRequest, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        engine.submit_lens(request_, "a")


def test_a_step_on_too_many_tokens_is_refused(engine: LocalEngine) -> None:
    request = StepRequest(model="tiny_a", token_ids=(1,) * 65, prompt_length=65, capacity=70)
    with pytest.raises(Exception, match="65 tokens"):
        engine.submit_step(request, "a")
