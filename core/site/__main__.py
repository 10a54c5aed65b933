"""`python -m core.site HOST PORT FOLDER`: the process that shows a collaboration to everybody.

Views come on stdin, each behind its length; the process begins to listen with the first one, and ends when stdin does.
FOLDER is that of the copies of the model, the only files of the organiser's that it opens.
"""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from core.api.site_view import LENGTH_BYTES, VIEW_BYTES_MAX, SiteView
from core.site.copies import OpenCopies
from core.site.pages import Pages
from core.site.server import SiteServer

EXIT_PROBLEM: Final = 2
_VIEWS: Final = msgspec.msgpack.Decoder(SiteView)


def main(argv: list[str]) -> int:
    """Serve until stdin closes; returns the exit code."""
    host, port, folder = argv
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the backbone, which then closes stdin
    views = read_views()
    first = next(views, None)
    if first is None:
        return 0
    try:
        asyncio.run(_serve(first, views, host=host, port=int(port), folder=Path(folder)))
    except OSError as error:
        sys.stderr.write(f"potluck: The page cannot be served at {host}, port {port}: {error.strerror}.\n")
        return EXIT_PROBLEM
    return 0


async def _serve(first: SiteView, views: Iterator[SiteView], *, host: str, port: int, folder: Path) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    server = SiteServer(first, Pages(), OpenCopies(folder), time.monotonic)
    server.show(first)
    listening = await server.listen(host, port)

    def follow() -> None:
        try:
            for view in views:
                loop.call_soon_threadsafe(server.show, view)
        finally:
            loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=follow, name="views", daemon=True).start()
    await ended.wait()
    listening.close()


def read_views(read: Callable[[int], bytes] | None = None) -> Iterator[SiteView]:
    """Views as the backbone writes them, until there are no more, or something else comes.

    Args:
        read: Reads at most so many bytes, none at the end; None: from stdin, past Python's buffer and its lock.
    """
    source = read or (lambda count: os.read(0, count))
    while len(length := _exactly(source, LENGTH_BYTES)) == LENGTH_BYTES:
        count = int.from_bytes(length, "big")
        body = _exactly(source, count) if count <= VIEW_BYTES_MAX else b""
        if len(body) < max(count, 1):
            return
        yield _VIEWS.decode(body)


def _exactly(source: Callable[[int], bytes], count: int) -> bytes:
    """Read `count` bytes; fewer: the end came before."""
    parts: list[bytes] = []
    while count > 0 and (part := source(count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
