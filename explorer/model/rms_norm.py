"""Bring a vector back to unit size before a sub-layer reads it."""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    """Divide by the root mean square, then scale every dimension by a learned gain.

    x / sqrt(mean(x²) + eps) * gain    Zhang and Sennrich 2019, "Root Mean Square Layer Normalization"
    """

    def __init__(self, d_model: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.empty(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_model) -> (..., d_model)"""
        wide = x.float()  # 300² already overflows float16
        scale = wide.pow(2).mean(-1, keepdim=True).add(self.eps).rsqrt()
        return (wide * scale).type_as(x) * self.gain
