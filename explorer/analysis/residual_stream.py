"""How the residual stream grows through the layers."""

import pandas as pd
import torch

from explorer.trace.trace import Trace

STREAM_NORMS = frozenset({"tap.embedded", "layers.*.tap.after_attention", "layers.*.tap.after_feed_forward"})


def stream_norms(trace: Trace) -> pd.DataFrame:
    """The length of every token's residual vector after each sub-layer.

    One row per (depth, token): ``depth`` counts sub-layers, 0 is the embedding; ``layer`` is -1 there; ``after`` names
    the sub-layer; ``norm`` is the L2 length.
    Needs ``STREAM_NORMS`` among the trace's norms.
    """
    attention = trace.layer_norms("tap.after_attention")  # (layer, token)
    feed_forward = trace.layer_norms("tap.after_feed_forward")
    writes = torch.stack((attention, feed_forward), dim=1).flatten(0, 1)
    lengths = torch.cat((trace.norms["tap.embedded"][None], writes))  # (depth, token)
    wide = pd.DataFrame(lengths.numpy()).rename_axis(index="depth", columns="token")
    table = wide.stack().rename("norm").reset_index()
    table.insert(1, "layer", (table["depth"] + 1) // 2 - 1)
    table.insert(2, "after", table["depth"].map(_sub_layer))
    return table


def _sub_layer(depth: int) -> str:
    if depth == 0:
        return "embedding"
    return "attention" if depth % 2 else "feed-forward"
