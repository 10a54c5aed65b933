"""Parts of a simulated swarm that shares shards: stores in memory, and exchanges with one mechanism switched off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any, Final

from core.base.content import CHUNK_BYTES, chunk_digests, root_digest
from core.swarm.shards.exchange import ShardExchange
from core.swarm.shards.holder_book import HolderBook
from core.swarm.shards.names import Catalogue, ShardName

SCALE: Final = 256
"""By so much fewer bytes there are, on lines that are so much slower."""
CHUNK: Final = CHUNK_BYTES // SCALE


class RandomBook(HolderBook):
    """Ablation: any shard that somebody has is as good as the rarest."""

    def rarest(self, names: Any, random: Random) -> ShardName | None:
        """Any of the names, held by any peer."""
        listed = list(names)
        return random.choice(listed) if listed else None


class OldestBook(HolderBook):
    """Ablation: the shard goes that came first."""

    def commonest(self, names: Any, random: Random) -> ShardName | None:
        """The name that came first, held by any peer."""
        del random
        return next(iter(names), None)


class WithoutRarest(ShardExchange):
    """An exchange in which any shard is as good as the rarest."""

    BOOK = RandomBook


class WithoutCommonest(ShardExchange):
    """An exchange in which the oldest shard goes."""

    BOOK = OldestBook


EXCHANGES: Final[Mapping[str, type[ShardExchange]]] = MappingProxyType(
    {"": ShardExchange, "rarest": WithoutRarest, "commonest": WithoutCommonest}
)
"""By the name of what is switched off."""


class MemoryShard:
    """A shard in memory, the same one for all."""

    def __init__(self, number: int, chunks: int) -> None:
        self.pieces = [Random(f"{number} {place}").randbytes(CHUNK) for place in range(chunks)]
        self.chunks: Sequence[bytes] = chunk_digests(self.pieces)
        self.digest = root_digest(self.chunks)
        self.size_bytes = CHUNK * chunks

    def read(self, index: int) -> bytes:
        """One chunk, which nobody has to check again."""
        return self.pieces[index]


class MemorySink:
    """Counts the chunks of one shard that have come; they were checked."""

    def begin(self, root: bytes, size_bytes: int, chunks: Sequence[bytes]) -> set[int]:
        """Nothing is left of an earlier transfer."""
        del root, size_bytes, chunks
        return set()

    def write(self, index: int, data: memoryview) -> None:
        """All have the same bytes, so none is kept."""

    def finish(self) -> str:
        """A shard in memory needs no place."""
        return ""


@dataclass(slots=True)
class MemoryShards:
    """One peer's store, with room for a number of bytes."""

    catalogue: Catalogue
    budget_bytes: int
    library: Mapping[bytes, MemoryShard]
    """All shards of the data set."""
    first: Sequence[bytes] = ()
    """Those that lie here from the beginning."""
    spare_bytes: int = 0
    """Nothing is left of a shard that does not come."""

    def room_bytes(self, digest: bytes) -> int:
        """Room that a shard takes."""
        return self.library[digest].size_bytes

    def held(self) -> Sequence[bytes]:
        """Digests of the shards that are here."""
        return self.first

    def file(self, digest: bytes) -> MemoryShard | None:
        """The shard of a digest; who holds it is the shelf's business."""
        return self.library.get(digest)

    def sink(self, digest: bytes) -> MemorySink:
        """Where the next one is put together."""
        del digest
        return MemorySink()

    def expect(self, digest: bytes) -> None:
        """No part of a shard is ever left here."""

    def give_up(self, digest: bytes) -> None:
        """No part of a shard is ever left here."""

    def drop_spare(self) -> int:
        """Nothing is spare, so nothing can go."""
        return 0

    def evict(self, digest: bytes) -> bool:
        """What the shelf gives up is gone at once."""
        del digest
        return True
