"""What was worked out once and is shown again: shared by all sessions, held to a number of bytes."""

import threading
from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar, cast

from cachetools import LRUCache

KEPT_BYTES = 48 << 20


class Sized(Protocol):
    """Something that knows how large it is."""

    @property
    def n_bytes(self) -> int:
        """Bytes of all its arrays."""
        ...


Value = TypeVar("Value", bound=Sized)

_values: LRUCache[Hashable, Sized] = LRUCache(KEPT_BYTES, getsizeof=lambda value: value.n_bytes)
_lock = threading.Lock()


def kept(key: Hashable, make: Callable[[], Value]) -> Value:
    """The value of ``key``, made when it is not here; the same key must always mean the same kind of value.

    Those not asked for the longest go when there is no room. Nothing is kept of a ``make`` that raises.
    """
    with _lock:
        found = _values.get(key)
    if found is not None:
        return cast(Value, found)
    value = make()
    with _lock:
        if value.n_bytes <= _values.maxsize:
            _values[key] = value
    return value
