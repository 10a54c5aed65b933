"""Who holds which shard, as far as it was told or seen, and of which there are the fewest copies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from random import Random
from typing import TYPE_CHECKING

from core.base.arrays import np
from core.base.ids import PeerId
from core.swarm.shards.holdings import RANGE
from core.swarm.shards.names import ShardName

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _ones(bits: int) -> NDArray[np.int8]:
    """A number's bits, the lowest first; shape (RANGE,)."""
    octets = np.frombuffer(bits.to_bytes(RANGE // 8, "little"), np.uint8)
    return np.unpackbits(octets, bitorder="little").view(np.int8)


class HolderBook:
    """Counts holders when a bitmap changes, so that looking for the rarest shard is one pass over a list.

    Args:
        shards: Number of shards of each source.
    """

    def __init__(self, shards: Mapping[int, int]) -> None:
        self._counts = {source: np.zeros(count, np.int32) for source, count in shards.items()}
        self._told: dict[tuple[int, int], dict[PeerId, tuple[int, float]]] = {}
        """By source and range: each holder's bitmap, and until when it holds, unix seconds."""

    def heard(self, source: int, place: int, peer: PeerId, bits: int, *, until: float) -> None:
        """Take in what a peer holds of a range; what it held before is forgotten.

        Args:
            source: The source's place in the manifest.
            place: The range's number.
            peer: The holder.
            bits: The bitmap; shards that there are not are left out.
            until: When this expires, unix seconds.
        """
        count = len(self._counts[source]) - place * RANGE
        bits &= (1 << max(0, count)) - 1
        told = self._told.setdefault((source, place), {})
        before, _ = told.pop(peer, (0, 0.0))
        if bits:
            told[peer] = bits, until
        if bits != before:
            counts = self._counts[source][place * RANGE : (place + 1) * RANGE]
            counts += (_ones(bits) - _ones(before))[: counts.size]

    def told(self, source: int, place: int) -> Collection[PeerId]:
        """The holders of a range that are known now."""
        return frozenset(self._told.get((source, place), ()))

    def lacks(self, peer: PeerId, name: ShardName) -> None:
        """A peer does not have a shard that it was said to hold."""
        place, bit = divmod(name.number, RANGE)
        bits, until = self._told.get((name.source, place), {}).get(peer, (0, 0.0))
        self.heard(name.source, place, peer, bits & ~(1 << bit), until=until)

    def forget(self, peer: PeerId) -> None:
        """Count a peer's shards no longer."""
        for source, place in list(self._told):
            self.heard(source, place, peer, 0, until=0.0)

    def expire(self, now: float) -> None:
        """Forget what peers said too long ago."""
        for (source, place), told in self._told.items():
            for peer in [peer for peer, (_, until) in told.items() if until <= now]:
                self.heard(source, place, peer, 0, until=0.0)

    def count(self, name: ShardName) -> int:
        """Number of other peers that hold a shard."""
        return int(self._counts[name.source][name.number])

    def holders(self, name: ShardName) -> list[PeerId]:
        """Other peers that hold a shard, in an order that says nothing."""
        place, bit = divmod(name.number, RANGE)
        told = self._told.get((name.source, place), {})
        return [peer for peer, (bits, _) in told.items() if bits >> bit & 1]

    def rarest(self, names: Iterable[ShardName], random: Random) -> ShardName | None:
        """One of those that the fewest peers hold, drawn at random (S000, appendix H); None: there are no names."""
        best: list[ShardName] = []
        least = 0
        for name in names:
            count = self.count(name)
            if not best or count < least:
                best, least = [name], count
            elif count == least:
                best.append(name)
        return random.choice(best) if best else None

    def commonest(self, names: Iterable[ShardName], random: Random) -> ShardName | None:
        """One of those that the most peers hold, drawn at random; None: there are no names."""
        listed = list(names)
        most = max((self.count(name) for name in listed), default=0)
        best = [name for name in listed if self.count(name) == most]
        return random.choice(best) if best else None
