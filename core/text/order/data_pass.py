"""One pass of one peer through one source: every row once, in an order of the pass's own (S000, section 3.3).

The shards come in a random order.  The rows of their blocks go through a shuffle buffer, which begins with `FIRST` rows
and takes in `GROWTH` for each that is drawn until it holds `BUFFER_ROWS`: it fills beside training.

    a row:  waits in its block -> is in the buffer -> is drawn -> is used
                                               ^---------'          put back, when its gradient was dropped
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.text.order.bookmark import BlockMark, PassMark, packed, unpacked
from core.text.order.shard_order import BlockPlace, ShardOrder

Arguments = dict[str, str | int | float]
"""Arguments of a code, for the sentence that people are shown."""
BUFFER_ROWS: Final = 10_000
FIRST: Final = 512
"""Rows in the buffer before the first is drawn, so that what stands together in a text does not come together."""
GROWTH: Final = 2
"""Rows that enter for each that is drawn while the buffer is not full: reading costs a few percent of training, and a
start soon runs at full speed."""
USED, WAITING, BUFFERED, DRAWN = np.arange(4, dtype=np.uint8)


class PassBlock:
    """The rows of one block, as one pass sees them.

    Args:
        key: Its name.
        states_R: What became of each row that is known already.
    """

    __slots__ = ("entered", "key", "states_R", "there", "whole")

    def __init__(self, key: BlockPlace, states_R: NDArray[np.uint8] | None = None) -> None:
        self.key = key
        self.states_R = np.empty(0, np.uint8) if states_R is None else states_R
        self.there = 0
        """Number of rows that lie in a file: the others cannot be drawn yet."""
        self.entered = 0
        """Before this row none waits."""
        self.whole = False

    @property
    def is_used_up(self) -> bool:
        """Whether nothing is left of it."""
        return self.whole and not self.states_R.any()

    @property
    def waits(self) -> bool:
        """Whether rows that lie in a file have not entered the buffer yet."""
        return self.entered < self.there and bool((self.states_R[self.entered : self.there] == WAITING).any())

    @property
    def is_awaited(self) -> bool:
        """Whether rows of it are still to enter the buffer, whether they lie in a file now or not."""
        return not self.whole or bool((self.states_R == WAITING).any())

    def grow(self, rows: int, *, whole: bool) -> None:
        """Note how many rows lie in a file now; a whole block gets no others."""
        known = len(self.states_R)
        if rows > known:
            self.states_R = np.concatenate((self.states_R, np.full(rows - known, WAITING)))
        elif whole and rows < known:
            self.states_R = self.states_R[:rows].copy()
        self.there = rows
        self.entered = min(self.entered, rows)
        self.whole = self.whole or whole

    def enter(self, count: int) -> list[int]:
        """Up to a number of rows that waited are in the buffer from now on."""
        found = np.flatnonzero(self.states_R[self.entered : self.there] == WAITING)[:count] + self.entered
        self.states_R[found] = BUFFERED
        self.entered = int(found[-1]) + 1 if len(found) == count else self.there
        return [int(row) for row in found]

    def miss(self) -> None:
        """Note that no file holds the block any more."""
        self.states_R[self.states_R == BUFFERED] = WAITING
        self.there = self.entered = 0
        self.whole = False


class DrawnRow(NamedTuple):
    """A row that was drawn, until it is used or put back."""

    source: int
    part: "DataPass"
    block: PassBlock
    row: int
    """Its place in the block."""


class ShuffleBuffer:
    """The rows that can be drawn.

    Args:
        rows_max: How many it holds when it is full.
    """

    def __init__(self, rows_max: int) -> None:
        self._rows: list[tuple[PassBlock, int]] = []
        self._rows_max = rows_max
        self._drawn = 0

    def __len__(self) -> int:
        """How many rows can be drawn now."""
        return len(self._rows)

    @property
    def missing(self) -> int:
        """Number of rows that may enter now."""
        return max(0, min(self._rows_max, FIRST + (GROWTH - 1) * self._drawn) - len(self._rows))

    @property
    def has_begun(self) -> bool:
        """Whether there are enough rows to be drawn well, or were."""
        return self._drawn > 0 or not self.missing

    def begin_full(self) -> None:
        """Take in at once all that a full one holds: the rows were read before."""
        self._drawn = self._rows_max

    def enter(self, block: PassBlock) -> None:
        """Let rows of a block enter, as many as may."""
        if block.entered < block.there:
            self._rows.extend((block, row) for row in block.enter(self.missing))

    def draw(self, chance: float) -> tuple[PassBlock, int]:
        """Take one row out.

        Args:
            chance: Decides which, in [0, 1).
        """
        place, rows = int(chance * len(self._rows)), self._rows
        rows[place], rows[-1] = rows[-1], rows[place]
        block, row = rows.pop()
        block.states_R[row] = DRAWN
        self._drawn += 1
        return block, row

    def put_back(self, block: PassBlock, row: int) -> None:
        """A row that was drawn can be drawn again, where it is there."""
        if row < len(block.states_R) and block.states_R[row] == DRAWN:
            block.states_R[row] = BUFFERED if row < block.there else WAITING
            if row < block.there:
                self._rows.append((block, row))

    def miss(self, block: PassBlock) -> None:
        """The rows of a block wait again."""
        self._rows = [each for each in self._rows if each[0] is not block]
        block.miss()


class DataPass:
    """Draws every row of one source once, through a shuffle buffer, and says which blocks it wants.

    Args:
        source: Place of the source in the manifest.
        number: Number of the pass.
        shards: Number of the source's shards.
        order_seed: Decides the order of the shards.
        buffer_rows: Rows in the full shuffle buffer.
    """

    def __init__(
        self, source: int, number: int, shards: int, *, order_seed: int, buffer_rows: int = BUFFER_ROWS
    ) -> None:
        self.source = source
        self.number = number
        self.blocks: dict[BlockPlace, PassBlock] = {}
        self.rows = 0
        """Number of rows that blocks were said to have."""
        self.failure: tuple[str, Arguments] | None = None
        """Why the last shard that could not be read could not."""
        self.shards = ShardOrder(shards, order_seed)
        self.buffer = ShuffleBuffer(buffer_rows)
        """The rows that can be drawn."""

    @property
    def over(self) -> bool:
        """Whether every row of the pass was used."""
        return self.shards.all_complete and not self.blocks

    @property
    def waiting(self) -> int:
        """Number of blocks from which rows can enter, now or when they are said again."""
        return sum(block.waits or not block.whole for block in self.blocks.values())

    @property
    def ready(self) -> bool:
        """Whether rows may be drawn: the buffer has begun, or never gets fuller."""
        if not self.buffer:
            return False
        return self.buffer.has_begun or (self.shards.all_complete and not self.waiting)

    def wanted(self, most: int) -> list[tuple[int, int]]:
        """The next shards, each with the row from which on it is wanted; none of which a block is to be said again."""
        awaited = {key.shard for key, block in self.blocks.items() if not block.whole and not block.there}
        return self.shards.wanted(most, but=awaited)

    def said(self, key: BlockPlace, rows: int, *, whole: bool, last: bool) -> None:
        """Take the number of rows of a block, which may be one of this pass."""
        block = self.blocks.get(key)
        if block is None:
            if not self.shards.is_next(key):
                return
            block = self.blocks[key] = PassBlock(key)
        self.rows += max(0, rows - len(block.states_R))
        block.grow(rows, whole=whole)
        if whole:
            self.shards.goes_on(key, rows, last=last)
        self._tidy([key])
        self._fill()

    def lose(self, shard: int, code: str, arguments: Arguments) -> None:
        """A shard cannot be read on: what of it was not said is left out of this pass."""
        self.failure = (code, arguments)
        broken = [key for key, block in self.blocks.items() if key.shard == shard and not block.whole]
        for key in broken:
            self.blocks[key].grow(self.blocks[key].there, whole=True)
        self._tidy(broken)
        self.shards.complete(shard)

    def miss(self, key: BlockPlace) -> None:
        """A block's file is gone: its rows cannot be drawn until it is said again."""
        if key in self.blocks:
            self.buffer.miss(self.blocks[key])

    def draw(self, chances: Iterable[float]) -> list[DrawnRow]:
        """A row for each number in [0, 1), as far as the buffer has any."""
        drawn: list[DrawnRow] = []
        self._fill()
        for chance in chances:
            if not self.buffer:
                self._fill()
            if not self.buffer:
                break
            drawn.append(DrawnRow(self.source, self, *self.buffer.draw(chance)))
        self._fill()
        return drawn

    def use(self, rows: Iterable[DrawnRow]) -> list[BlockPlace]:
        """The contribution with these rows was absorbed; returns the blocks that are used up by that."""
        touched: dict[BlockPlace, None] = {}
        for drawn in rows:
            if drawn.row < len(drawn.block.states_R):
                drawn.block.states_R[drawn.row] = USED
            touched[drawn.block.key] = None
        return self._tidy(touched)

    def mark(self, out: Iterable[DrawnRow] = ()) -> PassMark:
        """What a bookmark keeps of this pass.

        Args:
            out: Rows that are in doubt.
        """
        out_R = {key: np.zeros(len(block.states_R), np.bool_) for key, block in self.blocks.items()}
        for drawn in out:
            if drawn.block.key in out_R and drawn.row < len(out_R[drawn.block.key]):
                out_R[drawn.block.key][drawn.row] = True
        blocks = tuple(
            BlockMark(*key, len(block.states_R), packed(block.states_R != USED), packed(out_R[key]))
            for key, block in self.blocks.items()
        )
        return PassMark(self.number, packed(self.shards.complete_S), blocks, self.shards.begun)

    def resume(self, mark: PassMark) -> list[DrawnRow]:
        """Stand where that stood; its blocks are to be said again.

        Returns:
            Rows that are in doubt: they are used, or put back, once it is known what became of them.
        """
        self.shards.resume(unpacked(mark.complete, len(self.shards.complete_S)), mark.next_rows)
        self.rows = 1
        self.buffer.begin_full()
        out: list[DrawnRow] = []
        for each in mark.blocks:
            left_R = unpacked(each.left, each.rows)
            out_R = left_R & unpacked(each.out, each.rows)
            key = BlockPlace(each.shard, each.first)
            block = self.blocks[key] = PassBlock(key, np.select([out_R, left_R], [DRAWN, WAITING], USED))
            out += [DrawnRow(self.source, self, block, row) for row in np.flatnonzero(out_R).tolist()]
        return out

    def _fill(self) -> None:
        for block in self.blocks.values():
            if not self.buffer.missing:
                return
            self.buffer.enter(block)

    def _tidy(self, keys: Iterable[BlockPlace]) -> list[BlockPlace]:
        """Forget those blocks of which nothing is left; returns them."""
        gone = [key for key in keys if key in self.blocks and self.blocks[key].is_used_up]
        for key in gone:
            del self.blocks[key]
        return gone
