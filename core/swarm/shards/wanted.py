"""Which shards the reader wants: those that it has still to read, in its order."""

from collections.abc import Iterator, Sequence

from core.swarm.shards.names import ShardName


class WantedShards:
    """The reader's wishes, by source; the newest ones of a source take the place of those before."""

    def __init__(self) -> None:
        self._wanted: dict[int, dict[ShardName, None]] = {}

    def __contains__(self, name: ShardName) -> bool:
        return name in self._wanted.get(name.source, ())

    def __iter__(self) -> Iterator[ShardName]:
        return (name for wanted in self._wanted.values() for name in wanted)

    def want(self, source: int, numbers: Sequence[int]) -> None:
        """The reader wants these shards of a source, and no others."""
        self._wanted[source] = {ShardName(source, number): None for number in numbers}

    def met(self, name: ShardName) -> None:
        """The reader has the shard, or gets it from the origin."""
        self._wanted.get(name.source, {}).pop(name, None)
