"""The architecture as a drawing: SVG made from the catalogue, the sizes of a model, and a computed layout.

The markup holds no colour: classes name the category, and the page's style sheet gives it the colour of the theme.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, lru_cache
from xml.etree.ElementTree import Element, SubElement, tostring

from explorer.architecture.blueprint import Blueprint
from explorer.architecture.catalogue import PART
from explorer.architecture.facts import facts
from explorer.architecture.layout import NARROW, WIDE, Box, Measures, Wire, layout
from explorer.architecture.part import Flow, FlowKind, Part
from explorer.architecture.plan import BLOCKS, plan
from explorer.architecture.prose import filled, summary
from explorer.architecture.shapes import flow_axes, in_numbers, in_symbols, in_words

SVG = "http://www.w3.org/2000/svg"
MARGIN = 4.0
RADIUS = "7"
KEPT = 128  # drawings, about 60 KB each


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """What is drawn: a model reading ``n_tokens``, perhaps beside ``other``, with the blocks ``opened``.

    ``symbols`` writes shapes as ``T × d`` in place of numbers.
    """

    model: Blueprint
    n_tokens: int
    opened: frozenset[str] = frozenset()
    symbols: bool = False
    other: Blueprint | None = None

    @cached_property
    def facts(self) -> dict[str, str]:
        """What a text may quote of the model."""
        return facts(self.model, self.n_tokens)

    @cached_property
    def other_facts(self) -> dict[str, str]:
        """The same of the other model; empty without one."""
        return facts(self.other, self.n_tokens) if self.other else {}

    def lines(self, part: Part) -> list[str]:
        """What stands under the title of ``part``: its sizes, and those of the other model where they are unlike."""
        own = filled(part.note, self.facts).splitlines()
        against = filled(part.note, self.other_facts).splitlines() if self.other else own
        return own + [other for line, other in zip(own, against, strict=True) if line != other]

    def unlike_lines(self, part: Part) -> list[str]:
        """Those of them that are the other model's."""
        return self.lines(part)[len(part.note.splitlines()) :]

    def shape(self, flow: Flow) -> list[str]:
        """The shape of what ``flow`` carries, and the other model's where it is unlike."""
        axes = self.axes(flow)
        if self.symbols:
            return [in_symbols(axes)]
        shapes = [in_numbers(axes, model.config, self.n_tokens) for model in (self.model, self.other) if model]
        return list(dict.fromkeys(shapes))

    def axes(self, flow: Flow) -> tuple[str, ...]:
        """The named axes of what ``flow`` carries."""
        return flow_axes(flow, self._tap_axes)

    @cached_property
    def _tap_axes(self) -> dict[str, tuple[str, ...]]:
        return {address: tap.axes for address, tap in self.model.taps.items()}

    def differs(self, part: Part) -> bool:
        """Whether the two models are unlike in this part."""
        if self.other is None:
            return False
        if part.id == "layer":
            return self.model.config.n_layers != self.other.config.n_layers
        unlike = self.model.parameters_of(part.id) != self.other.parameters_of(part.id)
        return unlike or bool(self.unlike_lines(part))


def diagram(drawing: Drawing, measures: Measures) -> str:
    """The markup of one drawing. Every box is a button with a title, in the order in which data flows."""
    drawn = plan(drawing.model.config, drawing.opened)
    placed = layout(drawn, lambda part: len(drawing.lines(part)), measures)
    size = f"{-MARGIN:g} {-MARGIN:g} {placed.width + 2 * MARGIN:g} {placed.height + 2 * MARGIN:g}"
    root = Element("svg", {"xmlns": SVG, "viewBox": size, "role": "group", "class": "diagram"})
    root.set("aria-label", f"Architecture of {drawing.model.config.name}. Arrow keys follow the data, Enter selects.")
    _arrow_heads(root)
    frames, wires, boxes, labels = (
        SubElement(root, "g", {"class": name}) for name in ("frames", "wires", "boxes", "labels")
    )
    for part in drawn.parts:
        if placed.boxes[part.id].header:
            _frame(frames, part, placed.boxes[part.id])
    for wire in placed.wires:
        _wire(wires, labels, wire, drawing)
    for part in drawn.parts:
        _box(boxes, part, placed.boxes[part.id], drawing)
        if part.id in BLOCKS:
            _toggle(boxes, part, placed.boxes[part.id])
    return tostring(root, encoding="unicode")


@lru_cache(maxsize=KEPT)
def diagrams(drawing: Drawing) -> tuple[str, str]:
    """The same drawing for where there is room, and for a narrow column."""
    return diagram(drawing, WIDE), diagram(drawing, NARROW)


def words_on_flows(drawing: Drawing, opened: Collection[str]) -> list[str]:
    """Every arrow in words, for those who cannot see it."""
    return [
        f"{PART[flow.source].title} to {PART[flow.target].title}: {in_words(drawing.axes(flow))}"
        for flow in plan(drawing.model.config, opened).flows
    ]


def _arrow_heads(root: Element) -> None:
    definitions = SubElement(root, "defs")
    for kind in FlowKind:
        marker = SubElement(
            definitions,
            "marker",
            {"id": f"head-{kind}", "viewBox": "0 0 8 8", "refX": "7", "refY": "4", "orient": "auto-start-reverse"},
        )
        marker.set("markerWidth", "8")
        marker.set("markerHeight", "8")
        marker.set("markerUnits", "userSpaceOnUse")
        SubElement(marker, "path", {"d": "M0 0.8 L7.5 4 L0 7.2 Z", "class": f"head {kind}"})


def _rectangle(parent: Element, box: Box, name: str, height: float = 0.0) -> None:
    edges = {"x": box.x, "y": box.y, "width": box.width, "height": height or box.height}
    SubElement(parent, "rect", {key: f"{value:.1f}" for key, value in edges.items()} | {"rx": RADIUS, "class": name})


def _text(parent: Element, x: float, y: float, text: str, name: str) -> None:
    element = SubElement(parent, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "class": name})
    element.text, element.tail = text, " "


def _frame(parent: Element, part: Part, box: Box) -> None:
    _rectangle(parent, box, f"frame {part.kind}")


def _box(parent: Element, part: Part, box: Box, drawing: Drawing) -> None:
    lines, unlike, differs = drawing.lines(part), drawing.unlike_lines(part), drawing.differs(part)
    own = lines[: len(lines) - len(unlike)]
    looks = ["box", part.kind, *(["differs"] if differs else []), *(["open"] if box.header else [])]
    group = SubElement(parent, "g", {"class": " ".join(looks), "data-part": part.id, "data-kind": part.kind})
    group.attrib |= {"role": "button", "tabindex": "-1", "aria-pressed": "false"}
    seen = [_short(part, drawing), *lines, *(["≠ differs"] if differs else [])]  # as it is read on the screen
    full = [] if part.title == part.short else [part.title]
    group.set("aria-label", ". ".join((", ".join(seen), *full, summary(part.id, drawing.facts))))
    SubElement(group, "title").text = part.title
    _rectangle(group, box, "body", box.header)
    (x, _), top = box.middle, box.y + 10.5 + 4.5
    round_sum = part.label == "+"
    _text(group, x, box.middle[1] if round_sum else top, _short(part, drawing), "sum" if round_sum else "name")
    for place, line in enumerate(lines):
        _text(group, x, top + 16 + 14 * place, line, "note" if place < len(own) else "note other")
    if differs:
        _text(group, box.x + 1, box.y + 2, "≠", "unlike")  # on the corner: there is always room


def _short(part: Part, drawing: Drawing) -> str:
    if part.id != "layer":
        return part.short
    counts = [drawing.model.config.n_layers, *([drawing.other.config.n_layers] if drawing.other else [])]
    return f"{part.short}  " + "  |  ".join(f"×{count}" for count in dict.fromkeys(counts))


def _toggle(parent: Element, part: Part, box: Box) -> None:
    """The button that opens a block in place, or closes it again."""
    opened = box.header > 0
    group = SubElement(parent, "g", {"class": "toggle", "data-toggle": part.id, "data-kind": part.kind})
    group.attrib |= {"role": "button", "tabindex": "-1", "aria-expanded": "true" if opened else "false"}
    group.set("aria-label", f"{'Close' if opened else 'Open'} {part.title}")
    side = 20.0
    corner = Box(x=box.right - side - 5, y=box.y + 5, width=side, height=side)
    _rectangle(group, corner, "corner")
    _text(group, *corner.middle, "−" if opened else "+", "sign")


def _wire(parent: Element, labels: Element, wire: Wire, drawing: Drawing) -> None:
    flow, points = wire.flow, wire.points
    way = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    path = SubElement(parent, "path", {"d": way, "class": f"wire {flow.kind}", "marker-end": f"url(#head-{flow.kind})"})
    path.attrib |= {"data-from": flow.source, "data-to": flow.target, "data-kind": flow.kind}
    shapes = drawing.shape(flow)
    SubElement(path, "title").text = f"{PART[flow.source].title} → {PART[flow.target].title}: " + " | ".join(shapes)
    if wire.label:
        x, middle = wire.label
        top = middle - 7 * (len(shapes) - 1)
        for place, shape in enumerate(shapes):
            name = "shape" if place == 0 else "shape other"
            text = SubElement(labels, "text", {"x": f"{x + 7:.1f}", "y": f"{top + 14 * place:.1f}", "class": name})
            text.attrib |= {"data-from": flow.source, "data-to": flow.target}
            text.text = shape
