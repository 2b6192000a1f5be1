"""Which boxes and arrows of the catalogue are drawn of one model, with some of its blocks open."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from explorer.architecture.catalogue import FLOWS, PART, PARTS
from explorer.architecture.part import Flow, FlowKind, Kind, Part
from explorer.config import ModelConfig

BLOCKS = tuple(dict.fromkeys(part.inside for part in PARTS if part.inside not in ("", "layer")))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The parts that are drawn and the flows between them; ``opened`` are those that show their inside."""

    parts: tuple[Part, ...]
    flows: tuple[Flow, ...]
    opened: frozenset[str]

    def inside(self, frame: str) -> tuple[Part, ...]:
        """The parts that stand in ``frame`` one below the other; those beside it are left out."""
        return tuple(part for part in self.parts if part.inside == frame and part.kind is not Kind.AUXILIARY)

    @property
    def beside(self) -> tuple[Part, ...]:
        """The parts that stand beside the others and are attached to them."""
        return tuple(part for part in self.parts if part.kind is Kind.AUXILIARY)


def blocks_around(part: str) -> tuple[str, ...]:
    """The blocks that must be open for ``part`` to be seen."""
    inside = PART[part].inside
    return () if inside in ("", "layer") else (inside,)


def present(config: ModelConfig) -> tuple[tuple[Part, ...], tuple[Flow, ...]]:
    """The parts that ``config``'s model has, and the flows between them: past what it lacks they go straight on."""
    parts = tuple(part for part in PARTS if not part.optional or config.query_key_norm)
    flows = list(FLOWS)
    for missing in {part.id for part in PARTS} - {part.id for part in parts}:
        (inward,) = (flow for flow in flows if flow.target == missing)
        flows = [
            replace(flow, source=inward.source) if flow.source == missing else flow
            for flow in flows
            if flow is not inward
        ]
    return parts, tuple(flows)


def plan(config: ModelConfig, opened: Collection[str] = ()) -> Plan:
    """What is drawn of ``config``'s model with the blocks ``opened``; an arrow into a closed block ends at the block.

    Of arrows that then carry the same tensor between the same two boxes one is left, of dotted ones one in any case.
    """
    parts, flows = present(config)
    hidden = {part.id for part in parts if part.inside in BLOCKS and part.inside not in opened}

    def seen(part: str) -> str:
        return PART[part].inside if part in hidden else part

    drawn: dict[tuple[str, str, str, FlowKind], Flow] = {}
    for flow in flows:
        source, target = seen(flow.source), seen(flow.target)
        if source != target:
            carried = "" if flow.kind is FlowKind.AUXILIARY else flow.tap or flow.axes
            drawn.setdefault((source, target, carried, flow.kind), replace(flow, source=source, target=target))
    return Plan(
        parts=tuple(part for part in parts if part.id not in hidden),
        flows=tuple(drawn.values()),
        opened=frozenset(("layer", *opened)) & {"layer", *BLOCKS},
    )
