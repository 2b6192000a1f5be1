"""The way in: token ids become vectors."""

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding


class TokenEmbedding(nn.Module):
    """Look up one learned row per token id: a gather, not a matrix product."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))

    def forward(self, token_ids: Tensor) -> Tensor:
        """(batch, token) -> (batch, token, d_model)"""
        return embedding(token_ids, self.weight)
