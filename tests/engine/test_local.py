"""An engine in this process: loading, refusing, answering, remembering."""

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from explorer.checkpoint.checkpoint import Checkpoint
from explorer.checkpoint.default_model import DEFAULT_MODEL_ID
from explorer.engine.connect import connect
from explorer.engine.engine import Engine, Phase
from explorer.engine.entries import file_entry
from explorer.engine.local import LocalEngine
from explorer.engine.shelf import Shelf
from explorer.errors import (
    BadModelFile,
    BadValue,
    ModelNotReady,
    NoSuchModel,
    NoSuchTap,
    NoSuchToken,
    TextTooLong,
    TooLarge,
)
from explorer.settings import Settings
from explorer.trace.trace import TraceRequest
from tests.loaded_models import TINY_A, tiny_a
from tests.trace.runs import live

PATIENCE = 20.0
HOME = Path("unused")
LOGITS = frozenset({"tap.logits"})


def engine_of(settings: Settings, path: Path = TINY_A) -> tuple[LocalEngine, Shelf]:
    shelf = Shelf(settings, {"tiny_a": file_entry(path, settings)})
    return LocalEngine(shelf, settings), shelf


def wait_for(engine: Engine, *phases: Phase, model: str = "tiny_a") -> None:
    end = time.monotonic() + PATIENCE
    while engine.state(model).phase not in phases:
        assert time.monotonic() < end
        time.sleep(0.005)


def ready(settings: Settings) -> tuple[LocalEngine, Shelf]:
    engine, shelf = engine_of(settings)
    engine.prepare("tiny_a")
    wait_for(engine, Phase.READY)
    return engine, shelf


@pytest.fixture
def engine() -> LocalEngine:
    return ready(Settings(home=HOME))[0]


def ask(count: int, **more: object) -> TraceRequest:
    return TraceRequest(model="tiny_a", token_ids=tuple(range(count)), **more)  # type: ignore[arg-type]


def test_a_model_goes_from_absent_over_loading_to_ready() -> None:
    settings, go, openings = Settings(home=HOME), threading.Event(), []
    entry = file_entry(TINY_A, settings)

    def open_slowly(progress: Callable[[float, str], None]) -> Checkpoint:
        openings.append(threading.current_thread())
        progress(0.25, "A quarter")
        assert go.wait(PATIENCE)
        return entry.open(progress)

    shelf = Shelf(settings, {"tiny_a": replace(entry, open=open_slowly)})
    engine = LocalEngine(shelf, settings)
    assert engine.models() == ("tiny_a",)
    assert engine.card("tiny_a").config.n_layers == 3
    assert engine.state("tiny_a").phase is Phase.ABSENT
    with pytest.raises(ModelNotReady):
        engine.submit(ask(3), "me")

    engine.prepare("tiny_a")
    while engine.state("tiny_a").fraction != 0.25:
        time.sleep(0.001)
    state = engine.state("tiny_a")
    assert (state.phase, state.sentence) == (Phase.LOADING, "A quarter")
    with pytest.raises(ModelNotReady) as refusal:
        engine.info("tiny_a")
    assert refusal.value.remedy == "A quarter"

    engine.prepare("tiny_a")
    go.set()
    wait_for(engine, Phase.READY)
    engine.prepare("tiny_a")
    assert openings[0].join(PATIENCE) is None
    assert len(openings) == 1
    info = engine.info("tiny_a")
    assert (info.parameters, info.dtype, info.device) == (158_144, "float32", str(tiny_a().info.device))
    assert info.card == engine.card("tiny_a")


def test_a_failed_load_names_its_error_and_may_be_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(TINY_A.read_bytes()[:40])
    engine, _ = engine_of(Settings(home=tmp_path), path)
    engine.prepare("tiny_a")
    wait_for(engine, Phase.FAILED)
    error = engine.state("tiny_a").error
    assert isinstance(error, BadModelFile)
    assert "model.gguf" in error.found
    assert error.remedy
    for use in (lambda: engine.info("tiny_a"), lambda: engine.submit(ask(3), "me")):
        with pytest.raises(BadModelFile) as refusal:
            use()
        assert refusal.value is error

    shutil.copy(TINY_A, path)
    engine.prepare("tiny_a")
    wait_for(engine, Phase.READY)
    assert engine.info("tiny_a").parameters == 158_144


def load_that_raises(error: Exception) -> LocalEngine:
    settings = Settings(home=HOME)

    def open_never(_progress: Callable[[float, str], None]) -> Checkpoint:
        raise error

    shelf = Shelf(settings, {"tiny_a": replace(file_entry(TINY_A, settings), open=open_never)})
    engine = LocalEngine(shelf, settings)
    engine.prepare("tiny_a")
    wait_for(engine, Phase.FAILED)
    for thread in threading.enumerate():
        if thread.name == "load-tiny_a":  # it still has to hand its traceback to the log
            thread.join(PATIENCE)
    return engine


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_bug_while_loading_is_a_failure_and_not_an_endless_wait() -> None:
    error = load_that_raises(ZeroDivisionError("a bug")).state("tiny_a").error
    assert isinstance(error, BadModelFile)
    assert "a bug" not in error.found  # that is for the log


def out_of_memory() -> RuntimeError:
    """What torch itself raises when the host has no memory left."""
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 50, dtype=torch.uint8)
    return caught.value


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_model_too_large_for_the_memory_says_so() -> None:
    error = load_that_raises(out_of_memory()).state("tiny_a").error
    assert isinstance(error, TooLarge)
    assert "tiny_a" in error.found


def test_a_run_out_of_memory_says_how_long_the_prompt_was_and_the_next_one_runs() -> None:
    engine, shelf = ready(Settings(home=HOME))
    model = shelf.loaded("tiny_a").model
    greedy = model.layers[1].register_forward_hook(lambda *_: torch.empty(1 << 50, dtype=torch.uint8))
    with pytest.raises(TooLarge, match="50 tokens"):
        engine.submit(ask(50), "me").result()
    greedy.remove()
    assert engine.submit(ask(50), "me").result().token_ids == tuple(range(50))


def test_another_runtime_error_is_not_taken_for_lack_of_memory() -> None:
    engine, shelf = ready(Settings(home=HOME))
    shelf.loaded("tiny_a").model.layers[1].register_forward_hook(lambda *_: torch.ones(2, 3) @ torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        engine.submit(ask(5), "me").result()


def test_the_whole_context_runs_and_one_token_more_is_refused_by_how_many(engine: LocalEngine) -> None:
    trace = engine.submit(ask(64, taps=LOGITS, scored=(63,)), "me").result()  # case M01
    assert trace["tap.logits"].shape == (1, 512)
    for count in (65, 200):
        with pytest.raises(TextTooLong) as refusal:
            engine.submit(ask(count), "me")
        assert f"{count} tokens" in refusal.value.found
        assert "context is 64" in refusal.value.found
        assert f"by {count - 64} token" in refusal.value.remedy


def test_a_limit_below_the_context_is_named_as_the_setting_that_it_is() -> None:
    engine, _ = ready(Settings(home=HOME, max_tokens=10))
    engine.submit(ask(10), "me").result()
    with pytest.raises(TextTooLong, match="EXPLORER_MAX_TOKENS"):
        engine.submit(ask(11), "me")


@pytest.mark.parametrize(
    ("wrong", "error", "found"),
    [
        ({"token_ids": ()}, BadValue, "no token"),
        ({"token_ids": (1, 512)}, NoSuchToken, "512"),
        ({"token_ids": (-1,)}, NoSuchToken, "-1"),
        ({"scored": (3,)}, BadValue, "3"),
        ({"scored": (-1,)}, BadValue, "-1"),
        ({"taps": frozenset({"layers.3.tap.before"})}, NoSuchTap, "layers.3.tap.before"),
        ({"norms": frozenset({"layers.*.tap.behind"})}, NoSuchTap, "behind"),
        ({"model": "llama"}, NoSuchModel, "llama"),
    ],
)
def test_what_is_wrong_with_a_request_is_said_before_it_is_queued(
    engine: LocalEngine, wrong: dict[str, object], error: type[Exception], found: str
) -> None:
    with pytest.raises(error, match=found):
        engine.submit(replace(ask(3), **wrong), "me")  # type: ignore[arg-type]
    assert engine.forward_passes == 0


def test_a_request_that_would_keep_too_much_is_refused_before_it_is_queued() -> None:
    engine, _ = ready(Settings(home=HOME, trace_cache_bytes=200_000))
    engine.submit(ask(10), "me").result()
    with pytest.raises(TooLarge, match="100,000"):
        engine.submit(ask(60, taps=frozenset({"*"})), "me")


def test_equal_prompts_run_once_whatever_is_asked_of_them(engine: LocalEngine) -> None:
    for taps in (LOGITS, LOGITS, frozenset({"layers.1.attention.tap.query"}), frozenset({"layers.*.tap.before"})):
        engine.submit(ask(9, taps=taps, scored=(8,)), "me").result()
        engine.submit(ask(9, taps=taps, scored=(8,)), "you").result()
    assert engine.forward_passes == 1
    engine.submit(ask(8, taps=LOGITS, scored=(7,)), "me").result()
    assert engine.forward_passes == 2


def test_sessions_that_ask_at_once_each_get_their_own_answer(engine: LocalEngine) -> None:
    taps, wrong = frozenset({"layers.2.attention.tap.rotated_key", "tap.final"}), []
    prompts = [tuple((11 * session + 5 * place) % 512 for place in range(10 + session)) for session in range(6)]
    expected = [live(tiny_a().model, tokens) for tokens in prompts]
    start = threading.Barrier(len(prompts))

    def ask_many_times(session: int) -> None:
        start.wait()
        for length in range(8):
            tokens = prompts[session][: 9 - length] if length else prompts[session]
            request = TraceRequest(model="tiny_a", token_ids=tokens, taps=taps)
            trace = engine.submit(request, f"session {session}").result()
            if length == 0:
                wrong.extend(tap for tap in taps if not torch.equal(trace[tap], expected[session][tap]))
            wrong.extend(tap for tap in taps if trace[tap].shape[-2] != len(tokens))

    threads = [threading.Thread(target=ask_many_times, args=(session,)) for session in range(len(prompts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


def test_an_engine_knows_its_default_model_before_it_has_it(tmp_path: Path) -> None:
    engine = connect(Settings(home=tmp_path))
    assert engine.state(DEFAULT_MODEL_ID).phase is Phase.ABSENT
    card = engine.card(DEFAULT_MODEL_ID)
    assert (card.config.n_layers, card.config.vocab_size) == (30, 49_152)
    with pytest.raises(NoSuchModel, match="llama-9"):
        engine.state("llama-9")


def test_the_default_model_loads_and_answers(explorer_home: Path) -> None:
    engine = connect(Settings(home=explorer_home))
    engine.prepare(DEFAULT_MODEL_ID)
    wait_for(engine, Phase.READY, model=DEFAULT_MODEL_ID)
    info = engine.info(DEFAULT_MODEL_ID)
    assert info.parameters == 134_515_008  # case L06
    assert dict(info.precision) == {"Q4_1": 210, "F32": 61, "Q8_0": 1}
    assert info.card == engine.card(DEFAULT_MODEL_ID)
    request = TraceRequest(model=DEFAULT_MODEL_ID, token_ids=(504, 3575, 282, 4649, 314), taps=LOGITS, scored=(4,))
    assert int(engine.submit(request, "me").result()["tap.logits"].argmax()) == 7042
