"""The computed layout: nothing overlaps, everything flows down."""

from dataclasses import replace
from itertools import combinations

import pytest

from explorer.architecture.catalogue import PART
from explorer.architecture.layout import NARROW, WIDE, Box, Layout, Measures, layout
from explorer.architecture.part import FlowKind, Kind
from explorer.architecture.plan import BLOCKS, Plan, plan
from explorer.config import ModelConfig

OPENED = [(), ("attention",), ("feed_forward",), BLOCKS]


@pytest.fixture(params=[(m, o, norms) for m in (WIDE, NARROW) for o in OPENED for norms in (False, True)])
def placed(request, tiny_config: ModelConfig) -> tuple[Plan, Layout, Measures]:
    measures, opened, norms = request.param
    drawn = plan(replace(tiny_config, query_key_norm=norms), opened)
    return drawn, layout(drawn, lambda part: len(part.note.splitlines()), measures), measures


def apart(one: Box, other: Box) -> bool:
    return one.right <= other.x or other.right <= one.x or one.bottom <= other.y or other.bottom <= one.y


def inside(frame: str, part: str) -> bool:
    return PART[part].inside == frame or (PART[part].inside != "" and inside(frame, PART[part].inside))


def test_no_box_covers_another_and_all_stand_in_their_frames(placed) -> None:
    drawn, made, measures = placed
    for one, other in combinations(made.boxes, 2):
        frames = [frame for frame, part in ((one, other), (other, one)) if inside(frame, part)]
        if frames and PART[one].kind is not Kind.AUXILIARY and PART[other].kind is not Kind.AUXILIARY:
            outer, inner = made.boxes[frames[0]], made.boxes[other if frames[0] == one else one]
            assert outer.x < inner.x and inner.right < outer.right
            assert outer.y + outer.header < inner.y and inner.bottom < outer.bottom
        else:
            assert apart(made.boxes[one], made.boxes[other]), (one, other)
    for box in made.boxes.values():
        assert box.x >= 0 and box.right <= measures.width and box.bottom <= made.height + 0.1
    assert set(made.boxes) == {part.id for part in drawn.parts}


def test_data_flows_from_top_to_bottom(placed) -> None:
    _, made, _ = placed
    for wire in made.wires:
        if wire.flow.kind is FlowKind.DATA:
            heights = [y for _, y in wire.points]
            assert heights == sorted(heights) and heights[0] < heights[-1]


def test_wires_begin_and_end_at_their_boxes_in_right_angles(placed) -> None:
    _, made, _ = placed
    for wire in made.wires:
        for (x, y), (next_x, next_y) in zip(wire.points, wire.points[1:], strict=False):
            assert x == next_x or y == next_y
        target = made.boxes[wire.flow.target]
        (x, y) = wire.points[-1]
        assert target.x - 0.1 <= x <= target.right + 0.1 and target.y - 0.1 <= y <= target.bottom + 0.1


def test_no_wire_of_data_runs_through_a_box_that_it_does_not_join(placed) -> None:
    drawn, made, _ = placed
    for wire in made.wires:
        for part, box in made.boxes.items():
            if wire.flow.kind is FlowKind.AUXILIARY or part in drawn.opened:
                continue
            if part in (wire.flow.source, wire.flow.target):
                continue
            for (x, y), (next_x, next_y) in zip(wire.points, wire.points[1:], strict=False):
                segment = Box(x=min(x, next_x), y=min(y, next_y), width=abs(x - next_x), height=abs(y - next_y))
                assert apart(box, segment), (wire.flow.source, wire.flow.target, part)


def test_a_part_is_as_wide_as_what_feeds_it(placed) -> None:
    _, made, _ = placed
    if "softmax" in made.boxes:
        boxes = made.boxes
        assert boxes["rotary"].x == pytest.approx(boxes["query"].x)
        assert boxes["rotary"].right == pytest.approx(boxes["key"].right)
        assert boxes["mix"].right == pytest.approx(boxes["value"].right)
        assert boxes["query"].y == boxes["key"].y == boxes["value"].y < boxes["rotary"].y


def test_every_shape_is_written_once_and_where_nothing_stands(placed) -> None:
    _, made, _ = placed
    said = [(wire.flow.source, wire.flow.tap or wire.flow.axes) for wire in made.wires if wire.label]
    assert len(said) == len(set(said))
    data = {(w.flow.source, w.flow.tap or w.flow.axes) for w in made.wires if w.flow.kind is FlowKind.DATA}
    assert set(said) == data
    for wire in made.wires:
        for part, box in made.boxes.items():
            if wire.label and not box.header:
                assert apart(box, Box(x=wire.label[0], y=wire.label[1] - 6, width=1, height=12)), (wire.flow, part)
