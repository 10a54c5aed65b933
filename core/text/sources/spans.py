"""Where text is cut: files into shards, shards into blocks, blocks into pieces.  Pure: it follows from sizes and bytes.

Text that is not compressed is cut at multiples of a size, and from each of them on to the next end of a paragraph, a
line or a word, whichever is near.  Both neighbours see the same bytes there, so they agree without asking.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from core.base.data_source import SHARDS_MAX
from core.text.sources.source import BLOCK_BYTES, PIECE_BYTES, ShardUnreadable

WINDOW: Final = 16 * 1024
"""Bytes behind a cut within which an end of a paragraph, a line or a word is looked for."""
WHOLE: Final = -1
"""As the end of a span: the file is read in order, to its end."""
_ENDS: Final = (re.compile(rb"\n[ \t\r]*\n"), re.compile(rb"\n"), re.compile(rb"[ \t]"))


class File(NamedTuple):
    """A file, as far as cutting it matters."""

    name: str
    """Within the place."""
    size: int
    """Bytes; 0 where nobody says."""
    splits: bool
    """Whether any range of it can be read on its own as text."""


class Range(NamedTuple):
    """A part of a shard: the bytes [start, end) of a file, each end moved on to where text may be cut."""

    file: int
    start: int
    end: int
    size: int = 0
    """Bytes of it, where start and end count row groups."""


def spans_of(files: Sequence[File]) -> list[tuple[Range, ...]]:
    """Cut files into shards: long texts by ranges, short files together, others one by one.

    Args:
        files: In an order that is the same for everybody.

    Returns:
        Of each shard its spans.
    """
    total = sum(file.size for file in files if file.splits)
    shard_bytes = BLOCK_BYTES * max(1, -(-total // (BLOCK_BYTES * (SHARDS_MAX // 2))))
    shards: list[tuple[Range, ...]] = []
    waiting: list[Range] = []
    held = 0
    for number, file in enumerate(files):
        alone = file.size >= shard_bytes or not file.size
        if waiting and (alone or held + file.size > shard_bytes):
            shards.append(tuple(waiting))
            waiting, held = [], 0
        if not alone:
            waiting.append(Range(number, 0, WHOLE))
            held += file.size
        elif file.splits:
            starts = range(0, max(1, file.size - WINDOW), shard_bytes)
            shards += [(Range(number, at, min(at + shard_bytes, file.size)),) for at in starts[:-1]]
            shards.append((Range(number, starts[-1], file.size),))
        else:
            shards.append((Range(number, 0, WHOLE),))
    if waiting:
        shards.append(tuple(waiting))
    together = -(-len(shards) // SHARDS_MAX)
    groups = (shards[at : at + together] for at in range(0, len(shards), together or 1))
    return [tuple(span for shard in group for span in shard) for group in groups]


def cut_after(window: bytes) -> int:
    """How far behind a multiple of a size text is cut: behind a paragraph, a line, a word, or at least a letter.

    Args:
        window: The bytes from there on, at most `WINDOW`.
    """
    for end in _ENDS:
        if found := end.search(window):
            return found.end()
    return next((at for at, byte in enumerate(window[:4]) if byte & 0xC0 != 0x80), 0)


class ByteBuffer:
    """Bytes that come in chunks of any size, to be looked at before they are taken.

    Where they break off, what came before is given first; then `ShardUnreadable` is raised.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held = bytearray()
        self._broken: ShardUnreadable | None = None

    def peek(self, count: int) -> bytes:
        """The next `count` bytes; fewer only at the end."""
        while len(self._held) < count and self._grow():
            pass
        if self._broken is not None and not self._held:
            raise self._broken
        return bytes(self._held[:count])

    def _grow(self) -> bool:
        """Hold one chunk more; False at the end."""
        try:
            chunk = next(self._chunks, None)
        except ShardUnreadable as error:
            self._broken, chunk = error, None
        self._held += chunk or b""
        return chunk is not None

    def take(self, count: int) -> bytes:
        """The next `count` bytes, which are then gone."""
        taken = self.peek(count)
        del self._held[: len(taken)]
        return taken

    def line(self, longest: int) -> bytes:
        """The next line with its end; empty at the end of all.

        Args:
            longest: Upper bound on the bytes of a piece; a longer line is given in several.
        """
        seen = 0
        while (at := self._held.find(b"\n", seen)) < 0 and len(self._held) < longest:
            seen = len(self._held)
            if not self._grow():
                break
        return self.take(min(at + 1 if at >= 0 else len(self._held), longest))


def text_of_range(
    read: Callable[[int, int], Iterable[bytes]], start: int, end: int, size: int
) -> tuple[int, Iterator[bytes]]:
    """Where the text of a range of a file begins, and the text, in pieces.

    Args:
        read: Gives the bytes of a range of the file, in chunks of any size.
        start: Where the range begins; the text begins where it may be cut from there on.
        end: Where it ends, likewise.
        size: Size of the file.
    """
    buffer = ByteBuffer(read(start, min(end + WINDOW, size)))
    begin = start + (len(buffer.take(cut_after(buffer.peek(WINDOW)))) if start else 0)
    return begin, text_pieces(buffer, end - begin)


def text_pieces(buffer: ByteBuffer, left: float = math.inf) -> Iterator[bytes]:
    """The pieces of a text.

    Args:
        buffer: The text.
        left: Where it ends, bytes, or a little behind: where it may be cut.
    """
    while left > 0:
        wanted = int(left) if left <= PIECE_BYTES + WINDOW else PIECE_BYTES
        ahead = buffer.peek(wanted + WINDOW)
        taken = min(len(ahead), wanted + cut_after(ahead[wanted:]))
        if not taken:
            return
        yield buffer.take(taken)
        left -= taken
