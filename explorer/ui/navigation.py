"""The pages: where each lives, what it is called, and the two sentences it opens with."""

from dataclasses import dataclass

import streamlit as st

from explorer.ui.view import View


@dataclass(frozen=True, kw_only=True)
class PageEntry:
    """One page as the navigation and its own head show it."""

    file: str
    title: str
    icon: str
    opening: str


PAGES = {
    "overview": PageEntry(
        file="app.py",
        title="Overview",
        icon=":material/route:",
        opening=(
            "A real Llama reads your text and predicts what comes next. Follow it from left to right: "
            "the text becomes tokens, a vector for each token grows through the layers, and the last one scores every "
            "possible next token."
        ),
    ),
    "tour": PageEntry(
        file="pages/tour.py",
        title="Guided tour",
        icon=":material/tour:",
        opening=(
            "Ten stops on the way of your own text, each with one idea and one thing to predict. "
            "The answers are computed from this very run."
        ),
    ),
    "architecture": PageEntry(
        file="pages/architecture.py",
        title="Architecture",
        icon=":material/account_tree:",
        opening=(
            "Follow your text from top to bottom through every part of the model. Click a box: what it does and why, "
            "what it costs, the code that runs, and the numbers that just flowed through it."
        ),
    ),
    "tokenizer": PageEntry(
        file="pages/tokenizer.py",
        title="Tokenizer",
        icon=":material/content_cut:",
        opening=(
            "A model never sees letters: it sees the numbers of pieces from a fixed vocabulary. "
            "Click a piece to see its bytes, and watch what a space, a digit or an accent does to the cut."
        ),
    ),
    "embedding": PageEntry(
        file="pages/embedding.py",
        title="Embedding",
        icon=":material/grid_on:",
        opening=(
            "Every token id picks one row of a table of learned numbers: the vector that the layers will work on. "
            "Look at the rows of your tokens, and at which rows of the whole vocabulary lie closest to the chosen one."
        ),
    ),
    "residual_stream": PageEntry(
        file="pages/residual_stream.py",
        title="Residual stream",
        icon=":material/timeline:",
        opening=(
            "Each token owns one vector, and every attention and feed-forward only adds to it. "
            "Look at how long the vectors grow, and at the one line far above the others."
        ),
    ),
    "normalization": PageEntry(
        file="pages/normalization.py",
        title="Normalization",
        icon=":material/balance:",
        opening=(
            "Before a sub-layer reads a vector, the vector is divided by its own root mean square and every dimension "
            "is scaled by a learned gain. Watch what that does to the chosen token, then try it on three numbers."
        ),
    ),
    "rope": PageEntry(
        file="pages/rope.py",
        title="RoPE",
        icon=":material/360:",
        opening=(
            "Llama learns where a token stands by turning: each pair of numbers in a query or key is an arrow, and "
            "every position turns it a little further. Move the position: some arrows race, some barely stir."
        ),
    ),
    "attention": PageEntry(
        file="pages/attention.py",
        title="Attention",
        icon=":material/hub:",
        opening=(
            "In every head, each token shares out its attention over the tokens up to itself: a row that adds to 1. "
            "Choose a head in the grid, then a cell of its map, and see the arithmetic that made it."
        ),
    ),
    "feed_forward": PageEntry(
        file="pages/feed_forward.py",
        title="Feed-forward",
        icon=":material/compress:",
        opening=(
            "After attention has mixed, every token is processed alone: many neurons look at its vector, and each "
            "adds its own row to the stream. See which fire, and which next tokens they speak for."
        ),
    ),
    "unembedding": PageEntry(
        file="pages/unembedding.py",
        title="Unembedding",
        icon=":material/output:",
        opening=(
            "The last vector is normalised and scored against every token of the vocabulary: that is the prediction. "
            "Read the vectors of earlier layers the same way, and watch the answer come up from layer to layer."
        ),
    ),
    "sampling": PageEntry(
        file="pages/sampling.py",
        title="Sampling",
        icon=":material/casino:",
        opening=(
            "The model gives a probability to every token of its vocabulary; the sampler reshapes them and draws one. "
            "Move a control and watch which bars survive, and where the draw falls."
        ),
    ),
    "generation": PageEntry(
        file="pages/generation.py",
        title="Generation",
        icon=":material/format_list_bulleted_add:",
        opening=(
            "A text grows by one token at a time: the model reads, one token is drawn, and it is read in its turn. "
            "Step back to any token, see what else could have come, and take another turn there."
        ),
    ),
    "cost": PageEntry(
        file="pages/cost.py",
        title="Cost",
        icon=":material/calculate:",
        opening=(
            "What a model takes, counted from its sizes alone: parameters, operations, memory and time. Choose a known "
            "model or paste a configuration, and check every number that people quote."
        ),
    ),
}


def page_link(name: str, view: View, label: str | None = None) -> None:
    """A link to a page that carries the whole view."""
    entry = PAGES[name]
    st.page_link(entry.file, label=label or entry.title, icon=entry.icon, query_params=view.params(), width="stretch")


def navigation(view: View) -> None:
    """The links to all pages."""
    for name in PAGES:
        page_link(name, view)
