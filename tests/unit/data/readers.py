"""A reader as a walk sees it, without files: it says blocks of known sizes, at moments that a seed decides."""

from collections import defaultdict
from collections.abc import Sequence
from random import Random

from core.text.order.shard_order import BlockPlace
from core.text.order.source_walk import BlockUnneeded, BlockWanted
from core.text.order.walk import Walk

Sizes = Sequence[Sequence[int]]
"""Rows of one source, by shard and block."""


class FakeReader:
    """Serves one walk.

    Args:
        sources: What each has.
        random: When what is said, and in how many pieces.
        listing: Digest of the shards' list.
    """

    def __init__(self, sources: Sequence[Sizes], random: Random, *, listing: bytes = b"listing") -> None:
        self.sources = sources
        self.random = random
        self.listing = listing
        self.wishes: dict[int, list[tuple[int, int]]] = {}
        self.again: list[tuple[int, BlockPlace]] = []
        self.growing: dict[tuple[int, BlockPlace], int] = defaultdict(int)
        self.opened: set[int] = set()
        self.stalled: set[tuple[int, int]] = set()
        """Shards that cannot be had now."""
        self.gone: set[tuple[int, BlockPlace]] = set()
        self.said: list[tuple[int, BlockPlace]] = []
        """Blocks that were said to be whole, in order."""

    def take(self, walk: Walk) -> None:
        """Hear what the walk wants."""
        for request in walk.requests():
            match request:
                case BlockWanted():
                    self.wishes[request.source] = list(request.shards)
                case BlockUnneeded():
                    self.gone.add((request.source, request.key))
                case _:
                    self.again.append((request.source, request.key))

    def step(self, walk: Walk) -> bool:
        """Do one thing, if there is any."""
        self.take(walk)
        closed = [number for number in range(len(self.sources)) if number not in self.opened]
        if closed:
            number = self.random.choice(closed)
            self.opened.add(number)
            walk.sources[number].opened(len(self.sources[number]), self.listing)
            return True
        if self.again:
            number, key = self.again[0]
            if self._say(walk, number, key):
                self.again.pop(0)
            return True
        able = [number for number, wish in self.wishes.items() if self._next(number, wish) is not None]
        if not able:
            return False
        number = self.random.choice(able)
        key = self._next(number, self.wishes[number])
        assert key is not None
        if self._say(walk, number, key):
            self.wishes.pop(number, None)
        return True

    def run(self, walk: Walk) -> None:
        """Do all that can be done now."""
        while self.step(walk):
            pass

    def _next(self, number: int, wish: list[tuple[int, int]]) -> BlockPlace | None:
        return next((BlockPlace(*each) for each in wish if (number, each[0]) not in self.stalled), None)

    def _say(self, walk: Walk, number: int, key: BlockPlace) -> bool:
        """Say some more of a block; returns whether it is whole."""
        blocks = self.sources[number][key.shard]
        firsts = [sum(blocks[:place]) for place in range(len(blocks))]
        place = max(place for place, first in enumerate(firsts) if first == key.first)
        have = self.growing[number, key]
        rows = min(blocks[place], have + self.random.randint(1, 1 + blocks[place]))
        self.growing[number, key] = rows
        whole = rows == blocks[place]
        if whole:
            del self.growing[number, key]
            self.said.append((number, key))
        walk.sources[number].said(key, rows, whole=whole, last=whole and place == len(blocks) - 1)
        return whole


def all_rows(sizes: Sizes) -> set[tuple[int, int]]:
    """Every (shard, row) of a source."""
    return {(shard, row) for shard, blocks in enumerate(sizes) for row in range(sum(blocks))}
