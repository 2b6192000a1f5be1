"""How gradients fare in an untrained stack, by the place of the norm: computed, not quoted."""

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import rms_norm

PLACES = ("post", "pre", "both", "output")
WIDTH = 64
N_EXAMPLES = 32


def gradient_lengths(depth: int = 48, seed: int = 0) -> pd.DataFrame:
    """The length of the gradient of each sub-layer's output matrix at the start of training.

    A stack of ``depth`` random feed-forwards, W2 relu(W1 x), with a residual connection around each and the norm in one
    of four places; the loss is a cross-entropy over random classes. Where the norm is not on the stream, a final one
    stands before the classes. Columns: ``place``, ``depth`` from 1, ``gradient``, relative to the last sub-layer of
    pre-norm.    After Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture"
    """
    rows = []
    for place in PLACES:
        for index, length in enumerate(_gradients(place, depth, seed)):
            rows.append({"place": place, "depth": index + 1, "gradient": length})
    table = pd.DataFrame(rows)
    last = table[(table["place"] == "pre") & (table["depth"] == depth)]["gradient"].iloc[0]
    return table.assign(gradient=table["gradient"] / last)


def _gradients(place: str, depth: int, seed: int) -> list[float]:
    generator = torch.Generator().manual_seed(seed)

    def random(rows: int, columns: int) -> Tensor:
        return torch.randn(rows, columns, generator=generator) * columns**-0.5

    first = [random(WIDTH, WIDTH) * 2**0.5 for _ in range(depth)]  # relu halves the variance
    second = [random(WIDTH, WIDTH).requires_grad_() for _ in range(depth)]
    classes, x = random(WIDTH, WIDTH), torch.randn(N_EXAMPLES, WIDTH, generator=generator)
    targets = torch.randint(WIDTH, (N_EXAMPLES,), generator=generator)
    with torch.enable_grad():
        for w1, w2 in zip(first, second, strict=True):
            read = _norm(x) if place in ("pre", "both") else x
            write = (read @ w1.T).relu() @ w2.T
            if place in ("both", "output"):
                write = _norm(write)
            x = _norm(x + write) if place == "post" else x + write
        scores = (x if place == "post" else _norm(x)) @ classes.T
        loss = torch.nn.functional.cross_entropy(scores, targets)
        return [float(each.norm()) for each in torch.autograd.grad(loss, second)]


def _norm(x: Tensor) -> Tensor:
    return rms_norm(x, (x.shape[-1],), eps=1e-5)
