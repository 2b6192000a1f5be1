"""Generation against transformers, against reading without a cache, and against itself in another process."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from explorer.analysis.generation import generation_request
from explorer.cli.generate import generated
from explorer.cli.session import Session
from explorer.engine.engine import Phase
from explorer.engine.entries import file_entry
from explorer.engine.generation import Caches, generate
from explorer.engine.local import LocalEngine
from explorer.engine.shelf import Shelf
from explorer.errors import BadValue, Cancelled, NotFinite, TooLarge
from explorer.model.llama import Llama
from explorer.settings import Settings
from explorer.trace.generation import Generation, GenerationRequest, Step, StepRequest, StopReason, choose
from tests.conftest import DATA, random_llama
from tests.loaded_models import TINY_A, default_model, tiny_a
from tests.model import hugging_face

ROOT = Path(__file__).parents[2]
CAPITAL = "The capital of France is"
IDS = (5, 9, 200, 31)


@pytest.fixture(scope="module")
def engine() -> LocalEngine:
    settings = Settings(home=DATA)
    made = LocalEngine(Shelf(settings, {"tiny_a": file_entry(TINY_A, settings)}), settings)
    made.prepare("tiny_a")
    while made.state("tiny_a").phase is Phase.LOADING:
        pass
    return made


def asked(**changes: Any) -> GenerationRequest:
    fields: dict[str, Any] = {"limit": 12, "seed": 4, "context": 64} | changes
    return generation_request("tiny_a", fields.pop("token_ids", IDS), **fields)


def test_greedy_generation_is_that_of_transformers(default_session: Session, explorer_home: Path) -> None:
    ids = default_session.tokenizer.encode("Once upon a time").ids
    ours = generated(default_session, "Once upon a time", limit=64, temperature=0)
    other = hugging_face.twin(default_model(explorer_home).model)
    with torch.inference_mode():
        theirs = other.generate(
            torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.int64), do_sample=False,
            max_new_tokens=64, eos_token_id=list(default_session.tokenizer.vocabulary.eos_ids), pad_token_id=0,
        )  # fmt: skip
    assert list(ours.token_ids) == theirs[0, len(ids) :].tolist()


def test_cached_and_uncached_logits_agree(engine: LocalEngine) -> None:
    made = generate(engine, asked(), "a")
    assert [choice.step.n_read for choice in made.choices] == [len(IDS)] + [1] * 11
    for at, choice in enumerate(made.choices):
        whole = tiny_a().model(torch.tensor([made.before(at)]))[0, -1]
        torch.testing.assert_close(choice.step.logits, whole, atol=1e-4, rtol=1e-4)


def test_the_cache_grows_by_two_vectors_per_head_layer_and_token(engine: LocalEngine) -> None:
    config, made = tiny_a().model.config, generate(engine, asked(), "a")
    token = 2 * config.n_layers * config.n_kv_heads * config.head_dim * 4
    assert [choice.step.cache_bytes for choice in made.choices] == [token * n for n in range(len(IDS), len(IDS) + 12)]


def test_the_same_seed_brings_the_same_text_in_another_process(default_session: Session) -> None:
    made = generated(default_session, CAPITAL, limit=8, seed=3, temperature=1.2)
    assert made.token_ids != generated(default_session, CAPITAL, limit=8, seed=4, temperature=1.2).token_ids
    script = (
        "from explorer.cli.generate import generated; from explorer.cli.session import Session; "
        f"print(generated(Session(), {CAPITAL!r}, limit=8, seed=3, temperature=1.2).token_ids)"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ran.stdout.strip() == str(made.token_ids)


def test_a_longer_generation_begins_like_a_shorter_one(engine: LocalEngine) -> None:
    longer = generate(engine, asked(limit=20), "a")
    assert longer.token_ids[:12] == generate(engine, asked(), "a").token_ids
    assert longer.reason is StopReason.LIMIT


def test_a_turn_taken_by_hand_keeps_what_came_before(engine: LocalEngine) -> None:
    drawn = generate(engine, asked(), "a")
    turned = generate(engine, asked(forced={5: 17}), "a")
    assert turned.token_ids[:6] == (*drawn.token_ids[:5], 17)
    assert turned.choices[5].u is None
    assert torch.equal(turned.choices[5].step.logits, drawn.choices[5].step.logits)
    whole = tiny_a().model(torch.tensor([turned.before(8)]))[0, -1]
    torch.testing.assert_close(turned.choices[8].step.logits, whole, atol=1e-4, rtol=1e-4)


def test_an_end_token_ends_it_and_is_kept(engine: LocalEngine) -> None:
    third = generate(engine, asked(), "a").token_ids[2]
    made = generate(engine, asked(stop_ids=(third,)), "a")
    assert made.reason is StopReason.END_TOKEN
    assert made.token_ids[-1] == third and len(made.token_ids) <= 3


def test_a_full_context_ends_it(engine: LocalEngine) -> None:
    prompt = tuple(range(60))
    made = generate(engine, asked(token_ids=prompt, limit=20), "a")
    assert made.reason is StopReason.CONTEXT
    assert len(prompt) + len(made.token_ids) == 65  # 64 were read, and one more was drawn after them


def test_no_token_is_refused_with_what_to_do(engine: LocalEngine) -> None:
    with pytest.raises(BadValue, match="0 tokens"):
        generate(engine, asked(limit=0), "a")


def test_nobody_asks_for_the_next_step_after_a_stop(engine: LocalEngine) -> None:
    class StopError(Exception):
        pass

    seen: list[int] = []

    def told(choice: Any) -> None:
        seen.append(choice.token_id)
        if len(seen) == 3:
            raise StopError

    with pytest.raises(StopError):
        generate(engine, asked(seed=77), "a", told=told)
    assert tuple(seen) == generate(engine, asked(seed=77, limit=3), "a").token_ids


def test_a_step_that_is_cancelled_leaves_the_cache_as_it_was() -> None:
    model, caches = tiny_a().model, Caches(1 << 20)
    first = StepRequest(model="m", token_ids=IDS, prompt_length=4, capacity=8)
    second = replace(first, token_ids=(*IDS, 6))
    caches.step(model, first, lambda fraction: None)

    def cancel(fraction: float) -> None:
        if fraction > 0:
            raise Cancelled("Nobody waits.")

    with pytest.raises(Cancelled):
        caches.step(model, second, cancel)
    step = caches.step(model, second, lambda fraction: None)
    assert step.n_read == 1
    whole = model(torch.tensor([second.token_ids]))[0, -1]
    torch.testing.assert_close(step.logits, whole, atol=1e-4, rtol=1e-4)


def test_a_cache_that_was_let_go_is_filled_again() -> None:
    model, caches = tiny_a().model, Caches(1 << 20)
    request = StepRequest(model="m", token_ids=(*IDS, 6), prompt_length=4, capacity=8)
    step = caches.step(model, request, lambda fraction: None)
    assert step.n_read == 5


def test_a_cache_without_room_is_refused_with_both_numbers() -> None:
    request = StepRequest(model="m", token_ids=IDS, prompt_length=4, capacity=60)
    with pytest.raises(TooLarge, match="limit is 1,000"):
        Caches(1_000).check(tiny_a().model, request)


def test_nan_is_named_with_its_layer(tiny_config: Any) -> None:  # case G05
    model: Llama = random_llama(tiny_config)
    model.get_parameter("layers.1.feed_forward.down.weight").fill_(float("nan"))
    request = StepRequest(model="m", token_ids=(1, 2, 3), prompt_length=3, capacity=8)
    with pytest.raises(NotFinite, match="layer 1, feed-forward"):
        Caches(1 << 20).step(model, request, lambda fraction: None)


def test_two_generations_at_once_do_not_mix(engine: LocalEngine) -> None:
    seeds = (101, 102)
    apart = [generate(engine, asked(seed=seed, limit=6), "a").token_ids for seed in seeds]
    fresh = LocalEngine(engine._shelf, Settings(home=DATA))
    made: dict[int, list[int]] = {seed: [*IDS] for seed in seeds}
    for at in range(6):
        for seed in seeds:
            step: Step = fresh.submit_step(
                StepRequest(model="tiny_a", token_ids=tuple(made[seed]), prompt_length=4, capacity=10), f"s{seed}"
            ).result()
            made[seed].append(choose(step, asked(seed=seed, limit=6), at).token_id)
    assert [tuple(made[seed][4:]) for seed in seeds] == apart


def test_generations_of_one_request_are_one_value(engine: LocalEngine) -> None:
    first: Generation = generate(engine, asked(), "a")
    runs = engine._scheduler.runs
    again = generate(engine, asked(), "b")
    assert engine._scheduler.runs == runs  # every step was at hand
    assert again.token_ids == first.token_ids
    assert hash(again.request) == hash(first.request)
