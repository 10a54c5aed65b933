"""Downloads a collaboration's files from its backbone, piece by piece, each checked against its digest."""

import asyncio
import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import aiohttp

from core.base.content import DIGEST_BYTES
from core.base.problems import NotTrusted, RemoteProblem
from core.system.atomic_files import make_directory, move_synced, problem_of
from core.system.file_chunks import file_digest

BLOBS_BYTES_MAX: Final = 1024 * 1024 * 1024
"""Upper bound on what a collaboration's files take on the disk together, bytes: room for a first model of a quarter of
a billion numbers.  In memory is one piece of them at a time."""
PIECE_BYTES: Final = 64 * 1024
SILENCE_S: Final = 20.0
"""How long a line may say nothing; and how long `PIECE_BYTES` of a file may take where another address can be asked:
a line that many newcomers share is slower than that, and each that gave up would begin anew."""


async def fetch_blobs(
    session: aiohttp.ClientSession, names: Iterable[str], folder: Path, *, or_elsewhere: bool
) -> None:
    """Download those files that are not in a folder yet.

    Args:
        session: HTTP session of the backbone's desk.
        names: Digests in hex.
        folder: Where they go, under these names.
        or_elsewhere: Whether another address can be asked, so that one that trickles is given up.

    Raises:
        TimeoutError: nothing comes any more, or too little for one of several.
        NotTrusted: a file is not what its digest says.
        RemoteProblem: the backbone does not have one, or they are longer than `BLOBS_BYTES_MAX` together.
        NoSpace: the disk is full.
    """
    make_directory(folder)
    room_bytes = BLOBS_BYTES_MAX
    for name in sorted(set(names)):
        path = folder / name
        if not _is_there(path):
            await _fetch(session, path, room_bytes, SILENCE_S if or_elsewhere else None)
        room_bytes -= path.stat().st_size


def has_all(names: Iterable[str], folder: Path) -> bool:
    """Whether each of the files is whole in a folder.

    Args:
        names: Digests in hex.
        folder: Where they would be.
    """
    return all(_is_there(folder / name) for name in set(names))


def _is_there(path: Path) -> bool:
    try:
        return file_digest(path).hex() == path.name
    except OSError:
        return False


async def _fetch(session: aiohttp.ClientSession, path: Path, bytes_max: int, piece_s: float | None) -> None:
    part = _Part(path, bytes_max)
    try:
        async with asyncio.timeout(piece_s) as slow:
            while not await _goes_on(session, part, slow, piece_s):
                pass
        part.keep()
    finally:
        part.close()


async def _goes_on(session: aiohttp.ClientSession, part: "_Part", slow: asyncio.Timeout, piece_s: float | None) -> bool:
    """Add what one connection brings; returns whether the file ends there.

    A desk cuts each connection after a minute (`core.net.limits.guarded_server`), whatever the line.

    Args:
        session: HTTP session of the backbone's desk.
        part: What is there.
        slow: Ends when too little comes.
        piece_s: For how long it is put off by each `PIECE_BYTES`; None: it does not end.

    Raises:
        aiohttp.ClientError: the connection has brought less than `PIECE_BYTES`.
    """
    begun = due = part.size
    headers = {"Range": f"bytes={begun}-"} if begun else {}
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=SILENCE_S, sock_read=SILENCE_S)
    try:
        async with session.get(f"/v1/blobs/{part.name}", headers=headers, timeout=timeout) as response:
            if response.status != (206 if begun else 200):
                raise RemoteProblem("The backbone answered {status} to {path}.", response.status, response.url.path)
            async for piece in response.content.iter_chunked(PIECE_BYTES):
                part.add(piece)
                if piece_s is not None and part.size >= due + PIECE_BYTES:
                    due = part.size
                    slow.reschedule(asyncio.get_running_loop().time() + piece_s)
    except aiohttp.ClientError:
        if part.size < begun + PIECE_BYTES:
            raise
        return False
    return True


class _Part:
    """A file on its way to its place.

    Args:
        path: Its place, named by its digest.
        bytes_max: Upper bound on its size.
    """

    def __init__(self, path: Path, bytes_max: int) -> None:
        self._path = path
        self.name = path.name
        self.size = 0
        """Bytes that are there."""
        self._room_bytes = bytes_max
        self._digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
        self._temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(6)}")
        try:
            self._file = self._temporary.open("xb")
        except OSError as error:
            raise problem_of(error, path) from error

    def add(self, piece: bytes) -> None:
        """Append what came.

        Raises:
            RemoteProblem: there is too much of it.
            NoSpace: the disk is full.
        """
        self.size += len(piece)
        if self.size > self._room_bytes:
            raise RemoteProblem("The collaboration's files are longer than {most} bytes.", BLOBS_BYTES_MAX)
        self._digest.update(piece)
        try:
            self._file.write(piece)
        except OSError as error:
            raise problem_of(error, self._path) from error

    def keep(self) -> None:
        """Give the whole file its name.

        Raises:
            NotTrusted: it is not what the name says.
            NoSpace: the disk is full.
        """
        if self._digest.hexdigest() != self._path.name:
            raise NotTrusted("A file of the collaboration is not what its manifest names.", hint="Tell the organiser.")
        try:
            self._file.close()
            move_synced(self._temporary, self._path)
        except OSError as error:
            raise problem_of(error, self._path) from error

    def close(self) -> None:
        """Leave nothing behind but a whole file."""
        with contextlib.suppress(OSError):  # the disk is full, which was said already
            self._file.close()
        self._temporary.unlink(missing_ok=True)
