"""``feed-forward``: the neurons of one layer for one token."""

from explorer.analysis.feed_forward import (
    feed_forward_taps,
    neuron_table,
    pushes,
    strongest,
    sum_error,
    with_readout,
)
from explorer.cli.arguments import in_range
from explorer.cli.session import Session

TOKENS = 6


def feed_forward(
    session: Session, text: str | tuple[int, ...], *, layer: int, token: int | None, count: int
) -> dict[str, object]:
    """The ``count`` neurons with the largest product, largest first; the last token unless ``token`` names another.

    ``share`` is the neuron's part of the output's length, ``sum_error`` how far all neurons together are from what the
    layer wrote, relative to that. ``promoted`` and ``suppressed`` are texts of tokens. Raises ``BadValue`` for a layer,
    token or count that is not there.
    """
    in_range("--layer", layer, session.card.config.n_layers)
    in_range("--count", count, session.card.config.d_ff + 1)
    trace = session.trace(text, taps=feed_forward_taps(layer))
    place = len(trace.token_ids) - 1 if token is None else in_range("--token", token, len(trace.token_ids))
    down = session.engine.parameter(session.model, f"layers.{layer}.feed_forward.down.weight")
    table = neuron_table(trace, layer, place, down)
    chosen = strongest(table, count)
    gain = session.engine.parameter(session.model, "norm.gain")
    readout = session.engine.readout(session.model, pushes(chosen, down, gain), count=TOKENS, normalised=False)
    named = with_readout(chosen, readout, session.tokenizer.label)
    return {
        "model": session.model,
        "token_ids": list(trace.token_ids),
        "layer": layer,
        "token": place,
        "neurons": [{"index": row.pop("neuron"), **row} for row in named.to_dict("records")],
        "sum_error": sum_error(trace, layer, place, table, down),
    }
