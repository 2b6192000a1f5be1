"""The scores of all heads as a table."""

from collections.abc import Callable, Mapping, Sequence

from explorer.ui.score_table import Column, Row, score_table

COLUMNS = (
    Column(title="Head", note="layer and query head; opens it"),
    Column(title="Looks like", note="only where a rule below holds"),
    Column(title="Entropy", digits=2, note="how spread out a row is, in nats, mean over the rows"),
    Column(title="Distance", digits=1, note="how many tokens back it looks, mean"),
    Column(title="First token", digits=3, bar=1.0, note="mean share on the first token"),
    Column(title="Token before", digits=3, bar=1.0, note="mean share on the token just before"),
    Column(title="Itself", digits=3, bar=1.0, note="mean share on the token itself"),
    Column(title="Same token", digits=3, bar=1.0, note="on repeated random tokens: share on earlier copies"),
    Column(title="Induction", digits=3, bar=1.0, note="on repeated random tokens: share on what followed them"),
)
SCORES = ("entropy", "distance", "first", "previous", "itself", "same_token", "induction")
FIRST_SORTED = 8


def head_score_table(
    heads: Sequence[Mapping[str, float | int | str]],
    *,
    n_heads: int,
    opened: tuple[int, int],
    tone: str,
    on_pick: Callable[[int, int], None],
) -> None:
    """``heads`` hold layer, head, label and the scores of each; a click calls ``on_pick(layer, head)``."""
    names = {f"{each['layer']}-{each['head']}": each for each in heads}
    rows = [
        Row(
            id=name,
            name=f"L{each['layer']} H{each['head']}",
            cells=[int(each["layer"]) * n_heads + int(each["head"]), each["label"], *(each[score] for score in SCORES)],
        )
        for name, each in names.items()
    ]
    score_table(
        COLUMNS, rows, name="Scores of all heads", sort=FIRST_SORTED, opened=f"{opened[0]}-{opened[1]}", tone=tone,
        on_pick=lambda name: on_pick(int(names[name]["layer"]), int(names[name]["head"])), key="head-table",
    )  # fmt: skip
