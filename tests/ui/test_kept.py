"""What is remembered, and what is let go."""

from dataclasses import dataclass

import pytest

from explorer.ui.kept import KEPT_BYTES, kept


@dataclass(frozen=True)
class Thing:
    n_bytes: int


def test_a_value_is_made_once_for_each_key() -> None:
    made = []

    def make() -> Thing:
        made.append(1)
        return Thing(10)

    assert kept(("kept-test", 1), make) is kept(("kept-test", 1), make)
    assert len(made) == 1
    assert kept(("kept-test", 2), make) == Thing(10)
    assert len(made) == 2


def test_the_oldest_go_when_there_is_no_room() -> None:
    half = Thing(KEPT_BYTES // 2)
    first = kept(("kept-test", "first"), lambda: half)
    kept(("kept-test", "second"), lambda: Thing(KEPT_BYTES // 2))
    kept(("kept-test", "third"), lambda: Thing(KEPT_BYTES // 2))
    assert kept(("kept-test", "first"), lambda: Thing(1)) is not first


def test_what_is_larger_than_all_the_room_is_made_every_time() -> None:
    huge = [kept(("kept-test", "huge"), lambda: Thing(KEPT_BYTES + 1)) for _ in range(2)]
    assert huge[0] is not huge[1]


def test_nothing_is_remembered_of_what_failed() -> None:
    def fail() -> Thing:
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        kept(("kept-test", "failed"), fail)
    assert kept(("kept-test", "failed"), lambda: Thing(3)) == Thing(3)
