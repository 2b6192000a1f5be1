"""``attention``: the maps of one layer."""

from explorer.analysis.attention import attention_taps, entropies, head_pattern, kv_head
from explorer.cli.arguments import in_range
from explorer.cli.session import Session
from explorer.config import ModelConfig
from explorer.trace.trace import Trace


def attention(session: Session, text: str | tuple[int, ...], *, layer: int, head: int | None) -> dict[str, object]:
    """One head's map, or those of all heads of the layer with one more list around each.

    ``pattern`` [query][key] with the future as 0; ``entropy`` in nats and ``first_token_share`` [query]. Raises
    ``BadValue`` for a layer or head that the model does not have.
    """
    config = session.card.config
    in_range("--layer", layer, config.n_layers)
    if head is not None:
        in_range("--head", head, config.n_heads)
    trace = session.trace(text, taps=attention_taps(layer))
    said: dict[str, object] = {"model": session.model, "token_ids": list(trace.token_ids), "layer": layer}
    if head is not None:
        return said | _head(trace, layer, head, config)
    heads = [_head(trace, layer, each, config) for each in range(config.n_heads)]
    return said | {name: [each[name] for each in heads] for name in heads[0]}


def _head(trace: Trace, layer: int, head: int, config: ModelConfig) -> dict[str, object]:
    weights = head_pattern(trace, layer, head)
    return {
        "head": head,
        "kv_head": kv_head(head, config),
        "pattern": weights.tolist(),
        "entropy": entropies(weights).tolist(),
        "first_token_share": weights[:, 0].tolist(),
    }
