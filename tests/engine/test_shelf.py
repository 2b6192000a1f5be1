"""The models of a user's folders, beside the default model: found, named, refused with a reason, put away."""

import shutil
from pathlib import Path

import pytest
import torch

from explorer.checkpoint.default_model import DEFAULT_MODEL_ID
from explorer.cli.session import Session
from explorer.engine.connect import connect
from explorer.engine.engine import Phase
from explorer.engine.local import LocalEngine
from explorer.engine.memory import Memory
from explorer.engine.shelf import standard_shelf
from explorer.errors import BadModelFile, ModelNotReady, NoSuchModel, TooLarge
from explorer.settings import Settings
from explorer.tokenizer.tokenizer import build_tokenizer
from explorer.trace.trace import TraceRequest
from tests.checkpoint.tiny_folders import CASES, EXPECTED, LOGITS, SECOND, copied
from tests.engine.test_local import wait_for

FORMATS = ("tiny-a", "tiny-a-hf", "tiny-a-meta")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    folder = tmp_path / "models"
    for name in ("tiny_a_hf", "tiny_a_meta"):
        copied(folder, name)
    shutil.copy(CASES / "tiny_a.gguf", folder / "tiny_a.gguf")
    (copied(folder / "broken", "tiny_a_hf") / SECOND).unlink()
    shutil.copy(CASES / "bad_magic.gguf", folder / "bad_magic.gguf")
    return Settings(home=tmp_path / "home", model_folders=(folder,))


def test_every_model_of_the_folders_is_there_and_bad_ones_say_why(settings: Settings) -> None:
    shelf = standard_shelf(settings)
    assert shelf.ids() == (DEFAULT_MODEL_ID, "bad-magic", "tiny-a", "tiny-a-hf", "tiny-a-hf-2", "tiny-a-meta")
    refused = {model: shelf.refusal(model) for model in shelf.ids()}
    assert {model for model, error in refused.items() if error is None} == {DEFAULT_MODEL_ID, *FORMATS[:1],
                                                                           "tiny-a-hf-2", "tiny-a-meta"}  # fmt: skip
    assert isinstance(refused["tiny-a-hf"], BadModelFile) and SECOND in refused["tiny-a-hf"].found
    assert isinstance(refused["bad-magic"], BadModelFile) and "not a GGUF file" in refused["bad-magic"].found
    with pytest.raises(BadModelFile):
        shelf.card("bad-magic")


def test_the_list_says_what_the_files_say_before_any_weight_is_read(settings: Settings) -> None:
    engine = connect(settings)
    listing = {listed.id: listed for listed in engine.listing()}
    assert tuple(listing) == engine.models()
    assert {model for model, listed in listing.items() if listed.problem is not None} == {"bad-magic", "tiny-a-hf"}
    for model, tokenizer in (("tiny-a", "gguf"), ("tiny-a-hf-2", "huggingface"), ("tiny-a-meta", "tiktoken")):
        facts = listing[model].facts
        assert facts is not None and facts.card.tokenizer.format == tokenizer
        assert (facts.parameters, facts.architecture, [*facts.precision]) == (EXPECTED["n_params"], "llama", ["F32"])
        assert str(settings.model_folders[0]) not in f"{listing[model]}".replace(str(facts.card.tokenizer), "")
        assert engine.state(model).phase is Phase.ABSENT
    assert listing["tiny-a-hf"].facts is None and listing["tiny-a"].device == "cpu"
    default = listing[DEFAULT_MODEL_ID].facts  # its files are not there: its sizes are known all the same
    assert default is not None and default.parameters == 134_515_008 and "to be fetched" in default.source


def test_a_model_that_was_repaired_is_read_again(settings: Settings) -> None:
    shelf = standard_shelf(settings)
    assert shelf.refusal("tiny-a-hf") is not None
    shutil.copyfile(CASES / "tiny_a_hf" / SECOND, settings.model_folders[0] / "broken" / "tiny_a_hf" / SECOND)
    assert shelf.refusal("tiny-a-hf") is None


def test_all_formats_answer_through_the_engine_with_the_same_scores(settings: Settings) -> None:
    engine = connect(settings)
    for model in ("tiny-a", "tiny-a-hf-2", "tiny-a-meta"):
        engine.prepare(model)
        wait_for(engine, Phase.READY, model=model)
        request = TraceRequest(
            model=model, token_ids=tuple(EXPECTED["ids"]), taps=frozenset({"tap.logits"}), scored=(50,)
        )
        scores = engine.submit(request, "me").result()["tap.logits"].float()
        torch.testing.assert_close(scores, LOGITS[-1:], atol=1e-4, rtol=0)
        info = engine.info(model)
        assert info.card.id == model and info.parameters == EXPECTED["n_params"]
        assert str(settings.model_folders[0]) not in info.source
        card = engine.card(model)
        tokenizer = build_tokenizer(card.tokenizer.format, card.tokenizer.data, rows=card.config.vocab_size)
        assert tokenizer.encode("Hello", bos=False).ids == (72, 101, 108, 108, 111)


def test_a_bad_model_fails_to_load_and_the_others_still_answer(settings: Settings) -> None:
    engine = connect(settings)
    engine.prepare("bad-magic")
    wait_for(engine, Phase.FAILED, model="bad-magic")
    engine.prepare("tiny-a")
    wait_for(engine, Phase.READY, model="tiny-a")


@pytest.mark.parametrize(
    "name", ["../models/tiny_a_hf", "/etc/passwd", "tiny_a_hf", "TINY-A", "", "tiny-a\n", "%2e%2e", "tiny-a/", "."]
)
def test_nothing_but_an_id_names_a_model(settings: Settings, name: str) -> None:
    engine = connect(settings)
    for ask in (engine.card, engine.state, engine.prepare, engine.info):
        with pytest.raises(NoSuchModel):
            ask(name)


def test_a_model_that_does_not_fit_beside_others_takes_their_place(settings: Settings) -> None:
    shutil.copy(CASES / "tiny_a.gguf", settings.model_folders[0] / "other.gguf")
    needed = 4 * EXPECTED["n_params"]

    def memory(device: torch.device) -> Memory:
        taken = needed if shelf.state("tiny-a").phase is Phase.READY else 0
        return Memory(device=device, free=2 * needed - taken)

    shelf = standard_shelf(settings, memory)
    engine = LocalEngine(shelf, settings)
    for model, beside in (("tiny-a", Phase.READY), ("other", Phase.ABSENT)):
        engine.prepare(model)
        wait_for(engine, Phase.READY, model=model)
        assert engine.state("tiny-a").phase is beside
    assert "make room for other" in engine.state("tiny-a").sentence
    with pytest.raises(ModelNotReady):
        engine.info("tiny-a")


def test_a_model_that_fits_nowhere_is_refused_with_the_figures(settings: Settings) -> None:
    engine = LocalEngine(standard_shelf(settings, lambda device: Memory(device=device, free=10**5)), settings)
    engine.prepare("tiny-a")
    wait_for(engine, Phase.FAILED, model="tiny-a")
    error = engine.state("tiny-a").error
    assert (
        isinstance(error, TooLarge)
        and "tiny_a in bfloat16 needs 0.3 MB, and" in error.found
        and "cpu has 0.1 MB" in error.found
    )


def test_a_script_opens_every_format_by_its_path_and_by_its_id(settings: Settings) -> None:
    for name in ("tiny_a.gguf", "tiny_a_hf", "tiny_a_meta"):
        session = Session(str(CASES / name), settings=settings)
        trace = session.trace(EXPECTED["ids"], taps={"tap.logits"})
        torch.testing.assert_close(trace["tap.logits"].float(), LOGITS[-1:], atol=1e-4, rtol=0)
    assert Session("tiny-a-meta", settings=settings).card.config.name == "tiny_a_meta"
    with pytest.raises(NoSuchModel) as refusal:
        Session("no/such/folder", settings=settings)
    assert "Hugging Face" in refusal.value.remedy
