"""What every neuron of one layer does with one token."""

import numpy as np
import streamlit as st

from explorer.analysis import feed_forward
from explorer.analysis.activations import activation_curves
from explorer.analysis.feed_forward_width import Width, presets
from explorer.figures.feed_forward import curve_lines, needed_line, quiet_line, stage_bars
from explorer.figures.theme import EMBEDDING, FEED_FORWARD
from explorer.ui import state
from explorer.ui.chart import chart, numbers
from explorer.ui.components import Fact, fact_list
from explorer.ui.controls import layer_control, threshold_control, width_controls
from explorer.ui.details import details
from explorer.ui.page import open_page
from explorer.ui.score_table import Column, Row, score_table
from explorer.ui.weighted_text import weighted_text
from explorer.ui.words import error

COUNT, TOKENS, LISTED = 24, 6, 200  # neurons drawn, tokens named for each, neurons in the table of numbers
MISSING = 0.1
THRESHOLDS = np.geomspace(1e-4, 100, 61).tolist()
SNIPPET = """from explorer.analysis.feed_forward import feed_forward_taps, neuron_table, strongest
from explorer.cli.session import Session

session = Session({model!r})
trace = session.trace({prompt!r}, taps=feed_forward_taps({layer}))
down = session.engine.parameter(session.model, "layers.{layer}.feed_forward.down.weight")
print(strongest(neuron_table(trace, {layer}, {token}, down), 200))"""
COLUMNS = (
    Column(title="Neuron", note="its place among the layer's neurons; shows it along the text"),
    Column(title="Product", digits=3, size=True, bar=0.001, note="SiLU(gate) × up"),
    Column(title="Share", digits=4, size=True, note="its part of the output's length; all neurons add to 1"),
    Column(title="Speaks for", note="tokens whose scores it raises most"),
    Column(title="Speaks against", note="tokens whose scores it lowers most"),
    Column(title="Gate", digits=3, size=True, note="before SiLU"),
    Column(title="SiLU(gate)", digits=3, size=True),
    Column(title="Up", digits=3, size=True),
)
CELLS = ("neuron", "product", "share", "promoted", "suppressed", "gate", "silu_gate", "up")

page = open_page("feed_forward")
view, config, ids = page.view, page.blueprint.config, page.encoding.ids
layer, token = view.layer, page.selected
labels = [each.label for each in page.encoding.tokens]
trace = page.trace(ids, taps=feed_forward.feed_forward_taps(layer))
layer_control(config.n_layers)
down = page.parameter(f"layers.{layer}.feed_forward.down.weight")
table = feed_forward.neuron_table(trace, layer, token, down)
missing = feed_forward.needed_for(table, down)
enough = int((missing <= MISSING).argmax())
top = feed_forward.strongest(table, COUNT)
readout = page.readout(feed_forward.pushes(top, down, page.parameter("norm.gain")), count=TOKENS, normalised=False)
top = feed_forward.with_readout(top, readout, page.tokenizer.label)
neuron = view.neuron if 0 <= view.neuron < config.d_ff else int(top["neuron"][0])
products = feed_forward.along_the_text(trace, layer, neuron)

fact_list(
    [
        Fact(name="Token", value=labels[token], literal=True, note=f"number {token}, layer {layer}"),
        Fact(name="Neurons", value=f"{len(table):,}", note=f"{config.d_model:,} numbers, widened and narrowed"),
        Fact(
            name="Strongest", value=f"{top['product'][0]:+.3f}".replace("-", "−"),
            note=f"product of neuron {top['neuron'][0]:,}",
        ),
        Fact(name=f"{1 - MISSING:.0%} of the output", value=f"{enough:,} neurons", note="the strongest ones, added up"),
        Fact(
            name="Sum of all neurons = output", value=error(feed_forward.sum_error(trace, layer, token, table, down)),
            note="relative to the output's length",
        ),
        Fact(name="Their shares add to 1", value=error(abs(float(table["share"].sum()) - 1)), note="the error"),
    ],
    key="feed-forward-facts",
    tile=150,
)  # fmt: skip

st.subheader("The strongest neurons for this token", anchor=False)
score_table(
    COLUMNS,
    [
        Row(
            id=str(row["neuron"]), name=f"{row['neuron']:,}",
            cells=[row[name] for name in CELLS],
        )
        for row in top.to_dict("records")
    ],
    name="The strongest neurons", sort=1, opened=str(neuron), tone=FEED_FORWARD, key="neurons",
    on_pick=lambda name: state.go(neuron=int(name)),
)  # fmt: skip
st.caption(
    "What a neuron speaks for: its contribution times the gain of the final norm, read through the unembedding. The "
    "norm's division is one positive factor for all tokens and does not change the order. What later layers do is left "
    "out."
)
numbers(feed_forward.strongest(table, LISTED), name="neurons", snippet=page.snippet(SNIPPET, layer=layer, token=token))

st.subheader(f"Neuron {neuron:,} along the text", anchor=False)
largest = float(abs(products).max()) or 1.0
weighted_text(
    labels, (products / largest).tolist(), [f"product {value:+.4f}".replace("-", "−") for value in products],
    name=f"Product of neuron {neuron} at every token", selected=token, tones=(EMBEDDING, FEED_FORWARD),
    on_pick=lambda place: state.go(token=place), key="neuron-text",
)  # fmt: skip
st.caption(
    f"Green is positive, blue with a dashed edge negative; full colour is {largest:.3f}. Click a neuron above, or a "
    "token."
)

st.subheader("All neurons", anchor=False)
spread, few = st.columns([3, 2], gap="large")
with spread:
    chart(
        stage_bars(table),
        name="feed-forward-stages",
        summary=f"Four histograms of the {len(table):,} neurons: gate, SiLU of gate, up, and their product.",
    )
    st.caption("How many neurons lie where, stage by stage, for this token. The count is on a log axis.")
with few:
    chart(
        needed_line(missing, MISSING),
        name="feed-forward-needed",
        summary=f"{enough:,} of {len(table):,} neurons leave {MISSING:.0%} of the output missing.",
    )
    st.caption("What is still missing of the output when the strongest neurons are added one by one.")
quiet, control = st.columns([3, 2], gap="large")
share = float(feed_forward.quietness(trace, layer, [view.threshold])["share"][0])
with control:
    threshold_control()
    st.text(f"{share:.1%} of all products of this layer are smaller than {view.threshold:g}.")
    st.caption(
        "Counted over all tokens of your text. SiLU is hardly ever exactly 0, so there is no sparsity without it."
    )
with quiet:
    chart(
        quiet_line(feed_forward.quietness(trace, layer, THRESHOLDS), view.threshold, share),
        name="feed-forward-quiet",
        summary=f"{share:.1%} of the products stay below {view.threshold:g}.",
    )

st.subheader("The bend", anchor=False)
curves = activation_curves()
values, slopes = st.columns(2, gap="large")
for place, column, words in ((values, "value", "The functions"), (slopes, "slope", "Their slopes")):
    with place:
        chart(
            curve_lines(curves, table["gate"].tolist(), column),
            name=f"activation-{column}",
            summary=f"{words} of ReLU, GELU, its tanh approximation and SiLU; marks below are the gates of this token.",
        )
        st.caption(f"{words}; the marks below are this token's gates in this layer, those beyond ±6 at the edge.")

st.subheader("How wide?", anchor=False)
width_controls([(each.name, each.width.d_model, each.width.multiplier, each.width.multiple_of) for each in presets()])
width = Width(d_model=view.width_in or config.d_model, multiplier=view.width_factor, multiple_of=view.width_multiple)
fact_list(
    [
        Fact(name="4 × d_model", value=f"{width.plain:,}", note="a plain feed-forward, two matrices"),
        Fact(name="× 2/3", value=f"{width.two_thirds:,}", note="three matrices at the same cost"),
        Fact(name=f"× {width.multiplier:g}", value=f"{width.multiplied:,}", note="a model's own multiplier"),
        Fact(name="d_ff", value=f"{width.d_ff:,}", note=f"rounded up to a multiple of {width.multiple_of:,}"),
        Fact(name="Weights of one layer", value=f"{3 * width.d_model * width.d_ff:,}", note="3 × d_model × d_ff"),
        Fact(name="This model", value=f"{config.d_ff:,}", note=f"{config.name}, d_model {config.d_model:,}"),
    ],
    key="width-facts",
    tile=150,
)  # fmt: skip
details(
    page.blueprint,
    n_tokens=len(ids),
    subject="feed_forward",
    formula=r"""
\begin{aligned}
y &= W_{\text{down}}\bigl(\mathrm{SiLU}(W_{\text{gate}}\,x) \odot W_{\text{up}}\,x\bigr) \\
&= \sum_{n=1}^{d_{\text{ff}}} \mathrm{SiLU}(g_n)\,u_n \; w^{\text{down}}_n
\end{aligned}
""",
    taps=tuple(f"layers.{layer}.feed_forward.tap.{name}" for name in ("input", "gate", "up", "product", "output")),
    code="explorer.model.feed_forward.SwiGLU",
)
