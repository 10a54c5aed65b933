"""`python -m core.site HOST PORT FOLDER [COMMAND...]`: the process that shows a collaboration to everybody.

Settings, views and answers come on stdin, each behind its length (`core.base.site.channel`); the process begins to
listen with the first view, and ends when stdin does.  FOLDER is that of the copies of the model, the only files of the
organiser's that it opens beside its database.  COMMAND has one of them answer visitors' texts (`core.site.try_model`).
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

from core.api.site_view import LENGTH_BYTES, SiteView
from core.base.site.channel import FRAME_BYTES_MAX, DeskAnswer, FromBackbone, SiteStart
from core.base.site.ways import WaysIn
from core.site.backbone_line import BackboneLine
from core.site.copies import OpenCopies
from core.site.database import Database, database_url
from core.site.door import SignInDoor
from core.site.entrance import Entrance
from core.site.pages import Pages
from core.site.people_book import PeopleBook
from core.site.server import SiteServer
from core.site.team_pages import TeamPages
from core.site.try_model import TryModel

EXIT_PROBLEM: Final = 2
_FRAMES: Final[msgspec.msgpack.Decoder[FromBackbone]] = msgspec.msgpack.Decoder(FromBackbone)


def main(argv: list[str]) -> int:
    """Serve until stdin closes; returns the exit code."""
    host, port, folder, *command = argv
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the backbone, which then closes stdin
    frames = read_frames()
    start, first = next(frames, None), next(frames, None)
    if not isinstance(start, SiteStart) or not isinstance(first, SiteView):
        return 0
    model, copies = TryModel(command, Path(folder)), Path(folder)
    try:
        asyncio.run(_serve(start, first, frames, model, folder=copies, at=(host, int(port))))
    except OSError as error:
        sys.stderr.write(f"potluck: The page cannot be served at {host}, port {port}: {error.strerror}.\n")
        return EXIT_PROBLEM
    return 0


async def _serve(
    start: SiteStart,
    first: SiteView,
    frames: Iterator[FromBackbone],
    model: TryModel,
    *,
    folder: Path,
    at: tuple[str, int],
) -> None:
    loop, ended, line = asyncio.get_running_loop(), asyncio.Event(), BackboneLine()
    database = Database(database_url(start.database, Path(start.folder)))
    book = PeopleBook(database)
    pages = Pages()
    server = SiteServer(first, pages, OpenCopies(folder), model, book, time.monotonic)
    entrance = Entrance(database, line, time.time)  # noqa: TID251 - the clock of this process

    def opened(ways: WaysIn | None) -> None:
        entrance.open(ways)
        pages.signs_in = ways is not None and bool(ways.told)

    opened(start.ways)
    teams = TeamPages(pages, book, entrance)
    server.doors.append(SignInDoor(pages, entrance, teams.answers))
    server.has_given, entrance.forget = teams.has_given, book.teams.forget
    server.show(first)
    listening = await server.listen(*at)

    def take(frame: FromBackbone) -> None:
        match frame:
            case SiteView():
                server.show(frame)
            case DeskAnswer():
                line.answered(frame)
            case SiteStart():
                opened(frame.ways)

    def follow() -> None:
        try:
            for frame in frames:
                loop.call_soon_threadsafe(take, frame)
        finally:
            loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=follow, name="backbone", daemon=True).start()
    await ended.wait()
    listening.close()
    await model.close()
    await book.close()
    await entrance.close()
    database.close()


def read_frames(read: Callable[[int], bytes] | None = None) -> Iterator[FromBackbone]:
    """Frames as the backbone writes them, until there are no more, or something else comes.

    Args:
        read: Reads at most so many bytes, none at the end; None: from stdin, past Python's buffer and its lock.
    """
    source = read or (lambda count: os.read(0, count))
    while len(length := _exactly(source, LENGTH_BYTES)) == LENGTH_BYTES:
        count = int.from_bytes(length, "big")
        body = _exactly(source, count) if count <= FRAME_BYTES_MAX else b""
        if len(body) < max(count, 1):
            return
        yield _FRAMES.decode(body)


def _exactly(source: Callable[[int], bytes], count: int) -> bytes:
    """Read `count` bytes; fewer: the end came before."""
    parts: list[bytes] = []
    while count > 0 and (part := source(count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
