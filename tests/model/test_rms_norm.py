"""Unit size, whatever came in."""

import json

import pytest
import torch
from torch import Tensor

from explorer.model.rms_norm import RMSNorm
from tests.conftest import DATA


def norm(d_model: int, eps: float, gain: float = 1.0) -> RMSNorm:
    module = RMSNorm(d_model, eps).requires_grad_(False)
    module.gain.fill_(gain)
    return module


def test_it_is_torchs_own_norm() -> None:
    x, theirs = torch.randn(3, 5, 36, generator=torch.Generator().manual_seed(0)), torch.nn.RMSNorm(36, eps=1e-5)
    ours = RMSNorm(36, 1e-5)
    theirs.weight.data.uniform_(0.5, 1.5, generator=torch.Generator().manual_seed(1))
    ours.gain.data.copy_(theirs.weight)
    torch.testing.assert_close(ours(x), theirs(x))


def test_the_root_mean_square_is_the_length_over_the_root_of_the_size() -> None:
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])  # case S04: length 5.4772, root mean square 2.7386
    torch.testing.assert_close(norm(4, 0.0)(x), x / 2.7386127875258306)
    assert float(x.norm()) == pytest.approx(5.477225575051661)
    assert float(norm(4, 0.0)(x).norm()) == pytest.approx(2.0)  # sqrt(4)


def test_the_worked_examples_come_out() -> None:
    examples = json.loads((DATA / "llama-3.1-8b-reference-run.json").read_text())["rmsnorm_examples"]
    expected = torch.tensor(examples["[1,2,3]"]["normalised"])
    torch.testing.assert_close(norm(3, 1e-5)(torch.tensor([1.0, 2.0, 3.0])), expected, atol=1e-4, rtol=0)
    torch.testing.assert_close(norm(3, 1e-5)(torch.tensor([2.0, 4.0, 6.0])), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize(("eps", "expected"), [(1e-5, 0.3015113445777636), (1e-6, 0.7071067811865476)])
def test_eps_rules_small_vectors(eps: float, expected: float) -> None:
    y = norm(16, eps)(torch.full((16,), 0.001))  # case C09; float32 inside
    torch.testing.assert_close(y, torch.full((16,), expected), atol=0, rtol=1e-6)


def test_squares_do_not_overflow_float16() -> None:
    x = torch.tensor([300.0, -300.0, 200.0, 100.0], dtype=torch.float16)  # case S05
    y = norm(4, 1e-5).half()(x)
    assert y.dtype == torch.float16
    torch.testing.assert_close(y.float(), torch.tensor([1.2511, -1.2511, 0.8341, 0.417]), atol=1e-3, rtol=0)


def test_the_gain_multiplies_after_the_division() -> None:
    x: Tensor = torch.randn(2, 8, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(norm(8, 1e-5, gain=3.0)(x), 3 * norm(8, 1e-5)(x))
