"""One branch gates the other."""

import json
import math

import pytest
import torch
from torch import Tensor, nn

from explorer.model.feed_forward import SwiGLU
from explorer.trace.recorder import recording
from tests.conftest import DATA


def with_weights(gate: list[list[float]], up: list[list[float]], down: list[list[float]]) -> SwiGLU:
    module = SwiGLU(d_model=len(gate[0]), d_ff=len(gate)).requires_grad_(False).double()
    for linear, rows in ((module.gate, gate), (module.up, up), (module.down, down)):
        linear.weight.copy_(torch.tensor(rows, dtype=torch.float64))
    return module


def activated(values: list[float]) -> list[float]:
    """What the activation makes of ``values``."""
    ones = [[1.0] for _ in values]
    module = with_weights([[value] for value in values], ones, [[1.0 for _ in values]])
    seen: list[Tensor] = []
    with recording(module, {"tap.activated": seen.append}):
        module(torch.ones(1, 1, 1).double())
    result: list[float] = seen[0].flatten().tolist()
    return result


def test_silu_is_signed_and_smallest_near_minus_1_28() -> None:
    x = [-20.0, -1.278464542761074, -1.0, 0.0, 1.0, 5.0]  # case F02
    expected = [-4.122307236380407e-08, -0.2784645427610738, -0.2689414213699951, 0.0, 0.7310585786300049,
                4.966535745378576]  # fmt: skip
    assert activated(x) == pytest.approx(expected, abs=1e-12)


def test_the_worked_example_comes_out() -> None:
    example = json.loads((DATA / "llama-3.1-8b-reference-run.json").read_text())["swiglu_example"]
    before = [inverse_silu(y) for y in example["first_branch_after_silu"]]
    module = with_weights(diagonal(before), diagonal(example["second_branch"]), diagonal([1.0, 1.0, 1.0]))
    product = module(torch.ones(1, 1, 3).double())[0, 0]
    torch.testing.assert_close(product, torch.tensor(example["product"]).double(), atol=1e-6, rtol=0)


def test_it_is_the_formula_of_the_paper() -> None:
    generator = torch.Generator().manual_seed(0)
    module = SwiGLU(36, 44).requires_grad_(False)
    for parameter in module.parameters():
        parameter.normal_(generator=generator)
    x = torch.randn(1, 5, 36, generator=generator)
    gate, up, down = module.gate.weight, module.up.weight, module.down.weight
    wide = x @ gate.T
    expected = (wide / (1 + (-wide).exp()) * (x @ up.T)) @ down.T
    torch.testing.assert_close(module(x), expected, atol=1e-3, rtol=1e-4)


def test_every_token_is_processed_on_its_own() -> None:
    module = SwiGLU(6, 8)
    nn.init.normal_(module.gate.weight)
    x = torch.randn(1, 4, 6, generator=torch.Generator().manual_seed(1))
    for token in range(4):
        torch.testing.assert_close(module(x[:, token : token + 1]), module(x)[:, token : token + 1])


def diagonal(values: list[float]) -> list[list[float]]:
    return torch.diag(torch.tensor(values)).tolist()


def inverse_silu(y: float) -> float:
    """The x of at least 0 for which x * sigmoid(x) is ``y``, by halving."""
    low, high = 0.0, 10.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if middle / (1 + math.exp(-middle)) < y else (low, middle)
    return low
