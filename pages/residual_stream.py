"""How far each token's vector has grown after every sub-layer."""

from explorer.analysis.residual_stream import STREAM_NORMS, stream_norms
from explorer.figures.residual_stream import stream_norm_lines
from explorer.ui.chart import chart, numbers
from explorer.ui.details import details
from explorer.ui.page import open_page

SNIPPET = """from explorer.analysis.residual_stream import STREAM_NORMS, stream_norms
from explorer.cli.session import Session

trace = Session({model!r}).trace({prompt!r}, norms=STREAM_NORMS)
norms = stream_norms(trace)
print(norms[norms["token"] == {token}])"""

page = open_page("residual_stream")
run = page.run(norms=STREAM_NORMS)
norms = stream_norms(run.trace)
chosen = norms[norms["token"] == run.selected]["norm"]
label = run.labels[run.selected]

chart(
    stream_norm_lines(norms, run.labels, run.selected),
    name="stream-norms",
    summary=(
        f"Length of the residual vector of every token through the layers, on a logarithmic axis. The selected token "
        f"{label} starts at {chosen.iloc[0]:.4g}, ends at {chosen.iloc[-1]:.4g} and is longest at {chosen.max():.4g}."
    ),
)
numbers(
    norms.assign(text=norms["token"].map(dict(enumerate(run.labels)))),
    name="stream-norms",
    snippet=page.snippet(SNIPPET, token=run.selected),
)
details(
    page.blueprint,
    n_tokens=len(run.tokens),
    subject="residual_stream",
    formula=r"""
\begin{aligned}
x_{l+\frac12} &= x_l + \mathrm{Attention}(\mathrm{RMSNorm}(x_l)) \\
x_{l+1} &= x_{l+\frac12} + \mathrm{FeedForward}(\mathrm{RMSNorm}(x_{l+\frac12}))
\end{aligned}
""",
    taps=("tap.embedded", "layers.0.tap.after_attention", "layers.0.tap.after_feed_forward"),
    code="explorer.model.layer.DecoderLayer",
)
