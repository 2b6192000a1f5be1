"""The functions that a feed-forward may bend its numbers with, and their slopes."""

from collections.abc import Callable

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import gelu, relu, silu

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "ReLU": relu,
    "GELU": gelu,
    "GELU (tanh)": lambda x: gelu(x, approximate="tanh"),
    "SiLU": silu,
}


def activation_curves(low: float = -6.0, high: float = 6.0, points: int = 121) -> pd.DataFrame:
    """``x``, ``name``, ``value`` and ``slope`` of every function; the slopes are torch's own derivatives.

    ReLU: max(0, x). GELU: x · Φ(x), and its approximation 0.5x(1 + tanh(√(2/π)(x + 0.044715x³))) (Hendrycks and Gimpel
    2016). SiLU, also called Swish: x · sigmoid(x) (Elfwing et al. 2017); lowest at x = -1.2785, where it is -0.2785.
    """
    parts = []
    for name, function in FUNCTIONS.items():
        x = torch.linspace(low, high, points, dtype=torch.float64, requires_grad=True)
        value = function(x)
        (slope,) = torch.autograd.grad(value.sum(), x)
        parts.append(
            pd.DataFrame(
                {"x": x.detach().numpy(), "name": name, "value": value.detach().numpy(), "slope": slope.numpy()}
            )
        )
    return pd.concat(parts, ignore_index=True)
