"""Where the boxes of a plan stand: computed from who feeds whom, never typed.

Inside a frame a part stands one row below the lowest part that feeds it. Parts that nothing in the frame feeds open a
lane each; every other part is as wide as the lanes of those that feed it. So RoPE spans queries and keys, the mix of
values spans all three, and an arrow that skips rows finds its own lane free.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from explorer.architecture.catalogue import PART
from explorer.architecture.part import Flow, FlowKind, Part
from explorer.architecture.plan import BLOCKS, Plan


@dataclass(frozen=True, kw_only=True)
class Measures:
    """The distances of a drawing, in its own units (CSS pixels at full size)."""

    width: float
    side: float
    box: float
    title: float = 21.0
    line: float = 14.0
    padding: float = 9.0
    block: float = 50.0
    header: float = 30.0
    gap: float = 38.0
    lane_gap: float = 12.0
    frame: float = 14.0
    gutter: float = 22.0
    tracks: float = 30.0
    elbow: float = 9.0


WIDE = Measures(width=590, side=146, box=226)
NARROW = Measures(width=368, side=116, box=150, lane_gap=7, frame=7, gutter=14, tracks=18)


@dataclass(frozen=True, kw_only=True)
class Box:
    """A rectangle; ``header`` is the height of its head where it is open, 0 where it is closed."""

    x: float
    y: float
    width: float
    height: float
    header: float = 0.0

    @property
    def right(self) -> float:
        """The x of its right side."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of its lower side."""
        return self.y + self.height

    @property
    def middle(self) -> tuple[float, float]:
        """Its centre."""
        return self.x + self.width / 2, self.y + self.height / 2


Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Wire:
    """The way of a flow, corner by corner; ``label`` is where its shape is written, None where it is said already."""

    flow: Flow
    points: tuple[Point, ...]
    label: Point | None


@dataclass(frozen=True, kw_only=True)
class Layout:
    """All boxes by their part, all wires, and the size of the whole."""

    width: float
    height: float
    boxes: dict[str, Box]
    wires: tuple[Wire, ...]


def layout(plan: Plan, lines: Callable[[Part], int], measures: Measures) -> Layout:
    """Place the boxes of ``plan``; ``lines`` says how many lines of text stand under the title of a part."""
    placing = _Placing(plan=plan, lines=lines, measures=measures)
    bottom = placing.frame("", x=0.0, y=0.0, width=measures.width - measures.side)
    bottom = max(bottom, placing.sides())
    wires = tuple(placing.wires())
    return Layout(width=measures.width, height=bottom, boxes=placing.boxes, wires=wires)


@dataclass(kw_only=True)
class _Placing:
    plan: Plan
    lines: Callable[[Part], int]
    measures: Measures
    boxes: dict[str, Box] = field(default_factory=dict)

    def frame(self, frame: str, *, x: float, y: float, width: float) -> float:
        """Place what stands inside ``frame`` and return where it ends."""
        m, parts = self.measures, self.plan.inside(frame)
        rows, lanes, n_lanes = self._rows_and_lanes(frame, parts)
        lane = (width + m.lane_gap) / n_lanes
        for row in sorted(set(rows.values())):
            below = y
            for part in (part for part in parts if rows[part.id] == row):
                first, last = lanes[part.id]
                room_x, room = x + first * lane, (last - first + 1) * lane - m.lane_gap
                below = max(below, self._place(part, x=room_x, y=y, room=room, narrow=n_lanes == 1))
            y = below + m.gap
        return y - m.gap

    def _place(self, part: Part, *, x: float, y: float, room: float, narrow: bool) -> float:
        m = self.measures
        if part.id not in self.plan.opened:
            width = min(room, m.box + (m.block if part.id in BLOCKS else 0)) if narrow else room
            height = m.title + self.lines(part) * m.line + m.padding
            if part.label == "+":
                width = height
            self.boxes[part.id] = Box(x=x + (room - width) / 2, y=y, width=width, height=height)
            return y + height
        header = m.header + self.lines(part) * m.line
        # residual paths run down the left; the same room on the right keeps the middle in the middle
        around = any(flow.kind is FlowKind.RESIDUAL for flow in self._within(part.id))
        margin = m.gutter + m.frame if around else m.frame
        self.boxes[part.id] = Box(x=x, y=y, width=room, height=header, header=header)  # before its parts: drawn below
        end = self.frame(part.id, x=x + margin, y=y + header + m.gap * 0.7, width=room - 2 * margin)
        height = end + m.frame + m.padding - y
        self.boxes[part.id] = Box(x=x, y=y, width=room, height=height, header=header)
        return y + height

    def _within(self, frame: str) -> list[Flow]:
        return [flow for flow in self.plan.flows if PART[flow.target].inside == frame]

    def _rows_and_lanes(
        self, frame: str, parts: tuple[Part, ...]
    ) -> tuple[dict[str, int], dict[str, tuple[int, int]], int]:
        """The row of every part of a frame, the first and last of the lanes that it spans, and how many there are."""
        here = {part.id for part in parts}
        feeders: dict[str, set[str]] = {part.id: set() for part in parts}
        for flow in self.plan.flows:
            source, target = _lifted(flow.source, frame), _lifted(flow.target, frame)
            if source != target and source in here and target in here:
                feeders[target].add(source)
        rows: dict[str, int] = {}
        lanes: dict[str, tuple[int, int]] = {}
        opened = 0
        for part in parts:  # the catalogue lists them in the order in which data flows
            feeding = feeders[part.id]
            if feeding:
                rows[part.id] = 1 + max(rows[source] for source in feeding)
                spans = [lanes[source] for source in feeding]
                lanes[part.id] = min(first for first, _ in spans), max(last for _, last in spans)
            else:
                rows[part.id], lanes[part.id], opened = 0, (opened, opened), opened + 1
        return rows, lanes, max(opened, 1)

    def sides(self) -> float:
        """Place the parts that stand beside the others, level with what they are attached to, none over another."""
        m, free = self.measures, 0.0
        levels = {part.id: self._level(part) for part in self.plan.beside}
        x = m.width - m.side + m.tracks
        for part in sorted(self.plan.beside, key=lambda part: levels[part.id]):
            height = m.title + self.lines(part) * m.line + m.padding
            y = max(levels[part.id] - height / 2, free)
            self.boxes[part.id] = Box(x=x, y=y, width=m.width - x, height=height)
            free = y + height + m.gap / 2
        return free - m.gap / 2

    def _level(self, part: Part) -> float:
        partners = [self.boxes[_other(flow, part.id)].middle[1] for flow in self.plan.flows if _touches(flow, part.id)]
        return sum(partners) / len(partners)

    def wires(self) -> list[Wire]:
        """The way of every flow of the plan."""
        by_kind = {FlowKind.DATA: self._down, FlowKind.RESIDUAL: self._around, FlowKind.AUXILIARY: self._aside}
        said: set[tuple[str, str]] = set()
        made = []
        for flow in self.plan.flows:
            carried = flow.source, flow.tap or flow.axes
            written = flow.kind is FlowKind.DATA and carried not in said
            points = by_kind[flow.kind](flow)
            made.append(Wire(flow=flow, points=points, label=self._label(flow, points) if written else None))
            if written:
                said.add(carried)
        return made

    def _label(self, flow: Flow, points: tuple[Point, ...]) -> Point:
        """The place of a flow's shape: beside its first free stretch, below the frames that it leaves."""
        left = [PART[flow.source].inside]
        while left[-1]:
            left.append(PART[left[-1]].inside)
        bottoms = [self.boxes[frame].bottom for frame in left if frame and not _holds(frame, flow.target)]
        (x, start), (_, end) = points[0], points[1]
        start = max([start, *bottoms])
        return x, start + min(end - start, self.measures.gap) / 2

    def _down(self, flow: Flow) -> tuple[Point, ...]:
        """From the lower side of one box to the upper side of another, straight where one lies within the other."""
        source, target = self.boxes[flow.source], self.boxes[flow.target]
        left, right = max(source.x, target.x), min(source.right, target.right)
        if right - left >= min(source.width, target.width) - 0.5:
            twins = [each for each in self.plan.flows if (each.source, each.target) == (flow.source, flow.target)]
            x = left + (right - left) * (twins.index(flow) + 0.5) / len(twins)
            return (x, source.bottom), (x, target.y)
        turn = target.y - self.measures.elbow * 1.6
        return (
            (source.middle[0], source.bottom),
            (source.middle[0], turn),
            (target.middle[0], turn),
            (target.middle[0], target.y),
        )

    def _around(self, flow: Flow) -> tuple[Point, ...]:
        """From the stream, just above the box that reads it, past that box on the left, into the side of the sum."""
        m, target = self.measures, self.boxes[flow.target]
        reader = next(
            self.boxes[each.target]
            for each in self.plan.flows
            if each.source == flow.source and each.tap == flow.tap and each.kind is FlowKind.DATA
        )
        x, y = reader.middle[0], reader.y - m.elbow * 1.4
        lane = self.boxes[PART[flow.target].inside].x + (m.gutter + m.frame) / 2
        return (x, y), (lane, y), (lane, target.middle[1]), (target.x, target.middle[1])

    def _aside(self, flow: Flow) -> tuple[Point, ...]:
        """Between the right side of a box and the left side of one that stands beside it; farther ones turn later."""
        aside = next(end for end in (flow.source, flow.target) if end in {part.id for part in self.plan.beside})
        side, partner = self.boxes[aside], self.boxes[_other(flow, aside)]
        start = partner.right, self._port(flow, _other(flow, aside), partner)
        end = side.x, self._port(flow, aside, side)
        rivals = [each for each in self.plan.flows if _touches(each, aside)]
        distances = sorted(abs(self.boxes[_other(each, aside)].middle[1] - side.middle[1]) for each in rivals)
        rank = distances.index(abs(partner.middle[1] - side.middle[1]))
        turn = self.measures.width - self.measures.side + self.measures.tracks * (rank + 1) / (len(rivals) + 1)
        level = abs(start[1] - end[1]) <= 1
        way = (start, (end[0], start[1])) if level else (start, (turn, start[1]), (turn, end[1]), end)
        return way if flow.target == aside else tuple(reversed(way))

    def _port(self, flow: Flow, end: str, box: Box) -> float:
        """Where along the side of ``box`` the dotted ``flow`` meets it: ordered by how high the other ends stand."""
        level = {each: self.boxes[_other(each, end)].middle[1] for each in self.plan.flows if _dotted(each, end)}
        ordered = sorted(level, key=lambda each: level[each])
        head = box.header or box.height
        return box.y + head * (ordered.index(flow) + 1) / (len(ordered) + 1)


def _lifted(part: str, frame: str) -> str:
    """The part that holds ``part`` directly inside ``frame``, or ``part`` itself."""
    while PART[part].inside not in ("", frame):
        part = PART[part].inside
    return part


def _holds(frame: str, part: str) -> bool:
    """Whether ``part`` stands somewhere inside ``frame``."""
    while part and part != frame:
        part = PART[part].inside
    return part == frame


def _dotted(flow: Flow, part: str) -> bool:
    return flow.kind is FlowKind.AUXILIARY and part in (flow.source, flow.target)


def _touches(flow: Flow, part: str) -> bool:
    return part in (flow.source, flow.target)


def _other(flow: Flow, part: str) -> str:
    return flow.target if flow.source == part else flow.source
