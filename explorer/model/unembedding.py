"""The way out: vectors become one score per token of the vocabulary."""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear


class Unembedding(nn.Module):
    """Score every token of the vocabulary by a dot product with its row.

    Without ``weight`` of its own (tied embedding) the rows of the embedding table are used.
    """

    def __init__(self, vocab_size: int, d_model: int, *, tied_to: nn.Parameter | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model)) if tied_to is None else tied_to

    def forward(self, x: Tensor) -> Tensor:
        """(batch, token, d_model) -> (batch, token, vocab)"""
        return linear(x, self.weight)
