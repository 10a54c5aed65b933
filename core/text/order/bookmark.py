"""Where a peer stands in its data, as it is kept beside each of its states.

A row counts as used once the contribution with its gradient was absorbed.  What was computed and not absorbed when a
computer died is drawn again; what was absorbed is not.  A row of a contribution that was handed over for a round is *in
doubt* until the next state is held: others may have averaged it without this peer.
"""

from typing import Annotated, Final

import msgspec
import numpy as np
from msgspec import Meta
from msgspec.structs import replace
from numpy.typing import NDArray

from core.base.content import DIGEST_BYTES
from core.base.data_source import SHARDS_MAX, SOURCES_MAX
from core.base.wire import Schema

BOOKMARK_BYTES_MAX: Final = 64 * 1024 * 1024
"""Upper bound on a bookmark's file, bytes; usual ones have some thousands."""
ROWS_MAX: Final = 2**32
"""Upper bound on the number of a shard's rows."""
PASSES_MAX: Final = 2**32

Count = Annotated[int, Meta(ge=0, le=2**53)]
Row = Annotated[int, Meta(ge=0, le=ROWS_MAX)]
Shard = Annotated[int, Meta(ge=0, lt=SHARDS_MAX)]


class BlockMark(msgspec.Struct, frozen=True, array_like=True):
    """A block that is in use."""

    shard: Shard
    first: Row
    """Number of its first row in the shard."""
    rows: Row
    """How many were known."""
    left: bytes
    """A bit for each of them, packed: 1 where it is not averaged, as far as is known."""
    out: bytes = b""
    """The same: 1 where it is in a contribution of which nobody knows yet whether a round has averaged it."""


class PassMark(msgspec.Struct, frozen=True, array_like=True):
    """One pass through a source that is not over."""

    number: Annotated[int, Meta(ge=0, le=PASSES_MAX)]
    complete: bytes
    """A bit for each shard, packed: 1 where all its rows are in blocks in use, or were used."""
    blocks: tuple[BlockMark, ...]
    next_rows: dict[Shard, Row]
    """First row of the next block, for each shard that comes as several blocks."""


class SourceMark(msgspec.Struct, frozen=True, array_like=True):
    """Where a peer stands in one source."""

    listing: Annotated[bytes, Meta(min_length=1, max_length=DIGEST_BYTES)]
    """Digest of the list of its shards: with another one, numbers of shards mean something else."""
    shards: Annotated[int, Meta(ge=0, le=SHARDS_MAX)]
    drawn: Count
    """Number of samples drawn so far, for chance to go on."""
    passes: tuple[PassMark, ...]


class Bookmark(msgspec.Struct, frozen=True, array_like=True):
    """All sources of a collaboration, in the order of its manifest; None: one that was never open."""

    collaboration: Annotated[bytes, Meta(max_length=DIGEST_BYTES)]
    mixed: Count
    """Number of samples drawn so far from all sources together."""
    sources: Annotated[tuple[SourceMark | None, ...], Meta(max_length=SOURCES_MAX)]


BOOKMARK: Final = Schema(Bookmark, named="a bookmark", bytes_max=BOOKMARK_BYTES_MAX)


def resolved(mark: SourceMark, *, averaged: bool) -> SourceMark:
    """The mark once it is known whether its rows in doubt were averaged; else they are drawn again."""

    def block(each: BlockMark) -> BlockMark:
        left = unpacked(each.left, each.rows)
        return replace(each, left=packed(left & ~unpacked(each.out, each.rows)) if averaged else each.left, out=b"")

    passes = (replace(part, blocks=tuple(map(block, part.blocks))) for part in mark.passes)
    return replace(mark, passes=tuple(passes))


def packed(bits: NDArray[np.bool_]) -> bytes:
    """The bits, eight in a byte, the first in the highest place."""
    return np.packbits(bits).tobytes()


def unpacked(data: bytes, count: int) -> NDArray[np.bool_]:
    """Return the first `count` bits of what `packed` made; bits that it lacks are 0."""
    bits = np.zeros(count, np.bool_)
    found = np.unpackbits(np.frombuffer(data, np.uint8))[:count].astype(np.bool_)
    bits[: len(found)] = found
    return bits
