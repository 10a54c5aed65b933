"""Shards by name, and where they lie: what the machine of shared shards and its owner say to each other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from core.base.content import CHUNK_BYTES
from core.swarm.catching_up.donor import PastMembers
from core.swarm.catching_up.fetch import StateSink
from core.swarm.words.outputs import Output
from core.swarm.words.states import StateFile


class ShardName(NamedTuple):
    """One shard of a source of a collaboration.

    Equal bytes may stand in several places of the sources; the machine knows them by the first of these names
    (`Catalogue.first`), so that they come once, lie here once, and are told once.
    """

    source: int
    """The source's place in the manifest."""
    number: int


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """What an index says of a shard."""

    digest: bytes
    """Root digest of its chunks (`core.base.content`)."""
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The shards of a collaboration that can be shared: those of sources that have an index."""

    run: bytes
    """The manifest's id."""
    sources: Mapping[int, Sequence[ShardEntry]]
    """Shards of each source, in the order of their numbers, by the source's number."""
    chunk_bytes: int = CHUNK_BYTES
    """Another number in simulations only."""
    names: Mapping[bytes, ShardName] = field(init=False)
    """First name of the shard with each digest."""

    def __post_init__(self) -> None:
        names: dict[bytes, ShardName] = {}
        for source, entries in self.sources.items():
            for number, entry in enumerate(entries):
                names.setdefault(entry.digest, ShardName(source, number))
        object.__setattr__(self, "names", names)

    def entry(self, name: ShardName) -> ShardEntry:
        """What the index says of a shard."""
        return self.sources[name.source][name.number]

    def first(self, source: int, number: int) -> ShardName:
        """The first name of a shard, by any of its places."""
        return self.names[self.sources[source][number].digest]


class ShardStore(Protocol):
    """The shards that lie on this computer, as files named by their digests.

    Beside those that are held here lies what is spare: shards of other collaborations, and parts of shards that do not
    come now.  It is of use if it is wanted again, and goes first where room is needed.
    """

    @property
    def catalogue(self) -> Catalogue:
        """The shards of the collaboration, held or not."""

    @property
    def budget_bytes(self) -> int:
        """Bytes of the disk that the person allows for shards."""

    @property
    def spare_bytes(self) -> int:
        """Bytes of the disk that spare files take."""

    def room_bytes(self, digest: bytes) -> int:
        """Return the bytes that a shard takes or would take on the disk."""

    def held(self) -> Sequence[bytes]:
        """Digests of the shards that are there, whole."""

    def file(self, digest: bytes) -> StateFile | None:
        """The file of a shard, for others; None: it is not there any more."""

    def sink(self, digest: bytes) -> StateSink:
        """Where a shard is put together, beside others."""

    def evict(self, digest: bytes) -> bool:
        """Delete a shard; False: the system does not allow it now."""

    def expect(self, digest: bytes) -> None:
        """A shard comes, for which there is room: a part of it that lies here is not spare."""

    def give_up(self, digest: bytes) -> None:
        """A shard does not come any more: what came of it is spare."""

    def drop_spare(self) -> int:
        """Delete what has been spare for longest; returns the bytes that are free now, 0 where nothing could go."""


@dataclass(frozen=True, slots=True)
class OwnRounds:
    """What sharing heeds of this peer's averaging rounds."""

    busy: Callable[[], bool]
    """Whether this peer is in one, which goes first."""
    members: PastMembers
    """Who was in one with this peer, and is served first."""


@dataclass(frozen=True, slots=True)
class ShardsWanted:
    """Told by the owner: the reader wants these shards of a source, in this order; earlier wishes hold no longer."""

    source: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShardKept:
    """Told by the owner: a shard from the origin lies in the store, checked."""

    name: ShardName


@dataclass(frozen=True, slots=True)
class ShardsWeighed:
    """Told by the owner: the person gives another amount of disk to shards."""


ShardFact = ShardsWanted | ShardKept | ShardsWeighed
"""What its owner tells the machine of shared shards."""


@dataclass(frozen=True, slots=True)
class ShardHere:
    """Reported to the owner: peers have sent a shard, and it lies in the store, checked."""

    name: ShardName


@dataclass(frozen=True, slots=True)
class ShardLied:
    """Reported to the owner: a peer has sent bytes of a shard that are not the shard's."""

    name: ShardName
    peer: bytes


ShardOutput = Output | ShardHere | ShardLied
"""What the exchange of shards says: what a participant may say, and news of shards."""
