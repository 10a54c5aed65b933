"""The shards that this peer holds, in the room that its person gives: when it is full, the commonest one goes."""

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Final

from core.swarm.shards.holder_book import HolderBook
from core.swarm.shards.names import Catalogue, ShardName, ShardStore

PINNED: Final = 2
"""Number of shards that were given to the reader last, and stay: it may still read them."""


class ShardShelf:
    """See the module's docstring.

    Args:
        store: Has the files.
        book: Knows how many others hold each shard.
        random: Draws between equals.
    """

    def __init__(self, store: ShardStore, *, book: HolderBook, random: Random) -> None:
        self._store = store
        self._book = book
        self._random = random
        self.names = {
            entry.digest: ShardName(source, number)
            for source, entries in self.catalogue.sources.items()
            for number, entry in enumerate(entries)
        }
        """All shards by their digests."""
        self.held = {self.names[digest]: None for digest in store.held() if digest in self.names}
        """The shards that lie here, whole, in the order in which they came."""
        self._coming: set[ShardName] = set()
        """Shards that take room, and are not whole yet."""
        self._pinned: deque[ShardName] = deque(maxlen=PINNED)

    @property
    def catalogue(self) -> Catalogue:
        """The shards of the collaboration, held or not."""
        return self._store.catalogue

    @property
    def used_bytes(self) -> int:
        """Bytes of the shards that are held or on their way."""
        return sum(self.catalogue.entry(name).size_bytes for name in {*self.held, *self._coming})

    @property
    def budget_bytes(self) -> int:
        """So much of the disk the person gives to shards."""
        return self._store.budget_bytes

    def pin(self, name: ShardName) -> None:
        """Keep a shard for now: the reader was told where it lies."""
        self._pinned.append(name)

    def reserve(self, name: ShardName, *, is_wanted: Callable[[ShardName], bool]) -> bool:
        """Make room for a shard that is on its way.

        Args:
            name: The shard.
            is_wanted: Whether the reader has still to read a shard: it stays.

        Returns:
            Whether there is room.
        """
        if not self._make_room(self.catalogue.entry(name).size_bytes, is_wanted):
            return False
        self._coming.add(name)
        return True

    def release(self, name: ShardName) -> None:
        """A shard does not come after all."""
        self._coming.discard(name)

    def add(self, name: ShardName) -> None:
        """A shard lies in the store, whole and checked."""
        self._coming.discard(name)
        self.held[name] = None

    def lose(self, name: ShardName) -> None:
        """A shard is gone from the store, or damaged there."""
        self.held.pop(name, None)
        self._store.evict(self.catalogue.entry(name).digest)

    def is_worth(self, name: ShardName) -> bool:
        """Whether to keep a shard that is here anyway: there is room, or a commoner one would go for it."""
        if self.used_bytes + self.catalogue.entry(name).size_bytes <= self._store.budget_bytes:
            return True
        victim = self._book.commonest([one for one in self.held if one not in self._pinned], self._random)
        return victim is not None and self._book.count(victim) > self._book.count(name)

    def trim(self) -> bool:
        """Keep to the room that there is now.

        Returns:
            Whether anything had to go for it.
        """
        before = len(self.held)
        self._make_room(0, lambda _: False)
        return len(self.held) < before

    def _make_room(self, size_bytes: int, is_wanted: Callable[[ShardName], bool]) -> bool:
        used, budget = self.used_bytes + size_bytes, self._store.budget_bytes
        if size_bytes > budget:
            return False
        stays = {*filter(is_wanted, self.held), *self._pinned}
        while used > budget:
            victim = self._book.commonest([one for one in self.held if one not in stays], self._random)
            if victim is None:
                return False
            entry = self.catalogue.entry(victim)
            if not self._store.evict(entry.digest):
                stays.add(victim)
                continue
            del self.held[victim]
            used -= entry.size_bytes
        return True
