"""Fetch a model from the Hugging Face hub, under the account and the licences of whoever asks."""

import hashlib
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from explorer.checkpoint.digest import file_sha256
from explorer.checkpoint.gguf_header import PART_OF_NAME
from explorer.checkpoint.home_files import SECONDS_BETWEEN_LOOKS, exclusive, never, not_writable
from explorer.checkpoint.hugging_face_folder import CONFIG
from explorer.errors import DownloadFailed

HUB_NAME = re.compile(r"(?a:(?P<model>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(/(?P<file>[A-Za-z0-9][\w.-]*\.gguf))?)")
SHARD = re.compile(r"model[\w.-]*\.safetensors")  # not "consolidated…": the same weights again, in another order
DESCRIPTIONS = (
    *(CONFIG, "generation_config.json", "model.safetensors.index.json"),
    *("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "special_tokens_map.json"),
    *("LICENSE", "LICENSE.txt", "USE_POLICY.md"),
)
PARTIAL_CONTENT, RANGE_NOT_SATISFIABLE = 206, 416
MEGABYTE = 1_000_000
SECONDS_BEFORE_AGAIN = 1.0
NAMED_AT_MOST = 12
AGAIN = "Run the same command again: what has arrived is kept."

Progress = Callable[[float, str], None]


@dataclass(frozen=True, kw_only=True)
class HubFile:
    """One file of a model on the hub. Large ones have a SHA-256 there, small ones the name that git gives them."""

    name: str
    n_bytes: int
    sha256: str | None
    git_sha1: str | None

    @property
    def mark(self) -> str:
        """What tells this content from that of another version."""
        return (self.sha256 or self.git_sha1 or "")[:12]

    def is_in(self, path: Path) -> bool:
        """Whether ``path`` holds exactly this content."""
        if not path.is_file() or path.stat().st_size != self.n_bytes:
            return False
        if self.sha256 is not None:
            return file_sha256(path) == self.sha256
        return self.git_sha1 is None or _git_sha1(path) == self.git_sha1


@dataclass(frozen=True, kw_only=True)
class HubDownload:
    """What was fetched: the folder of a model, or a GGUF file. ``sha256`` is that of weights that are one file."""

    path: Path
    n_bytes: int
    sha256: str | None


def fetch_from_hub(
    name: str, folder: Path, progress: Progress = lambda fraction, sentence: None, *, endpoint: str | None = None
) -> HubDownload:
    """Have the model ``name``, OWNER/NAME or OWNER/NAME/FILE.gguf, below ``folder``, every file checked.

    The token comes from HF_TOKEN or from ``hf auth login``. ``progress`` is told the share of the bytes that has
    arrived. An interrupted download goes on where it stopped. ``endpoint`` replaces HF_ENDPOINT. Raises
    ``DownloadFailed`` with the cause and the remedy.
    """
    asked = HUB_NAME.fullmatch(name)
    if asked is None:
        raise DownloadFailed(
            f"{name!r} is not the name of a model on the hub", "Give OWNER/NAME, or OWNER/NAME/FILE.gguf."
        )
    model, place = asked["model"], folder / asked["model"]
    try:
        with _named_failures(model), exclusive(folder / f"{model.replace('/', '--')}.lock", never):
            commit, files = _listed(model, endpoint)
            chosen = _chosen(model, files, asked["file"])
            _check_space(model, chosen, place)
            with _watched(model, chosen, place, progress):
                for file in chosen:
                    _fetch(model, commit, file, place, endpoint)
    except OSError as error:
        raise not_writable(place, error) from error
    weights = [file for file in chosen if file.name not in DESCRIPTIONS]
    return HubDownload(
        path=place / weights[0].name if asked["file"] else place,
        n_bytes=sum(file.n_bytes for file in chosen),
        sha256=weights[0].sha256 if len(weights) == 1 else None,
    )


def _listed(model: str, endpoint: str | None) -> tuple[str, list[HubFile]]:
    """The newest commit of a model and the files at its top."""
    from huggingface_hub import HfApi

    info = HfApi(endpoint=endpoint).model_info(model, files_metadata=True)
    files = [
        HubFile(
            name=each.rfilename,
            n_bytes=each.size or 0,
            sha256=each.lfs.sha256 if each.lfs else None,
            git_sha1=None if each.lfs else each.blob_id,
        )
        for each in info.siblings or ()
        if re.fullmatch(r"(?a:\w[\w.-]*)", each.rfilename)
    ]
    return info.sha or "main", files


def _chosen(model: str, files: Sequence[HubFile], gguf: str | None) -> list[HubFile]:
    """The files that make the model: one copy of the weights, and what describes them."""
    names = [file.name for file in files]
    ggufs = [name for name in names if name.lower().endswith(".gguf")]
    if gguf is not None:
        part = PART_OF_NAME.search(gguf)
        stem = gguf[: part.start()] if part else None
        chosen = [
            file
            for file in files
            if file.name == gguf
            or (stem is not None and file.name.startswith(stem) and PART_OF_NAME.fullmatch(file.name[len(stem) :]))
        ]
        if not chosen:
            raise DownloadFailed(f"{model} holds no {gguf}", _named_ggufs(model, ggufs))
        return sorted(chosen, key=lambda file: file.name)
    if not any(SHARD.fullmatch(name) for name in names):
        raise DownloadFailed(
            f"{model} holds no model.safetensors" + (f", but {len(ggufs)} GGUF files" if ggufs else ""),
            _named_ggufs(model, ggufs) if ggufs else "Choose a model that is kept as safetensors or GGUF.",
        )
    if CONFIG not in names:
        raise DownloadFailed(f"{model} holds no {CONFIG}", "Choose the model itself, not an adapter for it.")
    return [file for file in files if file.name in DESCRIPTIONS or SHARD.fullmatch(file.name)]


def _named_ggufs(model: str, ggufs: Sequence[str]) -> str:
    more = f" and {len(ggufs) - NAMED_AT_MOST} more" if len(ggufs) > NAMED_AT_MOST else ""
    return f"Name one file, such as {model}/FILE.gguf, of: {', '.join(ggufs[:NAMED_AT_MOST]) or 'none'}{more}."


def _fetch(model: str, commit: str, file: HubFile, place: Path, endpoint: str | None) -> None:
    """Have one file in its place, whole and checked; a part that came before is continued.

    The hub's own client would begin a file anew in every process.
    """
    from httpx2 import TransportError
    from huggingface_hub import hf_hub_url

    target, part = place / file.name, place / f".{file.name}.{file.mark}.part"
    if file.is_in(target):
        return
    url = hf_hub_url(model, file.name, revision=commit, endpoint=endpoint)
    while True:
        before = _size(part)
        try:
            _append(url, part)
            break
        except TransportError:
            if _size(part) == before:  # nothing comes any more
                raise
            time.sleep(SECONDS_BEFORE_AGAIN)
    if not file.is_in(part):
        size = _size(part)
        part.unlink()
        raise DownloadFailed(
            f"{file.name} is not the file that the hub describes: {size:,} bytes came, {file.n_bytes:,} were expected"
            + (", with another hash" if size == file.n_bytes else ""),
            AGAIN,
        )
    os.replace(part, target)


def _append(url: str, part: Path) -> None:
    """Add to ``part`` what it lacks of the file at ``url``."""
    from huggingface_hub.utils import (  # type: ignore[attr-defined]  # documented, and not marked as exported
        build_hf_headers,
        get_session,
        hf_raise_for_status,
    )

    start = _size(part)
    headers = build_hf_headers() | {"Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    with get_session().stream("GET", url, headers=headers, follow_redirects=True) as response:
        if response.status_code == RANGE_NOT_SATISFIABLE:  # it is whole already
            return
        if response.is_error:
            response.read()
        hf_raise_for_status(response)
        with part.open("ab" if response.status_code == PARTIAL_CONTENT else "wb") as out:
            for block in response.iter_bytes():
                out.write(block)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _git_sha1(path: Path) -> str:
    data = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _check_space(model: str, files: Sequence[HubFile], place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    needed = sum(file.n_bytes for file in files) - min(_arrived(place), sum(file.n_bytes for file in files))
    free = shutil.disk_usage(place).free
    if free < needed:
        raise DownloadFailed(
            f"The disk is too full: {model} needs {needed // MEGABYTE:,} MB more, {free // MEGABYTE:,} are free",
            "Free some space, or set EXPLORER_HOME to a folder on another disk.",
        )


@contextmanager
def _watched(model: str, files: Sequence[HubFile], place: Path, progress: Progress) -> Iterator[None]:
    """Tell ``progress`` what has arrived, as the files on the disk show it: parts, whole ones, and from before."""
    total = max(sum(file.n_bytes for file in files), 1)
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(SECONDS_BETWEEN_LOOKS):
            done = min(_arrived(place), total)
            progress(done / total, f"Downloading {model}: {done // MEGABYTE:,} of {total // MEGABYTE:,} MB")

    watcher = threading.Thread(target=tell, name="watch-download", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
    progress(1.0, f"{model} is here")


def _arrived(folder: Path) -> int:
    """Bytes in ``folder``, unfinished files included."""
    total = 0
    for path in folder.iterdir():
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # moved to its place between the two calls
            continue
    return total


@contextmanager
def _named_failures(model: str) -> Iterator[None]:
    """What the hub's client raises, in plain words."""
    import httpx2  # what huggingface_hub speaks through; it lets the errors of the network pass
    from huggingface_hub import errors

    page = f"https://huggingface.co/{model}"
    try:
        yield
    except errors.GatedRepoError as error:
        raise DownloadFailed(
            f"{model} is gated: its owner gives it only to accounts that have accepted the licence",
            f"Accept it at {page}, make a token that may read it, set HF_TOKEN to that token, and run this again.",
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise DownloadFailed(
            f"The hub knows no model {model}, or shows it to other accounts only",
            "Check the spelling; for a private model set HF_TOKEN to a token that may read it.",
        ) from error
    except (errors.OfflineModeIsEnabled, errors.HFValidationError) as error:
        offline = isinstance(error, errors.OfflineModeIsEnabled)
        raise DownloadFailed(
            "HF_HUB_OFFLINE is set, so nothing was asked of the hub" if offline else f"{model!r} is no name on the hub",
            "Unset it, or copy the model's folder here and name its parent in EXPLORER_MODELS."
            if offline
            else "Give OWNER/NAME.",
        ) from error
    except errors.HfHubHTTPError as error:
        raise DownloadFailed(
            f"The hub answered for {model} with the error {error.response.status_code}", f"{AGAIN} See {page}."
        ) from error
    except (httpx2.HTTPError, ConnectionError) as error:
        raise DownloadFailed(
            f"The hub cannot be reached, or broke off ({type(error).__name__})",
            f"Check the network, or set HF_ENDPOINT to a mirror that you can reach. {AGAIN}",
        ) from error
