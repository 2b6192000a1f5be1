"""One of the repeated layers."""

from torch import Tensor, nn

from explorer.config import ModelConfig
from explorer.model.attention import GroupedQueryAttention
from explorer.model.feed_forward import SwiGLU
from explorer.model.kv_cache import KVCache
from explorer.model.rms_norm import RMSNorm
from explorer.model.tap import Taps


class DecoderLayer(nn.Module):
    """Two vectors added to the residual stream: first attention's, then the feed-forward's.

    Each sub-layer reads a normalised copy; the stream itself is never normalised (pre-norm).
    """

    def __init__(self, layer: int, config: ModelConfig) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.d_model, config.norm_eps)
        self.attention = GroupedQueryAttention(
            layer,
            config.d_model,
            config.n_heads,
            config.n_kv_heads,
            config.head_dim,
            bias=config.query_key_value_bias,
            head_norm_eps=config.norm_eps if config.query_key_norm else None,
        )
        self.feed_forward_norm = RMSNorm(config.d_model, config.norm_eps)
        self.feed_forward = SwiGLU(config.d_model, config.d_ff)
        self.tap = Taps(
            before="batch token d_model",
            after_attention="batch token d_model",
            after_feed_forward="batch token d_model",
        )

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor], cache: KVCache | None = None) -> Tensor:
        """(batch, token, d_model), cos and sin (token, head_dim / 2) -> (batch, token, d_model)"""
        x = self.tap.before(x)
        x = self.tap.after_attention(x + self.attention(self.attention_norm(x), rotation, cache))
        return self.tap.after_feed_forward(x + self.feed_forward(self.feed_forward_norm(x)))
