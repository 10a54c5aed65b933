"""What one peer remembers of others from round to round, and what follows from it."""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

import msgspec

from core.averaging.matchmaking.plans import spared_most
from core.averaging.penalties.observed import Observations, Remembered
from core.averaging.plan import Member, Plan
from core.base.back_off import BackOff
from core.base.ids import PeerId

SURE: Final = 2
"""Number of levels for a failed round, held against the peers that it is attributed to."""
GUESS: Final = 1
"""Number of levels where that is not sure: no peer is named, or a round was committed, but late."""
LONGEST: Final = 32
"""The longest exclusion, in first ones: eight minutes for a peer that makes every round of 30 s fail."""
FADE_S: Final = 600.0
"""Seconds without a new failure after which a level decays: longer than the longest exclusion after rounds of 30 s."""
REST_ROUNDS: Final = 4
"""Number of rounds of the first exclusion of a peer that costs rounds time without making them fail."""
FADE_ROUNDS: Final = 64
"""Number of rounds without a new reason after which such a level decays: as long as the longest probation."""
LATE_LONGEST: Final = 4
"""The longest exclusion of late reducers, in first ones: maybe a sender made them late."""
SLOW_LONGEST: Final = 16
"""The longest probation of slow members, in first ones."""


class Kind(Enum):
    """Why something is held against a peer."""

    LEADING = "leading"
    """Rounds that it led have failed.  Counted in seconds, as `REDUCING` is."""
    REDUCING = "reducing"
    """Rounds have failed by a share of its."""
    LATE = "late"
    """Its means came late.  Counted in rounds, as `SLOW` is."""
    SLOW = "slow"
    """The others were kept waiting for it."""
    DIFFERED = "differed"
    """It voted, with few others, for other means.  Counted in rounds that this peer led: only leaders hear votes."""
    DOUBTED = "doubted"
    """It made means that others differed from.  Counted likewise."""


class Reputation:
    """What one peer holds against others, by what it has observed itself; no message carries it, and none changes it.

    A failed round costs its members as long as a round may last.  If that were attributed to nobody, one peer could
    make rounds fail for ever.  So a peer that is named (`RoundFailed.suspects`), or else the leader, is excluded: it is
    neither asked to lead nor followed, or it is given no share.  Exclusions begin with half a round's time and double
    with each level.  A failed round costs two levels; one led to its end, a share reduced to its end, or ten minutes
    take one away.  So an unlucky peer comes back, one that fails every second time does not, and two that blame each
    other try again and again.

    A peer that costs committed rounds time, each a little, is remembered for 4, 8, ... of them:

    - Of two that hold other means, the one that made them and the one that says so, a leader cannot tell which of them
      lies.  In its next rounds the one makes no means, and for the other's vote alone no share is made anew.  The liar
      has lost the means to lie, and the other loses little.
    - A peer that keeps others waiting beyond the plan's time a second time is on probation; a reducer whose means came
      late a second time, or did not come, gets no share.

    Args:
        me: This peer; nothing is held against it.
        round_timeout_s: What a failed round costs, seconds.
    """

    def __init__(self, me: PeerId, *, round_timeout_s: float) -> None:
        self._me = me
        self._rounds = self._led = 0
        first_s, first = round_timeout_s / 2, REST_ROUNDS
        self._held: dict[Kind, BackOff[PeerId]] = {
            Kind.LEADING: BackOff(first=first_s, longest=LONGEST * first_s, decay=FADE_S),
            Kind.REDUCING: BackOff(first=first_s, longest=LONGEST * first_s, decay=FADE_S),
            Kind.LATE: BackOff(first=first, longest=LATE_LONGEST * first, free=1, decay=FADE_ROUNDS),
            Kind.SLOW: BackOff(first=first, longest=SLOW_LONGEST * first, free=1, decay=FADE_ROUNDS),
            Kind.DIFFERED: BackOff(first=first, longest=LONGEST * first, decay=FADE_ROUNDS),
            Kind.DOUBTED: BackOff(first=first, longest=LONGEST * first, decay=FADE_ROUNDS),
        }

    def failed(self, plan: Plan, suspects: Sequence[PeerId], now: float) -> None:
        """A round failed, and not by this peer's doing.

        Args:
            plan: Its plan.
            suspects: Members that made it fail, as this peer has observed.
            now: Unix seconds.
        """
        leader = plan.leader
        chunks = dict(zip(plan.peers, plan.chunks, strict=True))
        named = set(suspects).intersection(plan.peers)
        self._penalise(Kind.LEADING, {peer for peer in named if peer == leader or not chunks[peer]}, now, SURE)
        self._penalise(Kind.REDUCING, {peer for peer in named if chunks[peer]}, now, SURE)
        if not suspects:
            self._penalise(Kind.LEADING, {leader}, now, GUESS)

    def committed(
        self, plan: Plan, versions: Sequence[int], leader: PeerId, now: float, *, seen: Observations | None = None
    ) -> None:
        """A round was committed.

        That a share was made anew says nothing against its reducer: a leader, or a member that says it holds other
        means, can have every share made anew.

        Args:
            plan: Its plan.
            versions: One for each share; above 0: not made by the member that the plan names.  On a grid none.
            leader: The member that led it in the end.
            now: Unix seconds.
            seen: What this peer has observed of the others in it.
        """
        if leader == plan.leader:
            self._held[Kind.LEADING].succeed(leader, now)
        else:
            self._penalise(Kind.LEADING, {plan.leader}, now, GUESS)
        made = [*zip(plan.peers, plan.chunks, versions, strict=False)]
        for peer, chunks, version in made:
            if not version and chunks:
                self._held[Kind.REDUCING].succeed(peer, now)
        self._rounds += 1
        self._led += leader == self._me
        if seen is not None:
            helpers = {PeerId(member.peer) for member in plan.members if not member.receives}
            anew = {peer for peer, _, version in made if version}
            failed = anew.intersection([*seen.late, *helpers.intersection(seen.gone)])
            self._penalise(Kind.LATE, failed, now, SURE)
            self._penalise(Kind.LATE, {*seen.late} - failed, now, GUESS)
            self._penalise(Kind.SLOW, {*seen.slow}, now, GUESS)
            self._penalise(Kind.DIFFERED, {*seen.differed}, now, GUESS)
            self._penalise(Kind.DOUBTED, {*seen.doubted}, now, GUESS)

    def split(self, leader: PeerId, now: float, *, sure: bool) -> None:
        """A round was committed, and its leader has committed something else to others: as bad as one that failed.

        Args:
            leader: That leader.
            now: Unix seconds.
            sure: False: members may have lied about an honest leader.  Then it costs as much as the commit has taken
                away, or few liars would in time let no other peer lead than themselves.
        """
        self._held[Kind.LEADING].fail(leader, now, times=SURE if sure else GUESS)

    def may_lead(self, peer: PeerId, now: float) -> bool:
        """Whether `peer` is to be asked for a call, and followed."""
        return not self._excludes(Kind.LEADING, peer, now)

    def may_reduce(self, peer: PeerId, now: float) -> bool:
        """Whether `peer` is to be given a share, or called where it would only reduce."""
        return not any(self._excludes(kind, peer, now) for kind in (Kind.REDUCING, Kind.LATE, Kind.DOUBTED))

    def without_excluded(self, members: Sequence[Member], now: float) -> list[Member]:
        """The same members, where excluded ones get no share: as many as a plan may spare, highest penalty first."""
        able = [PeerId(member.peer) for member in members if member.reduces]
        excluded = [peer for peer in able if not self.may_reduce(peer, now)]
        excluded.sort(key=lambda peer: (-self._levels(peer, now), peer))
        spared = set(excluded[: spared_most(len(able))])
        return [
            msgspec.structs.replace(member, reduces=False, spared=True) if member.peer in spared else member
            for member in members
        ]

    def remembered(self, peers: Iterable[PeerId], *, usual: float = 1.0) -> Remembered:
        """What to go by in a round with these peers; `usual`: see `Remembered`."""
        slow, differed = (
            frozenset(peer for peer in peers if self._excludes(kind, peer, 0.0)) for kind in (Kind.SLOW, Kind.DIFFERED)
        )
        return Remembered(on_probation=slow, vote_ignored=differed, usual=usual)

    def _penalise(self, kind: Kind, peers: set[PeerId], now: float, levels: int) -> None:
        for peer in peers - {self._me}:
            self._held[kind].fail(peer, self._clock(kind, now), times=levels)

    def _excludes(self, kind: Kind, peer: PeerId, now: float) -> bool:
        return self._held[kind].is_excluded(peer, self._clock(kind, now))

    def _levels(self, peer: PeerId, now: float) -> int:
        kinds = (Kind.REDUCING, Kind.LATE, Kind.DOUBTED)
        return sum(self._held[kind].level(peer, self._clock(kind, now)) for kind in kinds)

    def _clock(self, kind: Kind, now: float) -> float:
        """The time in the unit in which exclusions of a kind are counted."""
        if kind in {Kind.LATE, Kind.SLOW}:
            return self._rounds
        return self._led if kind in {Kind.DIFFERED, Kind.DOUBTED} else now
