"""The embedding table as a whole, against the same sums written out in float64."""

import pytest
import torch

from explorer.model.llama import Llama
from explorer.trace import embedding_rows
from explorer.trace.embedding_rows import nearest_rows, one_hot_product, row_lengths


@pytest.fixture(params=[1, 10, 97, 8192])
def block_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(embedding_rows, "BLOCK_ROWS", request.param)
    return request.param


def test_the_nearest_rows_are_those_of_a_full_sort(tiny_llama: Llama, block_rows: int) -> None:
    table = tiny_llama.embedding.weight.double()
    vectors = torch.randn(5, table.shape[1], generator=torch.Generator().manual_seed(1))
    expected = torch.nn.functional.cosine_similarity(vectors.double()[:, None], table[None], dim=-1)
    found = nearest_rows(tiny_llama, vectors, count=7)
    values, ids = expected.sort(dim=-1, descending=True)
    assert torch.equal(found.ids, ids[:, :7])
    torch.testing.assert_close(found.cosines.double(), values[:, :7], rtol=0, atol=1e-6)
    assert found.n_rows == table.shape[0]


def test_a_row_is_nearest_to_itself_and_the_lower_id_wins_a_tie(tiny_llama: Llama, block_rows: int) -> None:
    model = Llama(tiny_llama.config).requires_grad_(False)
    model.load_state_dict(tiny_llama.state_dict())
    model.embedding.weight[80] = 2 * model.embedding.weight[20]
    model.embedding.weight[50] = 0.0
    found = nearest_rows(model, model.embedding.weight[[20, 80, 50]], count=97)
    assert found.ids[0, :2].tolist() == found.ids[1, :2].tolist() == [20, 80]
    assert found.cosines[2].tolist() == [0.0] * 97
    assert found.cosines[0][found.ids[0] == 50].item() == 0.0


def test_the_share_of_shorter_rows_is_counted(tiny_llama: Llama) -> None:
    lengths = tiny_llama.embedding.weight.double().norm(dim=-1)
    order = lengths.argsort()
    found = nearest_rows(tiny_llama, tiny_llama.embedding.weight[order[[0, 48, 96]]], count=1)
    assert found.shorter.tolist() == pytest.approx([0, 48 / 97, 96 / 97])
    torch.testing.assert_close(row_lengths(tiny_llama).double(), lengths)


def test_more_rows_than_there_are_gives_them_all(tiny_llama: Llama) -> None:
    assert sorted(nearest_rows(tiny_llama, torch.ones(1, 36), count=500).ids[0].tolist()) == list(range(97))


@pytest.mark.parametrize("token_id", [0, 41, 96])
def test_one_hot_times_the_matrix_is_the_row(tiny_llama: Llama, block_rows: int, token_id: int) -> None:
    assert torch.equal(one_hot_product(tiny_llama, token_id), tiny_llama.embedding.weight[token_id])


def test_lengths_are_computed_once_for_a_model(tiny_llama: Llama) -> None:
    assert row_lengths(tiny_llama) is row_lengths(tiny_llama)
