"""A web server on loopback that can be told to misbehave."""

import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

CHUNK = 1 << 16


class Content(Protocol):
    def __len__(self) -> int: ...

    def __getitem__(self, part: slice) -> bytes: ...


class Repeated:
    """A text that repeats, as long as one likes, of which nothing is kept."""

    def __init__(self, text: bytes, size: int) -> None:
        self._text = text * (CHUNK // len(text) + 2)
        self._period = len(text)
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(self._size)
        at = start % self._period
        return self._text[at : at + max(0, stop - start)]


@dataclass
class Site:
    files: Mapping[str, Content]
    ranges: bool = True
    status: int = 0
    """Said instead of the file."""
    wants: str = ""
    """The authorization without which it gives nothing."""
    kind: str = "application/octet-stream"
    moved: Mapping[str, str] = field(default_factory=dict)
    total: int = 0
    """A lie about the size of files, in `Content-Range`."""
    cut: int = 0
    """Bytes after which each answer breaks off."""
    pause_s: float = 0.0
    """Between chunks."""
    chunk: int = CHUNK
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """Path, range and authorization of each question."""
    answer: Callable[[str], tuple[int, bytes] | None] = lambda _: None
    """Answers some paths otherwise."""
    slips: list[str] = field(default_factory=list)
    """How the next answers are wrong, one after the other: "page", "range", "" for one that is right."""
    tag: str = ""
    """ETag of all files."""
    length: str = ""
    """A lie about the length of each answer."""
    sent: int = 0
    url: str = ""


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def do_HEAD(self) -> None:
        self._reply(body=False)

    def do_GET(self) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            self._reply(body=True)

    def _reply(self, *, body: bool) -> None:
        site = self.site
        path = self.path.partition("?")[0]
        asked = self.headers.get("Range", "")
        site.asked.append((self.path, asked, self.headers.get("Authorization", "")))
        special = site.answer(self.path)
        if special is not None:
            self.send_response(special[0])
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(special[1])))
            self.end_headers()
            self.wfile.write(special[1] if body else b"")
            return
        if site.wants not in {"", self.headers.get("Authorization", "")}:
            self.send_response(401)
            self.end_headers()
            return
        if path in site.moved:
            self.send_response(302)
            self.send_header("Location", site.moved[path])
            self.end_headers()
            return
        if site.status or path not in site.files:
            self.send_response(site.status or 404)
            self.end_headers()
            return
        slip = site.slips.pop(0) if site.slips else ""
        content = site.files[path] if slip != "page" else b"<html>Log in!</html>"
        start, end = 0, len(content)
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", asked)
        if found and site.ranges and slip != "page":
            start = int(found[1])
            end = min(end, int(found[2]) + 1) if found[2] else end
            if start >= len(content):
                self.send_response(416)
                self.end_headers()
                return
            self.send_response(206)
            self.send_header(
                "Content-Range", f"bytes {start + 7 * (slip == 'range')}-{end - 1}/{site.total or len(content)}"
            )
        else:
            self.send_response(200)
        self.send_header("Content-Type", "text/html" if slip == "page" else site.kind)
        self.send_header("ETag", site.tag)
        self.send_header("Content-Length", site.length or str(end - start))
        self.end_headers()
        stop = min(end, start + site.cut) if site.cut else end
        while body and start < stop:
            part = content[start : min(stop, start + site.chunk)]
            self.wfile.write(part)
            site.sent += len(part)
            start += len(part)
            if site.pause_s:
                time.sleep(site.pause_s)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def web_server(files: Mapping[str, Content], *, tls: ssl.SSLContext | None = None, **how: object) -> Iterator[Site]:
    """A server of some files, whose behaviour can be changed while it runs; `tls` has it speak https."""
    site = Site(files, **how)  # type: ignore[arg-type]
    handler = type("Handler", (_Handler,), {"site": site})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        site.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}"
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
