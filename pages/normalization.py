"""What a norm does to a vector, and where it can stand."""

import numpy as np
import streamlit as st

from explorer.analysis import normalization as analysis
from explorer.analysis.norm_gradients import gradient_lengths
from explorer.figures.normalization import by_hand_bars, eps_lines, gradient_lines, histogram, sorted_gains
from explorer.ui import state
from explorer.ui.chart import chart, numbers
from explorer.ui.components import Fact, fact_list
from explorer.ui.controls import layer_control
from explorer.ui.details import details
from explorer.ui.norm_places_component import norm_places
from explorer.ui.normalization_controls import NORMS, norm_control, vector_control
from explorer.ui.page import open_page
from explorer.ui.strip_component import strip

OTHER_EPS = 1e-6
TOO_LARGE_FOR_HALF = (300.0, -300.0, 200.0, 100.0)
VECTOR_SNIPPET = """from explorer.analysis.normalization import dimension_table, norm_in_model, normalised
from explorer.cli.session import Session

session = Session({model!r})
norm = norm_in_model({norm!r}, {layer})
trace = session.trace({prompt!r}, rows=norm.rows, scored=[{place}])
gain = session.engine.parameter(session.model, norm.gain)
print(dimension_table(normalised(trace, norm, gain, session.card.config.norm_eps)))"""
STEPS_SNIPPET = """from explorer.analysis.normalization import steps_table

print(steps_table({small!r}, eps={eps}))"""
GRADIENT_SNIPPET = """from explorer.analysis.norm_gradients import gradient_lengths

print(gradient_lengths())"""

page = open_page("normalization")
config = page.blueprint.config
which, layer_side = st.columns([3, 2], gap="large")
with which:
    norm_control()
with layer_side:
    if page.view.norm != "final":
        layer_control(config.n_layers)
norm = analysis.norm_in_model(page.view.norm, page.view.layer)
run = page.run(rows=norm.rows)
view = state.current()
result = analysis.normalised(run.trace, norm, page.parameter(norm.gain), config.norm_eps)
small, eps = view.numbers, config.norm_eps
by_rms, by_layer = analysis.rms_norm_steps(small, eps)[-1].values, analysis.layer_norm_steps(small, eps)[-1].values


def real_vector() -> None:
    """The chosen token's vector before and after the chosen norm."""
    strongest = np.abs(result.before).argsort()[::-1][:4]
    marks = [(int(place), str(place)) for place in strongest]
    for name, values, height, shown in (
        ("before", result.before, 26, marks),
        ("÷ rms", result.divided, 26, []),
        ("gain", result.gain, 18, []),
        ("after", result.after, 26, []),
    ):
        strip(
            values[None],
            name=f"{name}: the {len(values)} numbers of token {run.selected}",
            key=f"strip-{name}",
            rows=[name],
            marks=shown,
            scale="root",
            height=height,
            gutter=64,
        )
    st.caption(
        "Each row is one vector, a column is a dimension, and every row has its own scale: dividing changes the "
        "numbers, not the picture. Only the gain changes the picture. Colours grow with the square root of a number."
    )
    fact_list(
        [
            Fact(name="Length (L2) before", value=f"{np.linalg.norm(result.before):,.5g}"),
            Fact(name="Root mean square (rms)", value=f"{result.rms:.5g}", note="length ÷ √dimensions"),
            Fact(
                name="rms after dividing",
                value=f"{np.sqrt((result.divided**2).mean()):.6f}",
                note=f"1 but for eps = {eps:g}",
            ),
            Fact(name="Length after the gain", value=f"{np.linalg.norm(result.after):,.5g}"),
            Fact(
                name="Made up by one dimension",
                value=f"{result.largest_share:.1%}",
                note=f"of the mean square, by dimension {strongest[0]}",
            ),
            Fact(name="The model's own result", value=f"{result.residual:.1e} apart", note="largest difference"),
        ],
        key="norm-facts",
        tile=230,
    )
    numbers(analysis.dimension_table(result), name="norm", snippet=page.snippet(VECTOR_SNIPPET, place=run.selected))


def learned_gain() -> None:
    """The gain of the chosen norm, sorted and counted."""
    st.subheader("The learned gain", anchor=False)
    gain = result.gain
    words = f"from {gain.min():.4g} to {gain.max():.4g}, in the middle {np.median(gain):.4g}"
    st.caption(
        f"One number per dimension, the same for every token and text: {words}; {int((gain < 0).sum())} are negative. "
        "It is all that the norm has learned."
    )
    one, two = st.columns(2, gap="large")
    with one:
        chart(sorted_gains(gain), name="gain-sorted", summary=f"The gains of {NORMS[view.norm]}, sorted: {words}.")
    with two:
        summary = f"How many dimensions have which gain: {words}."
        chart(histogram(gain, x="gain"), name="gain-histogram", summary=summary)


def by_hand() -> None:
    """RMSNorm and LayerNorm of a small vector, line by line."""
    st.subheader("By hand: RMSNorm and LayerNorm", anchor=False)
    controls, picture = st.columns([2, 3], gap="large")
    with controls:
        vector_control()
        kept, lost = analysis.cosine(small, by_rms), analysis.cosine(small, by_layer)
        fact_list(
            [
                Fact(name="Direction kept by RMSNorm", value=_cosine(kept), note="cosine with x"),
                Fact(name="Direction after LayerNorm", value=_cosine(lost), note="cosine with x"),
                Fact(name="Mean after LayerNorm", value=f"{abs(np.mean(by_layer)):.1e}", note="the centre goes to 0"),
            ],
            key="hand-facts",
            tile=130,
        )
    with picture:
        chart(
            by_hand_bars(small, by_rms, by_layer),
            name="by-hand",
            summary=f"x is {small}; RMSNorm gives {_rounded(by_rms)}; LayerNorm gives {_rounded(by_layer)}.",
        )
    rms_side, layer_side = st.columns(2, gap="large")
    for column, title, key, steps in (
        (rms_side, "RMSNorm, as in Llama", "rms-steps", analysis.rms_norm_steps(small, eps)),
        (layer_side, "LayerNorm, as in GPT-2", "layer-steps", analysis.layer_norm_steps(small, eps)),
    ):
        with column:
            st.markdown(f"**{title}**")
            fact_list([Fact(name=step.name, value=_rounded(step.values)) for step in steps], key=key, tile=400)
    numbers(analysis.steps_table(small, eps), name="by-hand", snippet=page.snippet(STEPS_SNIPPET, small=small, eps=eps))


def small_and_large() -> None:
    """What eps does to tiny vectors, and float16 to large ones."""
    st.subheader("Too small, and too large", anchor=False)
    tiny, large = st.columns(2, gap="large")
    size = 0.001
    with tiny:
        st.markdown("**eps at work on tiny vectors**")
        chart(
            eps_lines(
                analysis.eps_curve((eps, OTHER_EPS) if eps != OTHER_EPS else (eps, 1e-5)),
                {"this token": result.rms, "a vector of 0.001s": size} if result.rms > 0 else {},
            ),
            name="eps",
            summary=(
                f"Root mean square after the norm by that before. At {size} it is {analysis.size_after(size, eps):.4f} "
                f"with eps {eps:g} and {analysis.size_after(size, OTHER_EPS):.4f} with {OTHER_EPS:g}."
            ),
        )
        st.caption(
            f"eps keeps the divisor from being 0. A vector of 0.001s comes out at {analysis.size_after(size, eps):.4f} "
            f"with eps = {eps:g}, at {analysis.size_after(size, OTHER_EPS):.4f} with {OTHER_EPS:g}: the value must be "
            "read from the model's file."
        )
    with large:
        st.markdown("**Squares that float16 cannot hold**")
        check = analysis.half_check(TOO_LARGE_FOR_HALF, eps)
        over = analysis.overflowing(result.before)
        fact_list(
            [
                Fact(name="x in float16", value=_rounded(check.x)),
                Fact(name="squared in float16", value=_rounded(check.squares), note="largest number: 65,504"),
                Fact(name="RMSNorm from these squares", value=_rounded(check.in_float16), note="divided by infinity"),
                Fact(name="RMSNorm from float32 squares", value=_rounded(check.in_float32), note="the right result"),
                Fact(
                    name="In this token's real vector",
                    value=f"{over} of {len(result.before)}",
                    note=f"squares would overflow; the largest number is {np.abs(result.before).max():,.5g}",
                ),
            ],
            key="half-facts",
            tile=400,
        )


def places() -> None:
    """Where the norm can stand, and what that does to gradients."""
    st.subheader("Where the norm can stand", anchor=False)
    norm_places(here="pre", key="norm-places")
    gradients = gradient_lengths()
    last = gradients[gradients["depth"] == gradients["depth"].max()].set_index("place")["gradient"]
    chart(
        gradient_lines(gradients),
        name="gradients",
        summary=(
            f"Gradient of each sub-layer's weights before any training: in the last one, post-norm's is "
            f"{last['post'] / last['pre']:.1f} times pre-norm's."
        ),
    )
    st.caption(
        f"Computed now, on an untrained stack of {len(gradients) // 4} random feed-forwards (not the model above): the "
        f"gradient in the last sub-layer is {last['post'] / last['pre']:.1f} times larger with post-norm than with "
        "pre-norm, which is why post-norm needs a slow start. Both sides and output only coincide here, because a "
        "sub-layer with relu gives the same direction for a vector of any length."
    )
    numbers(gradients, name="gradients", snippet=GRADIENT_SNIPPET)


def _rounded(values: tuple[float, ...]) -> str:
    return ", ".join("∞" if value == float("inf") else f"{value + 0.0:,.5g}" for value in values)


def _cosine(value: float) -> str:
    return f"{value:.6f}" if value == value else "–"  # NaN: one of them has no direction


real_vector()
learned_gain()
by_hand()
small_and_large()
places()
details(
    page.blueprint,
    n_tokens=len(run.tokens),
    subject="normalization",
    formula=r"""
\begin{aligned}
\mathrm{RMSNorm}(x) &= \frac{x}{\sqrt{\frac1d \sum_i x_i^2 + \epsilon}} \odot \gamma \\
\mathrm{LayerNorm}(x) &= \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} \odot \gamma + \beta
\end{aligned}
""",
    taps=(norm.before, norm.after) if view.norm != "final" else (norm.before,),
    code="explorer.model.rms_norm.RMSNorm",
)
