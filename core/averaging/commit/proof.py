"""Whether the sums that members tell prove a round's means (`sums`), and what keeps them from it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from core.averaging.aggregators import MEDIAN_LEAST, TYPICAL_PART, half_apart
from core.averaging.allreduce.lane import Lanes
from core.averaging.allreduce.vectors import RoundContext
from core.averaging.commit.projections import Told, root_mean_square, unpacked
from core.averaging.commit.sums import Sums, Term
from core.averaging.messages import SUMS, Members, Status
from core.base.arrays import np
from core.base.ids import hashed_key
from core.codecs.codec import norm_of

if TYPE_CHECKING:
    from core.base.signing import Signing

SPREAD: Final = 2.5
"""Times a vector's norm which the root mean square of 16 projections exceeds once in 10^14 draws."""
ROUNDED: Final = 0.004
"""Times the radius that sums may be off by what is rounded on the way: far parts count by their direction, which is
known to 1 in 1,024."""
RADIUS_SLACK: Final = 2.0
"""Times the radius that the members' sums allow: of 16 projections, and of a share instead of its chunks."""
SILENT_MOST: Final = 0.25
"""Times the radius that members which told no sums may pull with in a share: else it is made anew without them."""
THERE: Final = 0.75
"""Part of a member's chunks in a share from which on the share holds its part."""
LEFT_OUT: Final = 1 / 3
"""Part of all samples that a share may lack of members whose parts are in most others."""


class Proof:
    """One member's side of the proof of one round.

    Args:
        context: What the round works on.
        lanes: Where the means are.
        sums: This member's.
        plan: Name of the plan.
        identity: This member's.
    """

    def __init__(self, context: RoundContext, lanes: Lanes, sums: Sums, *, plan: bytes, identity: Signing) -> None:
        self._context = context
        self._plan = plan
        self._shares = context.shares
        self._lanes = lanes
        self._sums = sums
        self._identity = identity
        self._measured: dict[tuple[int, int], Measure] = {}

    def name(self, nonces: Sequence[bytes], fingerprints: Sequence[bytes]) -> bytes:
        """The name of all votes in this round for the same means."""
        return vote_name(self._plan, nonces, fingerprints)

    def tell(self, vote: bytes) -> tuple[bytes, bytes, tuple[tuple[int, bytes], ...]]:
        """This member's sums with its signature, and what others' should be in the shares that it has made.

        Args:
            vote: Its name, of which nobody knew while the means were made.
        """
        own, made = self._sums.tell(vote)
        return own, self._identity.signer.sign(hashed_key(b"sums", vote, own)), made

    def sound(self, vote: bytes, words: Mapping[int, tuple[bytes, bytes]]) -> dict[int, Told]:
        """The sums of those members that have signed them, and whose parts can have such sums.

        Args:
            vote: Its name.
            words: Each member's sums and signature.
        """
        found = {member: self._read(member, vote, *word) for member, word in words.items()}
        return {member: told for member, told in found.items() if told is not None}

    def doubts(self, told: Mapping[int, Told]) -> Doubts:
        """What keeps the means from being proven by these members' sums; nothing does where it is false."""
        lanes = [lane.share for lane in self._lanes if lane.count]
        present = frozenset(told)
        unheard = [share for share in lanes if not self._measure(share).hears(present)]
        false = [share for share in lanes if share not in unheard and not self._adds_up(share, told)]
        return Doubts(false, unheard, self._left_out(present))

    def is_exact(self, share: int, told: Mapping[int, Told]) -> bool:
        """Whether sums of a share come to nothing, though the silence of nobody is allowed for."""
        return _off(share, told) <= self._measure(share).off(frozenset())

    def differing(self, share: int, told: Mapping[int, Told], word: Status | None) -> Members:
        """Members whose sums in a share, which do not add up, are not what its reducer says they should be.

        Where each of them is off by less than what is rounded, it is the one that is off most: few may lie together.

        Args:
            share: The share.
            told: The sums of all members that have told any.
            word: The reducer's; None: it has none.

        Returns:
            Them; nobody where the reducer does not say, or what it says does not add up either.
        """
        made = {} if word is None else dict(word.made)
        should = unpacked(made.get(share, b""), len(self._shares.peers))
        if should is None or root_mean_square(should.sum(axis=0)) > self._measure(share).off(frozenset()):
            return frozenset()
        rounded = ROUNDED * self._measure(share).radius
        apart = {m: root_mean_square(told[m][share] - should[m]) for m in told}
        most = max(apart, key=apart.__getitem__)
        return frozenset(m for m, one in apart.items() if m == most or one > rounded)

    # --- inside ---

    def _read(self, member: int, vote: bytes, sums: bytes, signature: bytes) -> Told | None:
        found, signed = unpacked(sums, len(self._lanes)), hashed_key(b"sums", vote, sums)
        if found is None or not self._identity.verifier.verify(self._shares.peers[member], signature, signed):
            return None
        sizes = root_mean_square(found)
        fits = all(sizes[lane.share] <= self._measure(lane.share).most(member) for lane in self._lanes if lane.count)
        return found if fits else None

    def _adds_up(self, share: int, told: Mapping[int, Told]) -> bool:
        """Whether sums of a share come to nothing, as nearly as can be, and its radius may be so great."""
        measure, present = self._measure(share), frozenset(told)
        widest = measure.widest({member: one[share] for member, one in told.items()}, self._context.aggregator.clip)
        return measure.clipped <= widest and _off(share, told) <= measure.off(measure.everybody - present)

    def _left_out(self, present: Members) -> dict[int, Members]:
        """Shares with a chunk that lacks too many of these members, whose parts are in most others; and which members.

        Where most shares lack most of the samples, not all their members were late: few may reduce, and lie.

        Args:
            present: Members that have told their sums.
        """
        shares, givers = self._shares, present & self._shares.givers
        lanes = [lane for lane in self._lanes if lane.count]
        holding = {lane.share: self._held(lane.share, givers) for lane in lanes}
        there = {m for m in givers if 2 * sum(m in members for members in holding.values()) > len(lanes) - 1}
        if 2 * shares.samples_of(there) < shares.samples_of(givers):
            there = set(givers)
        most = LEFT_OUT * shares.samples_of(givers) * (1 + ROUNDED)
        found: dict[int, Members] = {}
        for lane in lanes:
            for chunk, number in enumerate(shares.numbers(lane.share)):
                planned, contributors = shares.givers_of(number) & there, lane.contributors(chunk)
                lacking = planned - contributors
                # With fewer parts than a median needs nothing is clipped, so that one false part counts in full.
                unclipped = len(contributors) < MEDIAN_LEAST <= len(planned)
                if lacking and (unclipped or shares.samples_of(lacking) > most):
                    found[lane.share] = found.get(lane.share, frozenset()) | lacking
        return found

    def _measure(self, share: int) -> Measure:
        lane = self._lanes[share]
        name = share, lane.version
        if name not in self._measured:
            self._measured[name] = Measure(self._shares.everybody, self._chunks(share))
        return self._measured[name]

    def _chunks(self, share: int) -> list[ChunkFacts]:
        lane, plan, vectors = self._lanes[share], self._shares.plan, self._context.vectors
        found = []
        for chunk in range(lane.count):
            number, contributors = self._shares.first[share] + chunk, lane.contributors(chunk)
            mean = vectors.mean(number)
            lost = vectors.codec.error(mean, plan.span(number).start) + float(np.finfo(np.float32).eps) * norm_of(mean)
            typical = self._shares.typical(contributors, mean.size) if contributors else 0.0
            found.append(ChunkFacts(self._sums.terms.of(contributors), lane.radii[chunk], lost, typical))
        return found

    def _held(self, share: int, givers: Members) -> Members:
        """Those of these members whose parts are in a share, all but a few of their chunks, or that give it none."""
        lane, missing = self._lanes[share], dict.fromkeys(givers, 0)
        planned = dict.fromkeys(givers, 0)
        for chunk, number in enumerate(self._shares.numbers(share)):
            gives = self._shares.givers_of(number) & givers
            for member in gives:
                planned[member] += 1
            for member in gives - lane.contributors(chunk):
                missing[member] += 1
        return frozenset(m for m in givers if missing[m] <= (1 - THERE) * planned[m])


@dataclass(frozen=True, slots=True)
class Doubts:
    """What keeps means from being proven; nothing: they are."""

    false: Sequence[int]
    """Shares whose sums do not come to nothing, or whose radius is too great."""
    unheard: Sequence[int]
    """Shares with parts of members that told no sums, and that weigh too much."""
    left_out: Mapping[int, Members]
    """Shares that lack members whose parts are in most others, and which members."""

    def __bool__(self) -> bool:
        return bool(self.false or self.unheard or self.left_out)


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """What all members know of a chunk of the means."""

    terms: Mapping[int, Term]
    """What each part in it counts for."""
    radius: float
    """The common one; 0: its parts were not clipped."""
    lost: float
    """Upper bound on the norm of what encoding the mean has lost."""
    typical: float
    """The norm that a part of it typically has."""


class TermScale(NamedTuple):
    """What a member's terms in a share count for."""

    pull: float
    """Its weight in the mean of a chunk, times the root of the part of the chunks that it gives."""
    root: float
    """The root of its samples over their median."""


class Measure:
    """How much sums of a share may be off.

    Args:
        everybody: The members of the round.
        chunks: Those of the share.
    """

    def __init__(self, everybody: Members, chunks: Sequence[ChunkFacts]) -> None:
        self.everybody = everybody
        self._chunks = chunks
        self.lost = math.hypot(*(chunk.lost for chunk in chunks))
        """Norm of what encoding the means has lost, at most."""
        self.typical = math.hypot(*(chunk.typical for chunk in chunks))
        """Norm of a typical part."""
        self.clipped = math.hypot(*(chunk.radius for chunk in chunks))
        """Norm of the common radii, 0 where nothing was clipped."""
        self.radius = math.hypot(*(chunk.radius or chunk.typical for chunk in chunks))
        """The same, with what is typical where nothing was clipped."""

    def most(self, member: int) -> float:
        """Upper bound on the root mean square of a member's sums; 0 where it gives nothing."""
        pulls = [pull for pull in self._pulls(frozenset({member})) if pull]
        return SPREAD * math.hypot(*pulls) + ROUNDED * self.radius if pulls else 0.0

    def off(self, silent: Members) -> float:
        """Upper bound on the root mean square of what all sums come to, where some members have told none."""
        return SPREAD * (self.lost + math.hypot(*self._pulls(silent))) + ROUNDED * self.radius

    def hears(self, told: Members) -> bool:
        """Whether those contributors that have told no sums cannot pull so hard that anything would pass."""
        silent = math.hypot(*self._pulls(self.everybody - told))
        # A common radius can be judged only by as many terms as a median needs.
        enough = not self.clipped or sum(self._scale(member) is not None for member in told) >= MEDIAN_LEAST
        return enough and silent <= SILENT_MOST * (1 + ROUNDED) * self.radius

    def widest(self, sums: Mapping[int, Told], clip: float) -> float:
        """Upper bound on the norm of the common radii, by how far apart the members' terms are.

        A false mean moves all terms alike, so it changes no distance between them; and clipping makes none greater.
        Some chunks may have the radius of that distance, and others that of what is typical.

        Args:
            sums: Those of each member in this share; shape (SUMS,).
            clip: The aggregator's.
        """
        scales = {member: self._scale(member) for member in sums}
        known = [(sums[m] / scale.pull, scale.root) for m, scale in scales.items() if scale is not None]
        half = 0.0
        if len(known) >= MEDIAN_LEAST:
            terms, roots = np.array([term for term, _ in known]), [root for _, root in known]
            half = half_apart(root_mean_square(terms[:, None] - terms) * np.minimum.outer(roots, roots))
        return RADIUS_SLACK * clip * math.hypot(half / math.sqrt(2), TYPICAL_PART * self.typical)

    def _scale(self, member: int) -> TermScale | None:
        """What a member's terms count for in the share; None where it gives nothing to it."""
        terms = [chunk.terms for chunk in self._chunks if member in chunk.terms]
        if not terms:
            return None
        part = math.sqrt(len(terms) / len(self._chunks))
        return TermScale(part * sum(one[member].weight for one in terms) / len(terms), terms[0][member].root)

    def _pulls(self, members: Members) -> Iterator[float]:
        """How hard these members may pull together, in each chunk."""
        for chunk in self._chunks:
            terms = chunk.terms
            there = [member for member in members if member in terms]
            if there and not chunk.radius:
                yield math.inf  # nothing was clipped, so nothing bounds their parts
            else:
                yield sum(terms[member].weight * chunk.radius * terms[member].radius for member in there)


def _off(share: int, told: Mapping[int, Told]) -> float:
    """Root mean square of what the sums of a share come to."""
    return float(root_mean_square(sum((one[share] for one in told.values()), np.zeros(SUMS))))


def vote_name(plan: bytes, nonces: Sequence[bytes], fingerprints: Sequence[bytes]) -> bytes:
    """32 bytes that bind a plan, the key of its votes, the bits of all means and who is in which."""
    return hashed_key(b"bits", plan, *nonces, *fingerprints)
