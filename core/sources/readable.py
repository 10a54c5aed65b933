"""A source of which shards that cannot be read are left out, and told, while any other can be."""

from collections.abc import Callable, Iterator
from pathlib import Path

from core.sources.source import LeftOut, Listing, Piece, ShardUnreadable, TextShards


class ReadableShards:
    """The shards of a source that can be read (`core.sources.source.TextShards`).

    Args:
        shards: The source.
        pass_over: Told of each shard that cannot be read on, once.
    """

    def __init__(self, shards: TextShards, pass_over: Callable[[LeftOut], None]) -> None:
        self._shards = shards
        self._pass_over = pass_over
        self._failed: set[int] = set()

    @property
    def network(self) -> bool:
        """Whether reading it takes the network."""
        return self._shards.network

    def listing(self) -> Listing:
        """What the source has, as it says itself (`TextShards.listing`)."""
        return self._shards.listing()

    def read(self, shard: int, block: int = 0, *, copy: Path | None = None) -> Iterator[Piece]:
        """The texts of a shard from the beginning of a block on (`TextShards.read`).

        Raises:
            SourceStalled: it cannot be read on now.
            ShardUnreadable: no shard of the source can be read.
        """
        try:
            yield from self._shards.read(shard, block, copy=copy)
        except ShardUnreadable as trouble:
            known = shard in self._failed
            self._failed.add(shard)
            shards = self.listing().shards
            if len(self._failed) == len(shards):
                raise
            if not known:
                self._pass_over(LeftOut(shards[shard].name, trouble.code, first=trouble.why))
