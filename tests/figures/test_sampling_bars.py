"""The bars of the next-token distribution."""

import pandas as pd
import pytest

from explorer.figures.residual_stream import MOST_LINES, stream_norm_lines
from explorer.figures.sampling import candidate_bars, draw_ruler
from explorer.tokenizer.visible import visible

TEXTS = [" the", "the", "the ", "\n", "<b>x</b>", "a<br>b", "<img src=x onerror=alert(1)>"]


@pytest.fixture
def table() -> pd.DataFrame:
    p = [0.4, 0.2, 0.15, 0.1, 0.08, 0.05, 0.02]
    q = [0.5, 0.25, 0.15, 0.1, 0.0, 0.0, 0.0]
    return pd.DataFrame(
        {
            "rank": range(1, 8),
            "id": range(100, 107),
            "token": [visible(text) for text in TEXTS],
            "logit": [5.0, 4.0, 3.5, 3.0, 2.5, 2.0, 1.0],
            "p": p,
            "q": q,
            "cumulative": [0.5, 0.75, 0.9, 1.0, 1.0, 1.0, 1.0],
            "drawn": [False, True, False, False, False, False, False],
        }
    )


def test_every_token_has_a_bar_of_its_own_even_where_two_look_alike(table: pd.DataFrame) -> None:
    same = table.assign(token="the")
    for each in (table, same):
        figure = candidate_bars(each, tail_mass=0.0)
        assert list(figure.data[0].y) == list(range(len(each)))
        assert list(figure.data[0].x) == list(each["q"])
        assert list(figure.data[1].x) == list(each["p"])
        assert len(figure.layout.yaxis.ticktext) == len(each)


def test_labels_are_told_apart_and_never_markup(table: pd.DataFrame) -> None:
    labels = list(candidate_bars(table, tail_mass=0.0).layout.yaxis.ticktext)
    assert len(set(labels)) == len(TEXTS)
    assert labels[0] == "·the"
    assert labels[2] == "the·"
    assert labels[3] == "↵"
    assert labels[4] == "&lt;b&gt;x&lt;/b&gt;"
    assert "<img" not in "".join(labels)


def test_the_first_token_is_at_the_top(table: pd.DataFrame) -> None:
    low, high = candidate_bars(table, tail_mass=0.15).layout.yaxis.range
    assert low > high


def test_the_drawn_token_is_marked_by_more_than_colour(table: pd.DataFrame) -> None:
    labels = list(candidate_bars(table, tail_mass=0.0).layout.yaxis.ticktext)
    assert [label.startswith("<b>▸") for label in labels] == list(table["drawn"])


def test_what_was_cut_is_a_bar_of_its_own(table: pd.DataFrame) -> None:
    figure = candidate_bars(table, tail_mass=0.15)
    assert figure.layout.yaxis.ticktext[-1] == "<i>all cut tokens</i>"
    assert any(trace.type == "bar" and list(trace.x) == [0.15] for trace in figure.data)


def test_the_ruler_lays_the_kept_tokens_side_by_side(table: pd.DataFrame) -> None:
    pieces = draw_ruler(table, u=0.6).data[1]
    ends = [start + width for start, width in zip(pieces.base, pieces.x, strict=True)]
    assert ends == pytest.approx([0.5, 0.75, 0.9, 1.0])
    assert list(pieces.base) == pytest.approx([0.0, *ends[:-1]])


def norms_of(n_tokens: int) -> pd.DataFrame:
    rows = [
        {"depth": d, "layer": (d + 1) // 2 - 1, "after": "attention", "token": t, "norm": 1.0 + d * (t + 1)}
        for d in range(5)
        for t in range(n_tokens)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("n_tokens", [1, 2, MOST_LINES, MOST_LINES + 2, 600])
def test_the_picture_stays_small_however_long_the_text(n_tokens: int) -> None:
    figure = stream_norm_lines(norms_of(n_tokens), [f"t{t}" for t in range(n_tokens)], selected=0)
    assert len(figure.to_json()) < 60_000
    assert figure.layout.yaxis.type == "log"
    selected = next(trace for trace in figure.data if trace.mode == "lines+markers")
    assert list(selected.y) == [1.0 + d for d in range(5)]
    assert list(selected.x) == [d / 2 for d in range(5)]
