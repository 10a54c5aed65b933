"""Copies of the model on their way to people: downloads, whole or in part, and the SHA-256 to check them by."""

import asyncio
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, Final

from aiohttp import web

from core.api.site_view import SiteCopy

FRESH_S: Final = 5
"""Seconds for which an answer is given again as it is."""
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer browsers would send forms with an Origin of null
    "Server": "Potluck",
}
CACHED: Final = {"Cache-Control": f"public, max-age={FRESH_S}"}
UNCACHED: Final = {"Cache-Control": "no-store"}
PIECE_BYTES: Final = 256 * 1024
LEAST_BYTES_PER_S: Final = 16 * 1024
"""A download that is slower is cut off: it would keep others from theirs."""


class OpenCopies:
    """Opens copies, and computes their digests one after the other, in a thread.

    Args:
        folder: Where the files lie.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, str] = {}
        self._wanted: tuple[str, ...] = ()
        self._task: asyncio.Task[None] | None = None

    @property
    def digests(self) -> Mapping[str, str]:
        """SHA-256 in hex, by name of the file, as far as known."""
        return self._known

    async def open(self, copy: SiteCopy) -> BinaryIO:
        """Open the file of a copy.

        Raises:
            OSError: it is gone.
        """
        return await asyncio.to_thread((self._folder / copy.file).open, "rb")

    def want(self, files: Iterable[str]) -> None:
        """Compute the digests of these, and forget all others."""
        self._wanted = tuple(files)
        self._known = {name: digest for name, digest in self._known.items() if name in self._wanted}
        if self._task is None and self._next() is not None:
            self._task = asyncio.get_running_loop().create_task(self._compute())

    def _next(self) -> str | None:
        return next((name for name in self._wanted if name not in self._known), None)

    async def _compute(self) -> None:
        while (name := self._next()) is not None:
            self._known[name] = await asyncio.to_thread(_digest, self._folder / name)
        self._task = None


class Download:
    """A copy, or a part of it, on its way to somebody.

    Args:
        copy: The copy.
        file: It is open.
        request: Who asks, and for which part.
    """

    def __init__(self, copy: SiteCopy, file: BinaryIO, request: web.BaseRequest) -> None:
        self._file = file
        self._request = request
        self._size = os.fstat(file.fileno()).st_size
        self._headers = {
            **HEADERS,
            **CACHED,
            "ETag": f'"{copy.file}"',
            "Accept-Ranges": "bytes",
            "Content-Type": "application/octet-stream",
            "Content-Disposition": f'attachment; filename="{copy.file}"',
        }

    async def send(self) -> web.StreamResponse:
        """Send what is asked for, piece by piece, each within the time that `LEAST_BYTES_PER_S` allows."""
        asked = self._part()
        if asked is None:
            return web.Response(status=416, headers={**HEADERS, "Content-Range": f"bytes */{self._size}"})
        begin, end, status = asked
        if status == 206:
            self._headers["Content-Range"] = f"bytes {begin}-{end - 1}/{self._size}"
        response = web.StreamResponse(status=status, headers=self._headers)
        response.content_length = end - begin
        response.force_close()
        await response.prepare(self._request)
        if self._request.method == "HEAD":
            return response
        try:
            while begin < end:
                piece = await asyncio.to_thread(self._read, begin, min(PIECE_BYTES, end - begin))
                if not piece:
                    break  # somebody has cut the file
                async with asyncio.timeout(PIECE_BYTES / LEAST_BYTES_PER_S):
                    await response.write(piece)
                begin += len(piece)
        except TimeoutError:
            pass
        if begin < end:
            self._cut()
        return response

    def _read(self, begin: int, count: int) -> bytes:
        self._file.seek(begin)
        return self._file.read(count)

    def _cut(self) -> None:
        if self._request.transport is not None:
            self._request.transport.abort()

    def _part(self) -> tuple[int, int, int] | None:
        """First byte, the one behind the last, and the status; None: there is no such part.

        A range of another copy, or one that cannot be read, counts as none (RFC 9110, 14.2).
        """
        whole = (0, self._size, 200)
        if self._request.headers.get("If-Range", self._headers["ETag"]) != self._headers["ETag"]:
            return whole
        try:
            begin, end, _ = self._request.http_range.indices(self._size)
            asked = self._request.http_range.start is not None
        except ValueError:
            return whole
        if not asked:
            return whole
        return (begin, end, 206) if begin < end else None


def _digest(path: Path) -> str:
    """The digest of a file in hex; empty: it is gone."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
