"""The words in which an architecture is described."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The category of a part; each has one colour on every page."""

    EMBEDDING = "embedding"
    NORM = "norm"
    ATTENTION = "attention"
    FEED_FORWARD = "feed_forward"
    AUXILIARY = "auxiliary"
    STRUCTURE = "structure"


class FlowKind(StrEnum):
    """What an arrow carries."""

    DATA = "data"
    RESIDUAL = "residual"
    AUXILIARY = "auxiliary"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A box of the diagram.

    ``address`` is the module in the model, ``{layer}`` standing for the number of the layer; empty for what is an
    operation and no module. ``inside`` is the part that this one belongs to. ``taps`` are the tensors that it hands on.
    ``code`` is the dotted name of the class or function that runs, and ``line`` a piece of the lines in it that are
    this part. ``label`` is what fits into the box, ``note`` what stands under it, with ``@`` before the names of facts.
    ``page`` goes deeper. ``optional`` parts exist in some families only. The explanation is ``prose/parts/<id>.md``,
    its first paragraph the summary.
    """

    id: str
    title: str
    kind: Kind
    code: str
    line: str
    address: str = ""
    inside: str = ""
    taps: tuple[str, ...] = ()
    label: str = ""
    note: str = ""
    page: str = ""
    optional: bool = False

    @property
    def short(self) -> str:
        """What stands in the box."""
        return self.label or self.title

    @property
    def repeated(self) -> bool:
        """Whether every layer has its own."""
        return self.inside != "" or self.id == "layer"


@dataclass(frozen=True, kw_only=True)
class Flow:
    """An arrow of the diagram: the tensor at ``tap`` goes from one part to another.

    Where the running model has no tap, because its kernel never forms the tensor, ``axes`` names them.
    """

    source: str
    target: str
    tap: str = ""
    axes: str = ""
    kind: FlowKind = FlowKind.DATA
