"""A few dimensions of some vectors as numbers, a column for each token."""

from collections.abc import Callable, Sequence

import streamlit as st

from explorer.ui.components import component

_VECTOR_TABLE = component("vector_table")


def vector_table(
    labels: Sequence[str],
    ids: Sequence[int],
    rows: Sequence[tuple[str, Sequence[float]]],
    lengths: Sequence[float],
    *,
    first: int,
    selected: int,
    d_model: int,
    on_pick: Callable[[int], None],
    key: str,
) -> None:
    """``rows`` are the names of dimensions and their values; ``lengths`` those of the whole vectors.

    ``first`` is the place of the first token; ``selected`` counts from it. A click calls ``on_pick`` with the place.
    """
    lines = [{"name": name, "cells": [f"{value:+.4f}" for value in values], "look": ""} for name, values in rows]
    lines.append({"name": f"of {d_model:,}", "cells": ["⋮"] * len(labels), "look": "skip"})
    lines.append({"name": "length", "cells": [f"{length:.4f}" for length in lengths], "look": "sum"})
    data = {
        "name": "Values of the embedding rows",
        "corner": "dimension",
        "labels": list(labels),
        "ids": list(ids),
        "rows": lines,
        "first": first,
        "selected": selected,
    }

    def picked() -> None:
        place = st.session_state[key].picked
        if isinstance(place, int) and first <= place < first + len(labels):
            on_pick(place)

    _VECTOR_TABLE(key=key, data=data, on_picked_change=picked)
