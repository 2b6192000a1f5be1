"""What the Overview page draws."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import streamlit as st

from explorer.tokenizer.encoding import Token
from explorer.ui import state
from explorer.ui.export import Table
from explorer.ui.flow_component import Candidate, FlowToken, Stage, flow
from explorer.ui.page import Page, Run
from explorer.ui.view import MAX_CHARACTERS, MAX_DRAWS


class Row(Protocol):
    """A token's numbers as the analysis gives them."""

    @property
    def place(self) -> int:
        """Which token of the prompt."""
        ...

    @property
    def embedding(self) -> list[int]:
        """The cells of its embedding strip, -100 to 100."""
        ...

    @property
    def lengths(self) -> list[int]:
        """Its lengths through the layers, 0 to 100."""
        ...

    @property
    def length(self) -> float:
        """Its length after the last layer."""
        ...


def draw_flow(page: Page, run: Run, rows: Sequence[Row | None], likeliest: Table, u: float) -> None:
    """The five stages with this prompt's values."""
    config = page.blueprint.config
    stages = [
        Stage(page="tokenizer", title="Tokenize", about="Pieces of text become ids."),
        Stage(page="embedding", title="Embed", about=f"An id looks up {config.d_model:,} numbers."),
        Stage(page="residual_stream", title=f"{config.n_layers} layers", about="Each adds to the vector; it grows."),
        Stage(page="unembedding", title="Unembed", about=f"The last one scores {config.vocab_size:,} tokens."),
        Stage(page="sampling", title="Sample", about="One of them is drawn."),
    ]
    found = list(_candidates(likeliest))
    taken = next(candidate for candidate in found if candidate.drawn)
    flow(
        stages,
        [None if row is None else _token(run, row) for row in rows],
        found,
        every_label=run.labels,
        drawn=(taken.label, f"drawn with probability {taken.share}, u = {u:.3f}"),
        on_open=state.ask_for,
    )


def next_token_button(page: Page, run: Run, drawn: Token) -> None:
    """Append the drawn token to the prompt and let it flow again, with the next draw."""
    view, text = page.view, drawn.text
    cannot = _cannot_append(page, run, drawn)
    longer = view.prompt + (text or "")
    st.button(
        "Next token",
        icon=":material/keyboard_double_arrow_right:",
        disabled=bool(cannot),
        on_click=lambda: state.go(prompt=longer, draw=view.draw % MAX_DRAWS + 1, token=-1),
    )
    st.caption(cannot or "Appends the drawn token to your text and runs the model again. Generation is nothing more.")


def _cannot_append(page: Page, run: Run, drawn: Token) -> str:
    if len(page.view.prompt) + len(drawn.text or "") > MAX_CHARACTERS:
        return "The text is as long as a link can carry."
    if run.trace.token_ids != page.encoding.ids:
        return "This is the recorded run; once the model is ready the drawn token can be appended."
    if drawn.text is None or str(drawn.kind) == "special":
        return "The drawn token is no text that could be typed, so it cannot be appended here."
    return ""


def _token(run: Run, row: Row) -> FlowToken:
    token = run.tokens[row.place]
    return FlowToken(
        label=token.label,
        id=token.id,
        embedding=row.embedding,
        lengths=row.lengths,
        length=f"{row.length:,.0f}",
        last=row.place == len(run.tokens) - 1,
    )


def _candidates(likeliest: Table) -> Iterable[Candidate]:
    names = [str(name) for name in likeliest.columns]
    for values in likeliest.itertuples(index=False):
        row = dict(zip(names, values, strict=True))
        q = float(str(row["q"]))
        yield Candidate(label=str(row["token"]), p=q, share=_percent(q), drawn=bool(row["drawn"]))


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.01 else f"{share:.2%}" if share >= 0.0001 else "<0.01%"
