"""What a member tells to prove that a round's means are those of their parts, before it is committed.

Clipped parts x_i of weights w_i have the mean v where  sum of w_i (x_i - v) min(1, r_i / |x_i - v|) = 0.  Each member
knows its own part, every mean and every radius, so it can tell its own term of that sum; Gorbunov, Borzunov, Diskin and
Ryabinin (2022, "Secure distributed training at scale", section 3) let peers add such terms up.  A term is as long as
the part, so a member tells 16 random projections of it for each share.  Their key is the votes' (`fingerprints`), which
nobody knew while a mean could still be chosen.  Sums are signed, for they pass through the coordinator.

What a member tells wrongly makes a true share look false.  So the reducer of a share, which has seen every part of it,
says what everybody's sums in it should be: who differs from whom is then known (`judgement`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from core.averaging.aggregators import relative_radii, relative_roots
from core.averaging.allreduce.lane import Lanes
from core.averaging.allreduce.reducer import Reducer
from core.averaging.allreduce.share_map import ShareMap
from core.averaging.allreduce.vectors import RoundContext, Vector
from core.averaging.commit.projections import Projection, Told, packed
from core.averaging.messages import SUMS, Members
from core.base.arrays import np
from core.base.ids import hashed_key
from core.codecs.codec import norm_of

Parts: TypeAlias = "Callable[[int, int], Iterator[tuple[int, Vector]]]"


class Term(NamedTuple):
    """What a member's part of a chunk counts for."""

    weight: float
    root: float
    """The root of its samples over their median."""
    radius: float
    """Its radius over the common one."""


class Terms:
    """What the parts in a plan's chunks count for.

    Args:
        shares: The plan's division.
    """

    def __init__(self, shares: ShareMap) -> None:
        self._shares = shares
        self._known: dict[Members, dict[int, Term]] = {}

    def of(self, contributors: Members) -> Mapping[int, Term]:
        """By member, in a chunk with the parts of these."""
        if contributors and contributors not in self._known:
            members, weights = zip(*self._shares.weights(contributors), strict=True)
            roots = relative_roots([max(1, self._shares.plan.members[member].samples) for member in members])
            known = zip(members, map(Term, weights, roots.tolist(), relative_radii(roots).tolist()), strict=True)
            self._known[contributors] = dict(known)
        return self._known.get(contributors, {})


class Sums:
    """One member's sums in one round.

    Args:
        context: What the round works on.
        lanes: Where the means are.
        reducers: Those of the shares that this member makes.
    """

    def __init__(self, context: RoundContext, lanes: Lanes, reducers: Mapping[int, Reducer]) -> None:
        self._context = context
        self._shares = context.shares
        self._lanes = lanes
        self._reducers = reducers
        self.terms = Terms(context.shares)
        """What all parts count for."""

    def tell(self, key: bytes) -> tuple[bytes, tuple[tuple[int, bytes], ...]]:
        """This member's sums in all shares, and what everybody's should be in those that it has made.

        Args:
            key: 32 bytes that nobody knew while the means were made.
        """
        own, made = np.zeros((len(self._lanes), SUMS)), dict[int, Told]()
        for lane in self._lanes:
            if lane.share in self._reducers and lane.count:
                made[lane.share] = self._sums(key, lane.share, self._all_parts)
                own[lane.share] = made[lane.share][self._context.me]
            elif lane.count:
                own[lane.share] = self._sums(key, lane.share, self._own_parts)[self._context.me]
        return packed(own), tuple((share, packed(told)) for share, told in made.items())

    # --- inside ---

    def _own_parts(self, share: int, chunk: int) -> Iterator[tuple[int, Vector]]:
        """This member's part of a chunk, if it gives one."""
        number = self._number(share, chunk)
        if self._shares.gives(self._context.me, number):
            out = np.empty(self._context.vectors.mean(number).size, dtype=np.float32)
            self._context.vectors.read(self._context.me, number, memoryview(b""), out)
            yield self._context.me, out

    def _all_parts(self, share: int, chunk: int) -> Iterator[tuple[int, Vector]]:
        """Every part in the mean of a chunk that this member has made, in memory that the next one overwrites."""
        reducer = self._reducers[share]
        for member, payload in reducer.used.get(chunk, {}).items():
            yield member, reducer.read(member, chunk, payload)

    def _sums(self, key: bytes, share: int, parts: Parts) -> Told:
        """The sums of members in one share; zeros where a member gives nothing.

        Args:
            key: 32 bytes.
            share: The share.
            parts: Gives members with their numbers, which are overwritten, of each of its chunks.
        """
        lane, found = self._lanes[share], np.zeros((len(self._shares.peers), SUMS))
        drawn = hashed_key(b"projections", key, share.to_bytes(2, "big"))
        for chunk in range(lane.count):
            contributors, mean = lane.contributors(chunk), self._context.vectors.mean(self._number(share, chunk))
            terms, projection = self.terms.of(contributors), Projection(drawn, chunk, mean.size)
            for member, values in parts(share, chunk):
                if member not in contributors:  # its part was late, or dropped
                    continue
                np.subtract(values, mean, out=values)
                away, radius = norm_of(values), lane.radii[chunk] * terms[member].radius
                near = min(1.0, radius / away) if radius and away else 1.0
                found[member] += terms[member].weight * near * projection.of(values)
        return found

    def _number(self, share: int, chunk: int) -> int:
        return self._shares.first[share] + chunk
