"""The order in which a pass reads the shards of a source, and how far it is."""

# ruff: noqa: N803 - names of arrays end in their shapes

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.text.order.chance import stream


class BlockPlace(NamedTuple):
    """Names a block in its source."""

    shard: int
    first: int
    """Number of its first row in the shard."""


class ShardOrder:
    """All shards of a source, in an order that follows from a seed.

    Args:
        shards: How many there are.
        seed: Decides the order.
    """

    def __init__(self, shards: int, seed: int) -> None:
        self.complete_S: NDArray[np.bool_] = np.zeros(shards, np.bool_)
        """Whether all blocks of each shard are known, or were."""
        self._order: list[int] = np.argsort(stream(seed, np.arange(shards)), kind="stable").tolist()
        self._at = 0
        """All shards before this place are complete."""
        self._next_rows: dict[int, int] = {}

    @property
    def all_complete(self) -> bool:
        """Whether there is nothing to want any more."""
        return self._at >= len(self._order)

    @property
    def begun(self) -> dict[int, int]:
        """First row of the next block, for each shard that comes as several blocks."""
        return {shard: row for shard, row in self._next_rows.items() if not self.complete_S[shard]}

    def resume(self, complete_S: NDArray[np.bool_], begun: Mapping[int, int]) -> None:
        """Be as far as another one was."""
        self.complete_S = complete_S
        self._next_rows = dict(begun)
        self._advance()

    def wanted(self, most: int, *, but: set[int]) -> list[tuple[int, int]]:
        """The next shards, each with the row from which on it is wanted.

        Args:
            most: Number of shards.
            but: Shards that are passed over.
        """
        found: list[tuple[int, int]] = []
        for place in range(self._at, len(self._order)):
            if len(found) == most:
                break
            shard = self._order[place]
            if not self.complete_S[shard] and shard not in but:
                found.append((shard, self._next_rows.get(shard, 0)))
        return found

    def is_next(self, key: BlockPlace) -> bool:
        """Whether a block goes on where its shard stands."""
        return not self.complete_S[key.shard] and key.first == self._next_rows.get(key.shard, 0)

    def goes_on(self, key: BlockPlace, rows: int, *, last: bool) -> None:
        """Take the number of rows of a block that is whole, and whether it is its shard's last one."""
        if last:
            self.complete(key.shard)
        else:
            self._next_rows[key.shard] = max(self._next_rows.get(key.shard, 0), key.first + rows)

    def complete(self, shard: int) -> None:
        """There are no more blocks of this shard."""
        self.complete_S[shard] = True
        self._advance()

    def _advance(self) -> None:
        while self._at < len(self._order) and self.complete_S[self._order[self._at]]:
            self._at += 1
