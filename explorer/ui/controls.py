"""Controls, each with one sentence on what it does."""

from collections.abc import Sequence

import streamlit as st

from explorer.ui import state
from explorer.ui.state import bound
from explorer.ui.view import MAX_DRAWS, MAX_SEED
from explorer.ui.vocabularies import vocabulary_names


def sampler_controls() -> None:
    """The controls of the sampler."""
    st.slider("Temperature", 0.0, 3.0, step=0.05, **bound("temperature"))
    st.caption("Below 1 sharpens, above 1 flattens, 0 always takes the likeliest. The order of tokens never changes.")
    st.slider("Top-p", 0.0, 1.0, step=0.01, **bound("top_p"))
    st.caption("Keeps the smallest set of likeliest tokens whose total reaches p (Meta's rule at a tie). 1 is off.")
    st.number_input("Top-k", min_value=0, max_value=1_000_000, step=1, **bound("top_k"))
    st.caption("Keeps only the k likeliest tokens. 0 is off; more than there are keeps all.")
    st.slider("Min-p", 0.0, 1.0, step=0.01, **bound("min_p"))
    st.caption("Keeps tokens with at least this share of the likeliest one's probability. 0 is off; not Meta's.")


def draw_controls() -> None:
    """The seed, and the next draw of its sequence."""
    view = state.current()
    st.button(
        "Draw again",
        icon=":material/casino:",
        width="stretch",
        on_click=lambda: state.go(draw=view.draw % MAX_DRAWS + 1),
    )
    st.caption(f"This is draw {view.draw:,} of the sequence that the seed starts.")
    st.number_input("Seed", min_value=0, max_value=MAX_SEED, step=1, **bound("seed"))
    st.caption("The same seed draws the same numbers, on every machine.")


def vocabulary_controls(own_name: str) -> None:
    """Which vocabulary cuts the text, and how."""
    names = vocabulary_names(own_name)
    begin = {"auto": "as its model does", "on": "with", "off": "without"}
    reading = {False: "are text", True: "are special"}
    vocabulary, bos, special = st.columns([3, 2, 2], gap="medium")
    with vocabulary:
        st.radio("Vocabulary", [*names], format_func=names.__getitem__, horizontal=True, **bound("vocabulary"))
        st.caption("Each model has its own list of pieces. cl100k_base is GPT-4's, o200k_base GPT-4o's.")
    with bos:
        st.radio("Begin-of-text token", [*begin], format_func=begin.__getitem__, horizontal=True, **bound("bos"))
        st.caption("Some models expect a special token before the text.")
    with special:
        st.radio("Special tokens", [*reading], format_func=reading.__getitem__, horizontal=True, **bound("special"))
        st.caption("Whether the name of a special token in your text is that token, or its letters.")


def layer_control(n_layers: int) -> None:
    """Which layer the page looks into; no other layer is run again."""
    st.slider("Layer", 0, n_layers - 1, step=1, **bound("layer"))


def head_control(n_heads: int) -> None:
    """Which query head the page looks at."""
    st.slider("Head", 0, n_heads - 1, step=1, **bound("head"))


def attention_controls() -> None:
    """What is shown of a head's map, and how it is coloured."""
    colours = {"root": "√ scale", "linear": "linear", "log": "log", "row": "each row"}
    st.radio("Colour", [*colours], format_func=colours.__getitem__, horizontal=True, **bound("colour"))
    st.caption(
        "Linear shows shares as they are; √ and log lift small ones; “each row” gives the strongest cell of every row "
        "the full colour."
    )
    st.toggle("Hide the first token", **bound("skip_first"))
    st.caption("Leaves out its column and scales what is left of each row to add to 1.")
    st.toggle("Weigh by what is fetched", **bound("weighted"))
    st.caption("Multiplies each share by the length of what that token's value adds to the stream through this head.")


def direction_control() -> None:
    """Whether to show what a token reads, or who reads it."""
    ways = {"reads": "what it reads", "read_by": "who reads it"}
    st.radio("Arcs from the chosen token", [*ways], format_func=ways.__getitem__, horizontal=True, **bound("direction"))


def threshold_control() -> None:
    """Below which size a neuron counts as quiet."""
    st.number_input("Quiet below", min_value=0.0, max_value=100.0, step=0.01, format="%.3g", **bound("threshold"))
    st.caption("A neuron whose product is smaller than this adds next to nothing.")


def width_controls(presets: Sequence[tuple[str, int, float, int]]) -> None:
    """The numbers that a feed-forward's width follows from; each preset is a name, d_model, multiplier and multiple."""
    buttons = st.container(horizontal=True, key="width-presets")
    for name, d_model, multiplier, multiple_of in presets:
        chosen = {"width_in": d_model, "width_factor": multiplier, "width_multiple": multiple_of}
        buttons.button(name, key=f"width-{name}", on_click=lambda chosen=chosen: state.go(**chosen))
    stream, factor, multiple = st.columns(3, gap="medium")
    with stream:
        st.number_input("d_model", min_value=0, max_value=1_000_000, step=64, **bound("width_in"))
        st.caption("The width of the stream; 0 takes this model's.")
    with factor:
        st.number_input("Multiplier", min_value=0.01, max_value=16.0, step=0.05, format="%g", **bound("width_factor"))
        st.caption("A model's own choice, 1 for none.")
    with multiple:
        st.number_input("Multiple of", min_value=1, max_value=1_000_000, step=256, **bound("width_multiple"))
        st.caption("Rounded up, so that the matrices divide well.")
