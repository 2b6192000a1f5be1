"""The logit lens, against its definition written out, the model's own scores, and the published readings."""

import json
import math
from typing import Any

import numpy as np
import pytest
import torch

from explorer.analysis.logit_lens import UNREAD, depth_rows, lens_grid, lens_rows, reading
from explorer.cli.lens import readings
from explorer.cli.session import Session
from explorer.trace.checkpoints import Checkpoints, run
from explorer.trace.lens import Lens, LensRequest, lens
from tests.conftest import DATA
from tests.loaded_models import tiny_a

CAPITAL = "The capital of France is"
IDS = tuple(range(3, 15))
DEPTHS = tiny_a().model.config.n_layers + 1


def ignore(_fraction: float) -> None:
    pass


@pytest.fixture(scope="module")
def checkpoints() -> Checkpoints:
    return run(tiny_a().model, IDS, ignore)


def read(checkpoints: Checkpoints, **asked: Any) -> Lens:
    request = LensRequest(model="", token_ids=IDS, **({"tokens": tuple(range(len(IDS)))} | asked))
    return lens(tiny_a().model, checkpoints, request, ignore)


def test_readings_are_norm_unembedding_and_softmax_written_out(checkpoints: Checkpoints) -> None:
    model = tiny_a().model
    found = read(checkpoints, count=3, watched=(7, 300))
    x = checkpoints.stream.double()  # (depth, token, d_model)
    x = x / (x.pow(2).mean(-1, keepdim=True) + model.config.norm_eps).sqrt() * model.norm.gain.double()
    p = (x @ model.unembedding.weight.double().T).softmax(-1)
    torch.testing.assert_close(found.top_p.double(), p.sort(descending=True).values[..., :3], atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(found.watched_p.double(), p[..., [7, 300]], atol=1e-7, rtol=1e-4)
    assert torch.equal(found.watched_ranks[..., 1], (p > p[..., 300:301]).sum(-1) + 1)
    torch.testing.assert_close(found.entropy.double(), -(p * p.log()).sum(-1), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found.divergence.double(), (p[-1] * (p[-1] / p).log()).sum(-1), atol=1e-5, rtol=1e-4)
    assert torch.equal(found.answers, p[-1].argmax(-1))
    assert found.answer_ranks[-1].eq(1).all()


def test_the_last_reading_is_the_models_own_prediction(checkpoints: Checkpoints) -> None:
    logits = tiny_a().model(torch.tensor([IDS]))[0]  # (token, vocab)
    found = read(checkpoints, count=5, watched=tuple(range(logits.shape[1])))
    torch.testing.assert_close(found.watched_scores[-1], logits, atol=1e-5, rtol=1e-5)
    assert torch.equal(found.top_ids[-1], logits.topk(5).indices)
    assert found.divergence[-1].abs().max() < 1e-6


def test_without_the_norm_the_readings_are_held_against_the_same_prediction(checkpoints: Checkpoints) -> None:
    model, bare = tiny_a().model, read(checkpoints, normalised=False)
    scores = checkpoints.stream @ model.unembedding.weight.T
    assert torch.equal(bare.top_ids[..., 0], scores.argmax(-1))
    assert torch.equal(bare.answers, read(checkpoints).answers)
    own = model.score(checkpoints.stream[-1:])[0].log_softmax(-1)
    expected = (own.exp() * (own - scores.log_softmax(-1))).sum(-1)
    torch.testing.assert_close(bare.divergence, expected, atol=1e-4, rtol=1e-4)


def test_blocks_read_what_one_piece_reads(checkpoints: Checkpoints) -> None:
    whole = read(checkpoints)
    grid = lens_grid([read(checkpoints, tokens=part) for part in ((8, 9, 10, 11), (0, 1), (3,))], range(12))
    there = [0, 1, 3, 8, 9, 10, 11]
    assert np.array_equal(grid.top_ids[:, there], whole.top_ids[:, there, 0].numpy())
    assert (grid.top_ids[:, [2, 4, 5, 6, 7]] == UNREAD).all()
    assert len(lens_rows(grid, range(12), str)) == DEPTHS * len(there)


def test_a_reading_stops_when_nobody_waits(checkpoints: Checkpoints) -> None:
    def stop(_fraction: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lens(tiny_a().model, checkpoints, LensRequest(model="", token_ids=IDS, tokens=(0,)), stop)


def test_each_depth_has_its_own_norm_statistics() -> None:  # case G03
    expected = json.loads((DATA / "cases" / "files" / "tiny_a_expected.json").read_text())
    ids = tuple(expected["token_ids"] if "token_ids" in expected else expected["ids"])
    stored = run(tiny_a().model, ids, ignore)
    last = (len(ids) - 1,)
    for normalised, tops in ((True, [349, 448, 468, 468]), (False, [349, 310, 468, 468])):
        request = LensRequest(model="", token_ids=ids, tokens=last, normalised=normalised)
        assert lens(tiny_a().model, stored, request, ignore).top_ids[:, 0, 0].tolist() == tops


def test_paris_comes_up_as_published(default_session: Session, cases: dict[str, dict[str, Any]]) -> None:  # case G02
    expected = cases["G02"]["expected"]
    normed = readings(default_session, CAPITAL, tokens=[4], count=4, watched=[7042])
    bare = readings(default_session, CAPITAL, tokens=[4], count=4, normalised=False, watched=[7042])
    table = depth_rows(normed, bare, default_session.tokenizer.label)
    assert table["top"].tolist() == [name.replace("Ġ", "·") for name in expected["lens_top1_by_depth"]]
    assert table["top_without_norm"].iloc[-1] == expected["last_without_norm_WRONG"]
    assert table["watched_rank"].iloc[-1] == 1
    assert table["watched_p"].iloc[-1] == pytest.approx(0.772532, abs=1e-4)  # case G01
    top = reading(normed, len(table) - 1, default_session.tokenizer.label)
    assert top["id"].tolist() == [7042, 260, 4528, 2250]


def test_a_row_predicts_what_follows_its_token(default_session: Session, cases: dict[str, dict[str, Any]]) -> None:
    expected = cases["G04"]["expected"]["top5_after_last_token"]
    last = readings(default_session, "Once upon a time", count=5)
    assert last.top_ids[-1, -1].tolist() == [row[0] for row in expected]
    assert last.top_p[-1, -1].tolist() == pytest.approx([row[3] for row in expected], abs=1e-4)


def test_entropy_never_exceeds_that_of_a_vocabulary_of_equals(checkpoints: Checkpoints) -> None:
    assert float(read(checkpoints).entropy.max()) <= math.log(tiny_a().model.config.vocab_size)
