"""A model hub on this machine: the three addresses that a download asks for, and ways to misbehave."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

COMMIT = "c" * 40


@dataclass
class Hub:
    """What it serves and what it was asked.

    ``served`` are files in place of those that it describes. ``stop_after`` cuts every answer off after so many bytes;
    with ``then_down`` it is out of service from then on.
    """

    address: str
    files: dict[str, bytes]
    gated: bool = False
    stop_after: int | None = None
    then_down: bool = False
    down: bool = False
    served: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def fake_hub(files: dict[str, bytes], model: str = "owner/tiny") -> Iterator[Hub]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def answer(self) -> None:  # GET, and HEAD without the body
            path = urlsplit(self.path).path
            if hub.down:
                return self.send(503, b"", {})
            hub.asked.append((path, self.headers.get("Range", "")))
            if path.startswith(f"/api/models/{model}"):
                self.send(200, json.dumps(described(hub, model)).encode(), {"Content-Type": "application/json"})
            elif (found := re.fullmatch(f"/{model}/resolve/{COMMIT}/(.+)", path)) and found[1] in hub.files:
                self.serve(hub.served.get(found[1], hub.files[found[1]]))
            else:
                self.send(404, b"", {"X-Error-Code": "RepoNotFound"})

        def serve(self, data: bytes) -> None:
            if hub.gated:
                return self.send(403, b"", {"X-Error-Code": "GatedRepo"})
            headers = {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Repo-Commit": COMMIT}
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            start = int(asked[1]) if asked else 0
            if asked:
                headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
            if hub.stop_after is not None and self.command == "GET" and len(data) - start > hub.stop_after:
                self.send(206 if asked else 200, data[start:], headers, cut=hub.stop_after)
                self.close_connection, hub.down = True, hub.then_down
                return None
            return self.send(206 if asked else 200, data[start:], headers)

        def send(self, status: int, body: bytes, headers: dict[str, str], cut: int | None = None) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body if cut is None else body[:cut])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub = Hub(address=f"http://127.0.0.1:{server.server_port}", files=files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


def described(hub: Hub, model: str) -> dict[str, object]:
    """As the real hub describes a model: big files by their SHA-256, small ones by size alone."""
    siblings = []
    for name, data in hub.files.items():
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        entry: dict[str, object] = {"rfilename": name, "size": len(data), "blobId": blob}
        if name.endswith((".safetensors", ".gguf")):
            entry["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
        siblings.append(entry)
    return {"id": model, "modelId": model, "sha": COMMIT, "private": False, "gated": False, "disabled": False,
            "downloads": 0, "likes": 0, "tags": [], "siblings": siblings}  # fmt: skip


def folder_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
