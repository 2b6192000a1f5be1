"""One recorded run, shown while the model is on its way, and said to be recorded."""

from functools import cache

from explorer.trace.codec import decode
from explorer.trace.trace import Trace
from explorer.ui.components import ASSETS
from explorer.ui.view import View

TAPS = frozenset({"tap.embedded", "tap.logits"})
NORMS = frozenset({"tap.embedded", "layers.*.tap.after_attention", "layers.*.tap.after_feed_forward"})


@cache
def recorded_trace() -> Trace:
    """The default model on the default prompt, its last token scored; a test compares it with a live run."""
    return decode((ASSETS / "recorded" / "default.safetensors").read_bytes())


def can_stand_in(model: str, taps: frozenset[str], norms: frozenset[str]) -> bool:
    """Whether the recorded run holds what a page asks of ``model``."""
    return model == View().model and taps <= TAPS and norms <= NORMS
