"""The half of a layer in which every token is processed on its own."""

from torch import Tensor, nn
from torch.nn.functional import silu

from explorer.model.tap import Taps


class SwiGLU(nn.Module):
    """Process every token on its own: widen twice, let one branch gate the other, narrow.

    down( silu(gate(x)) * up(x) )    Shazeer 2020, "GLU Variants Improve Transformer"
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)
        self.tap = Taps(
            input="batch token d_model",
            gate="batch token d_ff",
            activated="batch token d_ff",
            up="batch token d_ff",
            product="batch token d_ff",
            output="batch token d_model",
        )

    def forward(self, x: Tensor) -> Tensor:
        """(batch, token, d_model) -> (batch, token, d_model)"""
        x = self.tap.input(x)
        activated = self.tap.activated(silu(self.tap.gate(self.gate(x))))
        product = self.tap.product(activated * self.tap.up(self.up(x)))
        return self.tap.output(self.down(product))
