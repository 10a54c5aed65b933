"""The passes of one peer through one source, one after the other, and what is to be said to the reader for them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from core.api.data_state import DataCode
from core.text.order.bookmark import SourceMark
from core.text.order.chance import key_of, uniform
from core.text.order.data_pass import BUFFER_ROWS, Arguments, DataPass, DrawnRow
from core.text.order.shard_order import BlockPlace

AHEAD_BLOCKS: Final = 2
"""Blocks of a source whose rows have not entered the buffer, at most."""
WANTED_MAX: Final = 16
"""Shards that are wanted at a time: the first one that can be had is read."""
PASSES_MAX: Final = 2
"""Passes of a source with rows that were not drawn yet."""


class BlockWanted(NamedTuple):
    """One more block of one of these shards is wanted, the first one that can be had."""

    source: int
    shards: tuple[tuple[int, int], ...]
    """Each with the row from which on it is wanted."""


class BlockWantedAgain(NamedTuple):
    """A block is needed that was there before."""

    source: int
    key: BlockPlace


class BlockUnneeded(NamedTuple):
    """All rows of a block were used."""

    source: int
    key: BlockPlace


Request = BlockWanted | BlockWantedAgain | BlockUnneeded


@dataclass(frozen=True, slots=True)
class Stall:
    """Why a source gives nothing now."""

    code: str
    arguments: Arguments = field(default_factory=dict)
    retry_s: float = 0.0
    is_barren: bool = False
    """Whether nothing of a whole pass could be read."""


class PassList:
    """The passes through a source that are not over, in their order.

    Args:
        source: Its place in the manifest.
        key: Names of the collaboration and the peer.
        buffer_rows: Rows in a full shuffle buffer.
    """

    def __init__(self, source: int, key: tuple[bytes, int], buffer_rows: int) -> None:
        self.shards = 0
        """Number of the source's shards."""
        self._source = source
        self._key = key
        self._buffer_rows = buffer_rows
        self._passes: list[DataPass] = []

    def __iter__(self) -> Iterator[DataPass]:
        """The passes, the oldest first; the list may change meanwhile."""
        return iter(tuple(self._passes))

    def __len__(self) -> int:
        """How many passes are not over."""
        return len(self._passes)

    @property
    def last(self) -> DataPass:
        """The one in which blocks are wanted."""
        return self._passes[-1]

    @property
    def waiting(self) -> int:
        """Number of blocks whose rows have not all entered a buffer."""
        return sum(each.waiting for each in self._passes)

    @property
    def undrawn(self) -> int:
        """Number of passes with rows that were not drawn."""
        return sum(bool(each.buffer or each.waiting) for each in self._passes)

    def settle(self, count: int) -> bool:
        """Whether a number of next rows follow from the order alone, not from what was read by now."""
        for each in self._passes:
            has_entered = each.shards.all_complete and not any(block.is_awaited for block in each.blocks.values())
            if each.buffer.missing and not has_entered:
                return False
            count -= len(each.buffer)
            if count <= 0:
                return True
        return False

    def clear(self, shards: int) -> None:
        """Forget all; the source has another number of shards now."""
        self._passes.clear()
        self.shards = shards

    def begin(self, number: int) -> DataPass:
        """A new pass, which is the last now."""
        seed = key_of(b"order", *self._key, self._source, number)
        begun = DataPass(self._source, number, self.shards, order_seed=seed, buffer_rows=self._buffer_rows)
        self._passes.append(begun)
        return begun

    def pop(self) -> int:
        """Forget the last pass; returns its number."""
        return self._passes.pop().number

    def forget_over(self) -> None:
        """Forget those that are over, except the last."""
        self._passes = [each for each in self._passes if not each.over or each is self.last]

    def use(self, key: BlockPlace) -> bool:
        """Whether any of them needs a block."""
        return any(key in each.blocks for each in self._passes)

    def keys(self) -> list[BlockPlace]:
        """All blocks that these passes still need, each once."""
        return list(dict.fromkeys(key for each in self._passes for key in each.blocks))


class SourceWalk:
    """The passes of one peer through one source.

    Args:
        number: Place of the source in the manifest.
        key: Names of the collaboration and the peer.
        mark: Where an earlier process stood.
        buffer_rows: Rows in a full shuffle buffer.
    """

    def __init__(
        self, number: int, key: tuple[bytes, int], mark: SourceMark | None, *, buffer_rows: int = BUFFER_ROWS
    ) -> None:
        self.number = number
        self.passes = PassList(number, key, buffer_rows)
        self.stall: Stall | None = None
        self.is_empty = False
        """Whether a whole pass had not one row, though all could be read."""
        self.notices: list[tuple[str, Arguments]] = []
        """What people should know; the teller clears it."""
        self.earlier = mark
        """Where an earlier process stood, until the source is open."""
        self.in_doubt: list[DrawnRow] = []
        """Rows that this process had handed over."""
        self._listing = b""
        self._drawn = mark.drawn if mark is not None else 0
        self._draw_key = np.array(key_of(b"draw", *key, number), np.uint64)
        self._asked = False
        """Whether a block was wanted that has not come."""
        self._requests: list[Request] = []

    @property
    def buffered(self) -> int:
        """Number of rows that can be drawn."""
        return sum(len(each.buffer) for each in self.passes)

    @property
    def is_passed_over(self) -> bool:
        """Whether samples come from other sources meanwhile."""
        return (self.stall is not None or self.is_empty) and not any(each.ready for each in self.passes)

    @property
    def is_coming(self) -> bool:
        """Whether more rows will come by themselves."""
        return not self._listing or self._asked or self.passes.waiting > 0

    def opened(self, shards: int, listing: bytes) -> None:
        """Take the number of the source's shards; a listing with another digest begins a new pass."""
        mark, known = self.earlier, bool(self._listing) or self.earlier is not None
        before = self._listing or (mark.listing if mark is not None else b"")
        numbers = [each.number for each in (self.passes or (mark.passes if mark is not None else ()))]
        self._asked, self.earlier = False, None
        if before == listing and self._listing:
            for each in self.passes:
                for key in [block.key for block in each.blocks.values() if not block.whole]:
                    each.miss(key)
        else:
            self._listing, self.stall, self.is_empty = listing, None, False
            self.passes.clear(shards)
            self.in_doubt.clear()
            if before == listing and mark is not None and mark.shards == shards:
                for kept in mark.passes:
                    self.in_doubt += self.passes.begin(kept.number).resume(kept)
            elif known:
                self.notices.append((DataCode.CHANGED, {"shards": shards}))
            if not self.passes:
                self.passes.begin(max(numbers, default=-1) + 1)
        self._requests += [BlockWantedAgain(self.number, key) for key in self.passes.keys()]  # noqa: SIM118 - no dict

    def said(self, key: BlockPlace, rows: int, *, whole: bool, last: bool) -> None:
        """Take the file of a block, and its number of rows."""
        for each in self.passes:
            each.said(key, rows, whole=whole, last=last)
        if whole:
            self._asked = False
            if not self.passes.use(key):
                self._requests.append(BlockUnneeded(self.number, key))
        self._tidy()

    def lost(self, shard: int, code: str, arguments: Arguments) -> None:
        """A shard cannot be read on."""
        for each in self.passes:
            each.lose(shard, code, arguments)
        self._asked = False
        self._tidy()

    def missed(self, key: BlockPlace) -> None:
        """A block's file is gone: it is wanted once more."""
        for each in self.passes:
            each.miss(key)
        self._requests.append(BlockWantedAgain(self.number, key))

    def draw(self, count: int) -> list[DrawnRow]:
        """Take up to a number of rows out of the buffers."""
        found: list[DrawnRow] = []
        for each in self.passes:
            if len(found) < count and each.ready:
                begin = self._drawn + len(found)
                chances = uniform(self._draw_key, np.arange(begin, begin + count - len(found)))
                found += each.draw(chances.tolist())
        self._drawn += len(found)
        return found

    def use(self, part: DataPass, rows: Sequence[DrawnRow]) -> None:
        """The contribution with these rows of a pass was absorbed."""
        gone = part.use(rows)
        if part in self.passes:
            self._requests += [BlockUnneeded(self.number, key) for key in gone if not self.passes.use(key)]
        self._tidy()

    def retry(self) -> None:
        """After a pass without any row: begin another one."""
        if self.passes and self.passes.last.shards.all_complete and not self.passes.last.rows:
            self.stall = None
            self.passes.begin(self.passes.pop())

    def requests(self) -> list[Request]:
        """What is wanted since the last call."""
        found, self._requests = self._requests, []
        if self._listing and not self._asked and not self.is_empty and self.passes.waiting < AHEAD_BLOCKS:
            self._tidy()
            shards = self.passes.last.wanted(WANTED_MAX) if self.passes else []
            if shards:
                self._asked = True
                found.append(BlockWanted(self.number, tuple(shards)))
        return found

    def mark(self, out: Sequence[DrawnRow] = ()) -> SourceMark | None:
        """What a bookmark keeps of it; None: the source was never open.

        Args:
            out: Rows that are in doubt.
        """
        if self.earlier is not None or not self._listing:
            return self.earlier
        passes = tuple(each.mark(row for row in out if row.part is each) for each in self.passes)
        return SourceMark(self._listing, self.passes.shards, self._drawn, passes)

    def _tidy(self) -> None:
        """Forget passes that are over, and begin the next one when the last one has no more shards to want."""
        if not self.passes:
            return
        last = self.passes.last
        self.passes.forget_over()
        if not last.shards.all_complete or self.passes.waiting >= AHEAD_BLOCKS or self.passes.undrawn >= PASSES_MAX:
            return
        if last.rows:
            self.passes.begin(last.number + 1)
            self.passes.forget_over()
        elif last.failure is not None:
            self.stall = Stall(*last.failure, is_barren=True)
        else:
            self.is_empty = True
