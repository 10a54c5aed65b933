"""How far each member's parts lie from those of the others, as far as this computer has reduced them.

It is for people who look after a collaboration: nothing follows from it by itself, and nobody is told of it.  Each
reducer looks at one of `LOOKED_OF` of its chunks, which no other member can guess, and measures there for each part

- its norm, over the median norm of the others;
- the cosine between it and the mean direction of the others, in which each counts by its weight and not by its norm,
  so that a wild part does not make those of honest members look wild;
- whether it was clipped or scaled down.

Few samples make a long part in another direction than most: numbers of one member compare with those of members that
give about as much.  A member that sends wild parts to other reducers only is not seen here.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from core.averaging.aggregators import relative_radii, relative_roots
from core.averaging.allreduce.share_map import ShareMap
from core.averaging.messages import Members
from core.base.arrays import np
from core.base.ids import PeerId, hashed_key
from core.codecs.codec import norm_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"

LOOKED_OF: Final = 32
"""One of so many chunks is looked at, and one of each share at least: a look takes two more readings of all parts."""
PEERS_MAX: Final = 1000
"""Number of peers that are remembered; those whose parts came longest ago are forgotten first."""
ROUNDS_MAX: Final = 256
"""Rounds of a peer after which all its sums are halved, so that what it gives now is seen."""
RATIO_MAX: Final = 1000.0
"""A norm ratio counts as at most this: one wild part does not hide all others for ever."""
_Sum = Annotated[float, Meta(ge=-1e9, le=1e9)]
_Count = Annotated[int, Meta(ge=0, le=2**40)]


class PartsSeen(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over the rounds in which parts of one peer came here."""

    rounds: _Count = 0
    looks: _Count = 0
    """Number of its parts that were looked at."""
    numbers: _Sum = 0.0
    """Part of the round's vector that was looked at, summed over the rounds."""
    ratios: _Sum = 0.0
    cosines: _Sum = 0.0
    clipped: _Count = 0
    """Number of its parts, of those that were looked at, that were clipped or scaled down."""
    dropped: _Count = 0
    """Number of its parts that could not be used: too long, or not of finite numbers."""

    def __add__(self, other: PartsSeen) -> PartsSeen:
        return PartsSeen(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})

    def halved(self) -> PartsSeen:
        """All sums, as if half as much had been seen."""
        return PartsSeen(
            rounds=self.rounds // 2,
            looks=self.looks // 2,
            numbers=self.numbers / 2,
            ratios=self.ratios / 2,
            cosines=self.cosines / 2,
            clipped=self.clipped // 2,
            dropped=self.dropped // 2,
        )


class Apart(NamedTuple):
    """How far a part lies from the others of its chunk."""

    ratio: float
    """Its norm, over the median norm of the others."""
    cosine: float
    """Between it and the mean direction of the others; 0 where one of them has none."""
    away: float
    """Its distance from what became of all parts."""


class DistanceBook:
    """Remembers how far the parts of each peer lay from the others'.

    Args:
        secret: Bytes that no other member can guess: from them follows which chunks are looked at.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._rows: OrderedDict[PeerId, PartsSeen] = OrderedDict()
        self._rounds: dict[PeerId, bytes] = {}
        """The round in which parts of each peer came last."""

    @property
    def rows(self) -> Mapping[PeerId, PartsSeen]:
        """What was seen of each peer."""
        return self._rows

    def restore(self, rows: Mapping[PeerId, PartsSeen]) -> None:
        """Go on from what was seen before this start."""
        self._rows = OrderedDict(list(rows.items())[-PEERS_MAX:])

    def looked(self, round_id: bytes, share: int, count: int) -> range:
        """The chunks of a share that are looked at.

        Args:
            round_id: The round.
            share: The share.
            count: Number of its chunks.
        """
        drawn = int.from_bytes(hashed_key(b"look", self._secret, round_id, share.to_bytes(4, "big"))[:8], "big")
        return range(drawn % max(1, min(count, LOOKED_OF)), count, LOOKED_OF)

    def note(self, peer: PeerId, round_id: bytes, seen: PartsSeen) -> None:
        """Count parts of a peer.

        Args:
            peer: Their sender.
            round_id: The round in which they came.
            seen: What there is to be added, without the round.
        """
        new = self._rounds.get(peer) != round_id
        row = self._rows.pop(peer, PartsSeen()) + seen + PartsSeen(rounds=int(new))
        self._rows[peer] = row.halved() if row.rounds >= ROUNDS_MAX else row
        self._rounds[peer] = round_id
        while len(self._rows) > PEERS_MAX:
            gone, _ = self._rows.popitem(last=False)
            self._rounds.pop(gone, None)


class PartsSight:
    """Measures the parts of one version of a share, where there is a book for it.

    Args:
        book: Remembers what was seen; None: nobody looks.
        shares: The round's division.
        share: The share.
    """

    def __init__(self, book: DistanceBook | None, shares: ShareMap, share: int) -> None:
        self._book = book
        self._shares = shares
        round_id, count = shares.plan.round, shares.counts[share]
        self.chunks = range(0) if book is None else book.looked(round_id, share, count)
        """Chunks of the share that are to be looked at."""

    def dropped(self, members: Iterable[int]) -> None:
        """These members' parts of a chunk could not be used."""
        for member in members:
            self._note(member, PartsSeen(dropped=1))

    def look(
        self, read: Callable[[int], Vector], contributors: Members, scaled: Members, became: tuple[Vector, float]
    ) -> None:
        """Note how far the parts of a chunk lie from each other.

        Args:
            read: As in `apart`.
            contributors: Members whose parts are in the mean.
            scaled: Those of them whose parts were scaled down.
            became: The mean, and the common radius of parts that are clipped, 0 where none is.
        """
        plan, weights, (mean, radius) = self._shares.plan, self._shares.weights(contributors), became
        reach = radius * relative_radii(relative_roots([plan.members[member].samples for member, _ in weights]))
        found = apart(read, weights, mean)
        for (member, _), most in zip(weights, reach, strict=True):
            if member in found:
                ratio, cosine, away = found[member]
                clipped, numbers = member in scaled or bool(0 < most < away), mean.size / plan.numel
                seen = PartsSeen(looks=1, numbers=numbers, ratios=ratio, cosines=cosine, clipped=int(clipped))
                self._note(member, seen)

    def _note(self, member: int, seen: PartsSeen) -> None:
        if self._book is not None:
            self._book.note(self._shares.peers[member], self._shares.plan.round, seen)


def apart(read: Callable[[int], Vector], weights: Sequence[tuple[int, float]], mean: Vector) -> dict[int, Apart]:
    """How far each part of a chunk lies from the others; empty where nothing can be compared.

    Args:
        read: The numbers of a member's part, valid until the next call, which may be overwritten.
        weights: Members and their weights, all together 1.
        mean: What became of the parts, shape (numel,).
    """
    direction, norms = np.zeros_like(mean), dict[int, float]()
    for member, weight in weights:
        values = read(member)
        norms[member] = norm = norm_of(values)
        if not math.isfinite(norm):
            return {}
        if norm:
            direction += np.float32(weight / norm) * values
    length = float(np.dot(direction, direction))
    found: dict[int, Apart] = {}
    for member, weight in weights:
        values, norm = read(member), norms[member]
        others = sorted(norms[other] for other, _ in weights if other != member)
        if not others or not (middle := others[len(others) // 2]):
            continue
        along = float(np.dot(values, direction)) / norm if norm else 0.0
        rest = length - 2 * weight * along + weight * weight  # the squared norm of the others' direction
        cosine = (along - weight) / math.sqrt(rest) if norm and rest > 0 else 0.0
        values -= mean
        found[member] = Apart(min(norm / middle, RATIO_MAX), max(-1.0, min(1.0, cosine)), norm_of(values))
    return found
