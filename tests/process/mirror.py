"""A package index on this computer, which can be cut off, and wheels with next to nothing in them."""

import contextlib
import hashlib
import re
import threading
import zipfile
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


def wheel(folder: Path, name: str, version: str = "1.0", *, files: dict[str, bytes]) -> Path:
    """Make a wheel that holds these files."""
    head = f"{name.replace('-', '_')}-{version}.dist-info"
    about = {
        f"{head}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{head}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{head}/RECORD": "",
    }
    folder.mkdir(exist_ok=True)
    path = folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for place, data in {**files, **{place: text.encode() for place, text in about.items()}}.items():
            archive.writestr(place, data)
    return path


def lock(folder: Path, name: str, *wheels: Path) -> None:
    """Write a file of a lock that names these wheels."""
    folder.mkdir(exist_ok=True)
    pins = []
    for path in wheels:
        package, version = path.name.split("-")[:2]
        pins.append(f"{package}=={version} \\\n    --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n")
    (folder / f"{name}.txt").write_text("".join(pins))


class Mirror(ThreadingHTTPServer):
    """Serves the wheels of a folder by PEP 503, with ranges.

    Args:
        folder: The wheels.
    """

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.cut_after = 0
        """Bytes of a file after which the next connections break; 0: none breaks."""
        self.cuts = 0
        """Number of connections that break."""
        self.sent = 0
        """Bytes of files that were sent."""
        self.cuts_after: Sequence[int] = ()
        """The same by turns, in the place of `cut_after`."""
        self.ranges = True
        self.endless = False
        """It gives files of another kind, without an end."""
        self.begun: list[int] = []
        """Where each download of a file began."""

    @property
    def index(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/simple/"


class _Handler(BaseHTTPRequestHandler):
    server: Mirror

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self, *, body: bool) -> None:
        *_, room, name = unquote(self.path).strip("/").split("/")
        if room == "simple":
            wheels = [path.name for path in self.server.folder.iterdir() if _package(path) == name]
            page = "".join(f'<a href="/files/{one.replace("+", "%2B")}">{one}</a>\n' for one in wheels).encode()
            self._head(200, len(page), "text/html")
            self.wfile.write(page if body else b"")
            return
        path = self.server.folder / name
        if not path.is_file():
            self._head(404, 0, "text/plain")
            return
        found = re.match(r"bytes=(\d+)-", self.headers.get("Range", "")) if self.server.ranges else None
        begin = int(found[1]) if found else 0
        if body and self.server.endless:
            self._flood()
            return
        data = path.read_bytes()[begin:]
        if begin and not data:
            self._head(416, 0, "text/plain")
            return
        self._head(206 if begin else 200, len(data), "application/octet-stream")
        if not body:
            return
        self.server.begun.append(begin)
        turns = self.server.cuts_after or (self.server.cut_after,)
        cut = turns[self.server.cuts % len(turns)]
        if self.server.cuts and len(data) > cut:
            self.server.cuts -= 1
            data = data[:cut]
            self.close_connection = True
        self.server.sent += len(data)
        with contextlib.suppress(OSError):
            self.wfile.write(data)

    def _flood(self) -> None:
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            while self.server.sent < 50_000_000:
                self.wfile.write(bytes(100_000))
                self.server.sent += 100_000
        self.close_connection = True

    def _head(self, status: int, size: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(size))
        self.send_header("Content-Type", kind)
        self.end_headers()


def _package(path: Path) -> str:
    return path.name.partition("-")[0].replace("_", "-").lower()


@contextlib.contextmanager
def mirrored(folder: Path) -> Iterator[Mirror]:
    """A mirror of a folder, while this is open."""
    server = Mirror(folder)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    serving.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
