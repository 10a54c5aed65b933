"""The shards that this peer holds, in the room that its person gives: when it is full, the commonest one goes.

Whatever takes room counts before it is written: shards that are held, those that come, and what is spare
(`ShardStore`), which goes before any shard that is held.
"""

from collections import defaultdict, deque
from collections.abc import Callable
from random import Random
from typing import Final

from core.swarm.shards.holder_book import HolderBook
from core.swarm.shards.names import ShardName, ShardStore

PINNED: Final = 2
"""Number of shards of each source that were given to the reader last, and stay: it may still read them."""


class ShardShelf:
    """Decides which shards this peer keeps in its room; when it is full, the commonest one goes.

    Args:
        store: Has the files.
        book: Knows how many others hold each shard.
        random: Draws between equals.
    """

    def __init__(self, store: ShardStore, *, book: HolderBook, random: Random) -> None:
        self._store = store
        self.catalogue = store.catalogue
        """The shards of the collaboration, held or not."""
        self._book = book
        self._random = random
        names = self.catalogue.names
        self.held = {names[digest]: None for digest in store.held() if digest in names}
        """The shards that lie here, whole, in the order in which they came."""
        self._coming: set[ShardName] = set()
        """Shards that take room, and are not whole yet."""
        self._pinned = defaultdict[int, deque[ShardName]](lambda: deque(maxlen=PINNED))
        """By the source for which they are read."""

    def __contains__(self, name: ShardName) -> bool:
        """Whether a shard is held, or comes from others or the origin."""
        return name in self.held or name in self._coming

    @property
    def used_bytes(self) -> int:
        """Bytes of the disk for all shards that are here or on their way."""
        return self._kept_bytes + self._store.spare_bytes

    def pin(self, source: int, name: ShardName) -> None:
        """Keep a shard for now: the reader of a source was told where it lies."""
        self._pinned[source].append(name)

    def reserve(self, name: ShardName, *, is_wanted: Callable[[ShardName], bool]) -> bool:
        """Make room for a shard that is on its way.

        Args:
            name: The shard.
            is_wanted: Whether the reader has still to read a shard: it stays.

        Returns:
            Whether there is room.
        """
        digest = self.catalogue.entry(name).digest
        self._store.expect(digest)
        if not self._make_room(self._room(name), is_wanted):
            self._store.give_up(digest)
            return False
        self._coming.add(name)
        return True

    def release(self, name: ShardName) -> None:
        """A shard does not come after all."""
        self._coming.discard(name)
        self._store.give_up(self.catalogue.entry(name).digest)

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
        if self._kept_bytes + self._room(name) <= self._store.budget_bytes:
            return True
        stays = self._given
        victim = self._book.commonest([one for one in self.held if one not in stays], self._random)
        return victim is not None and self._book.count(victim) > self._book.count(name)

    def trim(self) -> bool:
        """Keep to the room that there is now.

        Returns:
            Whether anything had to go for it.
        """
        before = len(self.held)
        self._make_room(0, lambda _: False)
        return len(self.held) < before

    @property
    def _given(self) -> set[ShardName]:
        """What the readers of all sources were given last."""
        return set().union(*self._pinned.values())

    @property
    def _kept_bytes(self) -> int:
        return sum(map(self._room, {*self.held, *self._coming}))

    def _room(self, name: ShardName) -> int:
        return self._store.room_bytes(self.catalogue.entry(name).digest)

    def _make_room(self, size_bytes: int, is_wanted: Callable[[ShardName], bool]) -> bool:
        used, budget = self.used_bytes + size_bytes, self._store.budget_bytes
        if size_bytes > budget:
            return False
        while used > budget and (freed := self._store.drop_spare()):
            used -= freed
        stays = {*filter(is_wanted, self.held), *self._given}
        while used > budget:
            victim = self._book.commonest([one for one in self.held if one not in stays], self._random)
            if victim is None:
                return False
            room = self._room(victim)
            if not self._store.evict(self.catalogue.entry(victim).digest):
                stays.add(victim)
                continue
            del self.held[victim]
            used -= room
        return True
