"""Rotary position embedding: a token's position turns its queries and keys.

One convention everywhere: pair i is dimensions (2i, 2i+1), as in Meta's files. Hugging Face files pair (i, i + d/2)
and are reordered when they are loaded.
"""

import math

import torch
from torch import Tensor

from explorer.config import FactorScaling, LinearScaling, Llama3Scaling, RopeScaling


def base_speeds(head_dim: int, theta: float) -> Tensor:
    """Radians per position of every pair before any scaling: theta^(-2i/head_dim).

    Returns (head_dim / 2,) in float64.    Su et al. 2021, "RoFormer"
    """
    return theta ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)


def rotation_speeds(head_dim: int, theta: float, scaling: RopeScaling | None) -> Tensor:
    """Radians per position of every pair as the model uses them.

    Returns (head_dim / 2,) in float64.    Meta's ``apply_scaling`` for the llama3 kind
    """
    speed = base_speeds(head_dim, theta)
    match scaling:
        case None:
            return speed
        case LinearScaling(factor=factor):
            return speed / factor
        case FactorScaling(factors=factors):
            return speed / torch.tensor(factors, dtype=torch.float64)
        case Llama3Scaling():
            blend = kept_share(speed, scaling)
            return speed * blend + speed / scaling.factor * (1 - blend)


def kept_share(speed: Tensor, scaling: Llama3Scaling) -> Tensor:
    """How much of its speed each pair keeps under llama3 scaling: 1 is kept, 0 is slowed by the whole factor.

    A pair is judged by its turns within the original context.
    """
    turns = scaling.original_context * speed / (2 * math.pi)
    span = scaling.high_freq_factor - scaling.low_freq_factor
    return ((turns - scaling.low_freq_factor) / span).clamp(0, 1)


def rotation_angles(positions: Tensor, speeds: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and sine of every pair's angle at every position: two tensors (token, head_dim / 2) in float32.

    The angle is a product of float32 numbers, as in Meta's and Hugging Face's code.
    """
    angles = torch.outer(positions.float(), speeds.float())
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn every pair of ``x`` by its angle; lengths stay.

    (..., token, head_dim), (token, head_dim / 2) twice -> (..., token, head_dim)
    """
    even, odd = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2).type_as(x)
