"""The whole model."""

import torch
from torch import Tensor, nn

from explorer.config import ModelConfig
from explorer.model.embedding import TokenEmbedding
from explorer.model.kv_cache import KVCache
from explorer.model.layer import DecoderLayer
from explorer.model.rms_norm import RMSNorm
from explorer.model.rope import rotation_angles, rotation_speeds
from explorer.model.tap import Taps
from explorer.model.unembedding import Unembedding


class Llama(nn.Module):
    """Embed the tokens, run the layers, score every token of the vocabulary.

    The architecture of Llama 1 to 3.3 and of its relatives: "The Llama 3 Herd of Models", 2024.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config.vocab_size, config.d_model)
        self.layers = nn.ModuleList(DecoderLayer(layer, config) for layer in range(config.n_layers))
        self.norm = RMSNorm(config.d_model, config.norm_eps)
        self.unembedding = Unembedding(
            config.vocab_size, config.d_model, tied_to=self.embedding.weight if config.tied_embedding else None
        )
        self.tap = Taps(
            embedded="batch token d_model",
            final="batch token d_model",
            normalised="batch token d_model",
            logits="batch token vocab",
        )

    def forward(self, token_ids: Tensor, cache: KVCache | None = None) -> Tensor:
        """(batch, token) -> (batch, token, vocab)

        With a ``cache`` the tokens continue what the cache holds, and are added to it.
        """
        return self.score(self.stream(token_ids, cache))

    def stream(self, token_ids: Tensor, cache: KVCache | None = None) -> Tensor:
        """The residual stream after the last layer, before the final norm: (batch, token) -> (batch, token, d_model)"""
        start = cache.length if cache is not None else 0
        rotation = self.rotation(start, token_ids.shape[1])
        x = self.tap.embedded(self.embedding(token_ids))
        for layer in self.layers:
            x = layer(x, rotation, cache)
        if cache is not None:
            cache.advance(token_ids.shape[1])
        return self.tap.final(x)

    def score(self, x: Tensor) -> Tensor:
        """Final norm and unembedding of any rows of the stream: (batch, token, d_model) -> (batch, token, vocab)"""
        return self.tap.logits(self.unembedding(self.tap.normalised(self.norm(x))))

    def rotation(self, start: int, n_tokens: int) -> tuple[Tensor, Tensor]:
        """Cosine and sine for ``n_tokens`` positions from ``start``: two tensors (token, head_dim / 2)"""
        config = self.config
        device = self.embedding.weight.device
        speeds = rotation_speeds(config.head_dim, config.rope_theta, config.rope_scaling)
        return rotation_angles(torch.arange(start, start + n_tokens, device=device), speeds.to(device))
