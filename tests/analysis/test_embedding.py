"""Rows of the embedding: the published numbers of Llama 3.1, and the default model's against plain sums."""

import json
from typing import Any

import numpy as np
import pytest
import torch

from explorer.analysis.embedding import (
    around,
    combined,
    cosine_table,
    cosines,
    neighbour_table,
    row_table,
    value_table,
)
from explorer.cli.session import Session, tokenizer_named
from explorer.config import ModelConfig
from explorer.model.llama import Llama
from explorer.trace.embedding_rows import one_hot_product
from tests.conftest import DATA


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    return json.loads((DATA / "llama-3.1-8b-reference-run.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def narrow_llama(facts: dict[str, Any]) -> Llama:
    """A model whose table has as many rows as Llama 3.1's and holds the published values, four dimensions wide."""
    model = Llama(
        ModelConfig(
            name="narrow", vocab_size=facts["config"]["vocab_size"], d_model=4, n_layers=1, n_heads=1, n_kv_heads=1,
            head_dim=4, d_ff=8, context=64, rope_theta=1e4, norm_eps=1e-5, tied_embedding=False, rope_scaling=None,
        )
    ).requires_grad_(False)  # fmt: skip
    model.embedding.weight.fill_(1.0)
    for token_id, values in facts["embedding_first_4_dimensions"].items():
        model.embedding.weight[int(token_id)] = torch.tensor(values)
    return model


def test_the_published_rows_stand_under_their_tokens(
    facts: dict[str, Any], narrow_llama: Llama, explorer_home: object
) -> None:
    encoding = tokenizer_named("llama3").encode(facts["prompt"], bos=False)
    assert list(encoding.ids) == facts["token_ids"]
    vectors = narrow_llama.embedding(torch.tensor(encoding.ids))
    table = row_table(vectors, encoding.ids, [token.label for token in encoding.tokens], range(4))
    assert table["token"].tolist() == [text.replace(" ", "·") for text in facts["token_texts"]]
    for row in table.to_dict("records"):
        published = facts["embedding_first_4_dimensions"][str(row["id"])]
        assert [round(row[f"dimension {each}"], 4) for each in range(4)] == published
        assert row["length"] == pytest.approx(sum(value * value for value in published) ** 0.5)
        assert torch.equal(one_hot_product(narrow_llama, row["id"]), vectors[row["place"]])


def test_the_table_of_llama_3_1_has_the_published_number_of_parameters(facts: dict[str, Any]) -> None:
    assert facts["config"]["vocab_size"] * facts["config"]["d_model"] == facts["parameters"]["embedding"]


def test_the_rows_are_what_the_stream_of_a_run_starts_with(default_session: Session) -> None:
    encoding = default_session.tokenizer.encode("The cat sat on the cat")
    run = default_session.trace(encoding.ids, taps={"tap.embedded"})["tap.embedded"]
    rows = default_session.engine.parameter(default_session.model, "embedding.weight", encoding.ids)
    assert torch.equal(run, rows)
    table = value_table(rows[1])
    assert table["value"].tolist() == rows[1].tolist()
    assert table["dimension"].tolist() == list(range(576))


def test_places_and_dimensions_are_counted_from_where_the_part_begins() -> None:
    vectors = torch.arange(24.0).view(3, 8)
    table = row_table(vectors, [5, 6, 5], ["a", "b", "a"], range(2, 5), first=100)
    assert table["place"].tolist() == [100, 101, 102]
    assert table[["dimension 2", "dimension 3", "dimension 4"]].to_numpy().tolist() == vectors[:, 2:5].tolist()
    assert table["length"].tolist() == pytest.approx(np.linalg.norm(vectors.numpy(), axis=1).tolist())


def test_cosines_are_those_of_numpy_and_equal_tokens_have_one() -> None:
    vectors = torch.randn(4, 9, generator=torch.Generator().manual_seed(2))
    vectors[3] = vectors[1]
    found = cosines(vectors)
    x = vectors.double().numpy()
    expected = x @ x.T / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(x, axis=1))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    table = cosine_table(found, ["a", "b", "c", "b"], first=10)
    assert len(table) == 6
    assert (table["place"][0], table["other place"][0], table["other token"][0]) == (11, 13, "b")
    assert table["cosine"].is_monotonic_decreasing
    assert cosines(torch.zeros(2, 3)).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_nearest_of_the_default_model_are_found_by_a_plain_product(default_session: Session) -> None:
    session = default_session
    assert session.info.parameters > 0
    weight = session.engine.parameter(session.model, "embedding.weight").double()
    paris = weight[7042]
    expected = (weight @ paris) / (weight.norm(dim=-1) * paris.norm())
    nearest = session.engine.nearest(session.model, weight[[7042]].float(), count=6)
    table = neighbour_table(nearest, session.tokenizer.label)
    assert table["id"].tolist() == expected.topk(6).indices.tolist()
    assert table["cosine"].tolist() == pytest.approx(expected.topk(6).values.tolist(), abs=1e-5)
    assert (table["rank"][0], table["token"][0]) == (1, "·Paris")


def test_a_minus_b_plus_c_is_the_sum_of_rows(default_session: Session) -> None:
    session = default_session
    assert session.info.parameters > 0
    terms = tuple(session.tokenizer.encode(text).ids[0] for text in (" king", " man", " woman"))
    rows = session.engine.parameter(session.model, "embedding.weight", terms)
    total = combined(rows)
    assert total.tolist() == [(rows[0] - rows[1] + rows[2]).tolist()]
    found = session.engine.nearest(session.model, total, count=3)
    assert {"·king", "·queen"} < {session.tokenizer.label(each) for each in found.ids[0].tolist()}


@pytest.mark.parametrize(("count", "selected", "most"), [(3, 0, 5), (99, 0, 10), (99, 50, 10), (99, 98, 10), (1, 0, 1)])
def test_a_part_holds_the_selected_place_and_as_many_as_it_may(count: int, selected: int, most: int) -> None:
    part = around(count, selected, most)
    assert part.start <= selected < part.stop <= count
    assert part.stop - part.start == min(count, most)
