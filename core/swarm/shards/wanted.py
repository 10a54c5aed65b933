"""Which shards the reader wants: those that it has still to read, in its order, by their first names."""

from collections.abc import Collection, Iterable, Iterator

from core.swarm.shards.names import ShardName


class WantedShards:
    """The reader's wishes, by source; the newest ones of a source take the place of those before."""

    def __init__(self) -> None:
        self._wanted: dict[int, dict[ShardName, None]] = {}

    def __contains__(self, name: ShardName) -> bool:
        return any(name in wanted for wanted in self._wanted.values())

    def __iter__(self) -> Iterator[ShardName]:
        return (name for wanted in self._wanted.values() for name in wanted)

    def want(self, source: int, names: Iterable[ShardName]) -> None:
        """The reader wants these shards for a source, and no others."""
        self._wanted[source] = dict.fromkeys(names)

    def of(self, source: int) -> Collection[ShardName]:
        """The shards that are wanted for a source."""
        return self._wanted.get(source, {})

    def met(self, source: int, name: ShardName) -> None:
        """The reader has the shard for a source, or gets it from the origin."""
        self._wanted.get(source, {}).pop(name, None)
