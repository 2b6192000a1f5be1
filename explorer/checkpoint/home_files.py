"""Files under the explorer's home: written by one process at a time, and what to tell when the disk refuses."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from explorer.errors import Cancelled, DownloadFailed

SECONDS_BETWEEN_LOOKS = 0.2


def never() -> bool:
    """The ``cancelled`` of work that nobody can stop."""
    return False


@contextmanager
def exclusive(lock_file: Path, cancelled: Callable[[], bool]) -> Iterator[None]:
    """Hold ``lock_file`` while the block runs; the system frees it even if the process is killed.

    Raises ``Cancelled`` if that happens while another process holds it.
    """
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(lock_file)
    while not lock.is_locked:
        stop_if(cancelled)
        try:
            lock.acquire(timeout=SECONDS_BETWEEN_LOOKS)
        except Timeout:
            continue
    try:
        yield
    finally:
        lock.release()


def stop_if(cancelled: Callable[[], bool]) -> None:
    """Raise ``Cancelled`` once ``cancelled()`` is true."""
    if cancelled():
        raise Cancelled("The model was no longer waited for", "Start again when you want it.")


def not_writable(path: Path, error: OSError) -> DownloadFailed:
    """What to tell when the disk takes no more, or may not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DownloadFailed(
            f"The disk is full: {path.name} could not be written", "Free some space, or set EXPLORER_HOME elsewhere."
        )
    return DownloadFailed(
        f"{path.name} could not be written: {error.strerror or type(error).__name__}",
        "Set EXPLORER_HOME to a folder that you may write.",
    )
