"""Let pip fetch one wheel, tell how far it is, and say in plain words why it failed."""

import atexit
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from explorer.checkpoint.home_files import SECONDS_BETWEEN_LOOKS, stop_if
from explorer.errors import DownloadFailed

RETRIES = 3  # about two seconds without a network
LAST_WORDS = 300  # characters of pip's own message that an error quotes

# What pip writes, the cause it stands for, and what to do. The first line that fits counts.
CAUSES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("No module named pip", "No module named 'pip'"),
        "this Python environment has no pip",
        "Run `{python} -m ensurepip`",
    ),
    (("No space left on device", "Disk quota exceeded"), "the disk is full", "Free some space"),
    (
        ("SSLError", "CERTIFICATE_VERIFY_FAILED", "certificate verify failed"),
        "the registry's certificate is not trusted",
        "Set PIP_CERT to the certificates of your network",
    ),
    (
        (
            *("NewConnectionError", "Connection refused", "Connection broken", "connection broken"),
            *("Name or service not known", "name resolution", "getaddrinfo failed", "Network is unreachable"),
            *("ConnectTimeout", "Read timed out", "ReadTimeoutError", "ProxyError", "Max retries exceeded"),
        ),
        "the package registry cannot be reached",
        "Check the network, or set PIP_INDEX_URL to a mirror that you can reach",
    ),
    (
        ("No matching distribution found", "Could not find a version"),
        "the package registry does not have it",
        "Set PIP_INDEX_URL to a registry that has it",
    ),
)


def pip_download(
    requirement: str, stage: Path, *, progress: Callable[[int], None], cancelled: Callable[[], bool]
) -> Path:
    """Download ``requirement`` ("project==version"), without what it depends on, below the empty folder ``stage``.

    Returns the folder that holds the wheel. ``progress`` is told the bytes that have arrived about five times a
    second. The child is ended when ``cancelled()`` becomes true or this process exits. Raises ``DownloadFailed``.
    """
    wheels, temporary, log = stage / "wheels", stage / "temporary", stage / "pip.log"
    for folder in (wheels, temporary):
        folder.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--only-binary", ":all:"]
    command += ["--no-input", "--progress-bar", "off", "--disable-pip-version-check", "--dest", str(wheels)]
    # Only what pip retries does it report: without a retry an absent network would look like an absent project.
    command += ["--retries", str(RETRIES)]
    # pip downloads into the temporary folder of its environment: there its progress can be seen.
    environment = os.environ | {name: str(temporary) for name in ("TMPDIR", "TEMP", "TMP")}
    try:
        with log.open("wb") as output:
            child = subprocess.Popen(  # in a folder of its own, where no file can pass for a module
                [*command, requirement],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=stage,
                env=environment,
            )
    except OSError as error:
        raise DownloadFailed(
            f"{requirement} was not downloaded: Python could not be started ({error.strerror})",
            "Start the explorer with a Python of its own virtual environment.",
        ) from error
    atexit.register(child.kill)
    try:
        while child.poll() is None:
            stop_if(cancelled)
            progress(_largest_file(stage))
            _wait(child)
    finally:
        child.kill()
        child.wait()
        atexit.unregister(child.kill)
    if child.returncode:
        raise _failure(requirement, log.read_text(encoding="utf-8", errors="replace"))
    return wheels


def _wait(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait(timeout=SECONDS_BETWEEN_LOOKS)
    except subprocess.TimeoutExpired:
        return


def _largest_file(folder: Path) -> int:
    """The size of the biggest file below ``folder``: pip copies the finished wheel, so a sum would count it twice."""
    largest = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                largest = max(largest, os.stat(os.path.join(place, name)).st_size)
            except FileNotFoundError:  # pip has moved it between the two calls
                continue
    return largest


def _failure(requirement: str, output: str) -> DownloadFailed:
    for marks, cause, remedy in CAUSES:
        if any(mark in output for mark in marks):
            return DownloadFailed(
                f"{requirement} was not downloaded: {cause}", remedy.format(python=sys.executable) + "."
            )
    last_words = output.strip()[-LAST_WORDS:]
    return DownloadFailed(
        f"{requirement} was not downloaded: pip failed and said: {last_words}",
        f"Try `{sys.executable} -m pip download --no-deps {requirement}` by hand.",
    )
