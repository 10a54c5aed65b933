"""What one peer holds against others from round to round: what rounds teach it, and what follows from it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Final

import msgspec

from core.averaging.matchmaking import spared_most
from core.averaging.patience import Patience, Waited
from core.averaging.plan import Member, Plan
from core.base.back_off import BackOff
from core.base.ids import PeerId

SURE: Final = 2
"""Number of levels for a failed round, held against the peers that it is attributed to.  Where that is not sure, it is
one: no peer is named, or a round was committed, but late."""
LONGEST: Final = 32
"""The longest exclusion, in first ones, and the time without a new reason after which a level decays: eight minutes for
a peer that makes every round of 30 s fail."""
REST_ROUNDS: Final = 4
"""Number of rounds of the first exclusion of a peer that costs rounds time without making them fail."""
LATE_LONGEST: Final = 4
"""The longest exclusion of late reducers, in first ones: maybe a sender made them late."""


class Kind(Enum):
    """Why something is held against a peer."""

    LEADING = "leading"
    """Rounds that it led have failed.  Counted in seconds, as `REDUCING` is."""
    REDUCING = "reducing"
    """Rounds have failed by a share of its."""
    LATE = "late"
    """Its means came late, or were others than were committed, or as a helper it hung up before they were there.
    Counted in rounds."""
    DIFFERED = "differed"
    """It voted otherwise on means that this peer gave it, or told other sums than follow from the share that it made.
    Counted in rounds that this peer led: only leaders hear votes."""
    DOUBTED = "doubted"
    """It gave this peer other means than most, or made such as others' sums differ from.  Counted likewise."""


Observations = Mapping[Kind, frozenset[PeerId]]
"""What one member has observed of the others in a round itself: no message is the source of it."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """With which members a member has less patience, because of rounds before."""

    waits: Mapping[PeerId, Waited] = field(default_factory=dict)
    """How long each is waited for beyond the others' time; one that is missing as the timetable says."""
    vote_ignored: frozenset[PeerId] = frozenset()
    """Members for whose vote alone no share is made anew: they are excluded at once."""
    usual: float = 1.0
    """Number of times longer than planned that rounds take of late, at least: no member is the reason for it."""


NOTHING = Remembered()
"""There was no round before."""


class Penalties:
    """What one peer holds against others, by what it has observed itself; no message carries it, and none changes it.

    A failed round costs its members as long as a round may last.  If that were attributed to nobody, one peer could
    make rounds fail for ever.  So a peer that is named (`RoundFailed.suspects`), or else the leader, is excluded: it is
    neither asked to lead nor followed, or it is given no share.  Exclusions begin with half a round's time and double
    with each level.  A failed round costs two levels; one led to its end, a share reduced to its end, or the time of
    the longest exclusion take one away.  So an unlucky peer comes back, one that fails every second time does not, and
    two that blame each other try again and again.

    A peer that costs committed rounds time, each a little, is remembered for 4, 8, ... of them:

    - Of a reducer and a member that tell other sums, a leader cannot tell which of them lies.  In its next rounds the
      one makes no means: it loses nothing but work.  For the vote of a member of whose lie it knows itself no share is
      made anew.
    - A reducer whose means came late, or did not come, gets no share.

    A stranger, which has given no part that is in a committed round, gets no share and leads none, where others can
    (`core.averaging.patience`).

    Args:
        me: This peer; nothing is held against it.
        round_timeout_s: What a failed round costs, seconds.
    """

    def __init__(self, me: PeerId, *, round_timeout_s: float) -> None:
        self._me = me
        self.patience = Patience()
        """How long each is waited for."""
        self.seen: Callable[[PeerId], bool] = lambda _: True
        """Whether a peer has shown its pass: one that has not, and may not exist, is not asked to lead."""
        self._rounds = self._led = 0
        first_s = round_timeout_s / 2
        self._held: dict[Kind, BackOff[PeerId]] = {
            Kind.LEADING: _back_off(first_s),
            Kind.REDUCING: _back_off(first_s),
            Kind.LATE: _back_off(REST_ROUNDS, longest=LATE_LONGEST),
            Kind.DIFFERED: _back_off(REST_ROUNDS),
            Kind.DOUBTED: _back_off(REST_ROUNDS),
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
            self._penalise(Kind.LEADING, {leader}, now)

    def committed(
        self,
        plan: Plan,
        versions: Sequence[int],
        leader: PeerId,
        now: float,
        *,
        seen: Observations = MappingProxyType({}),
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
            self._penalise(Kind.LEADING, {plan.leader}, now)
        for peer, chunks, version in zip(plan.peers, plan.chunks, versions, strict=False):
            if not version and chunks:
                self._held[Kind.REDUCING].succeed(peer, now)
        self._rounds += 1
        self._led += leader == self._me
        for kind, peers in seen.items():
            self._penalise(kind, peers, now)

    def split(self, leader: PeerId, now: float, *, sure: bool) -> None:
        """A round was committed, and its leader has committed something else to others: as bad as one that failed.

        Args:
            leader: That leader.
            now: Unix seconds.
            sure: False: members may have lied about an honest leader.  Then it costs as much as the commit has taken
                away, or few liars would in time let no other peer lead than themselves.
        """
        self._held[Kind.LEADING].fail(leader, now, times=SURE if sure else 1)

    def may_lead(self, peer: PeerId, now: float) -> bool:
        """Whether `peer` is to be asked for a call, and followed."""
        return not self._excludes(Kind.LEADING, peer, now) and not self.patience.is_stranger(peer, now)

    def may_reduce(self, peer: PeerId, now: float) -> bool:
        """Whether `peer` is to be given a share, or called where it would only reduce."""
        return not self._bad_reducer(peer, now)

    def without_excluded(self, members: Sequence[Member], now: float) -> list[Member]:
        """The same members, where excluded ones and strangers get no share.

        They are as many as a plan may spare, highest penalty first; helpers have nothing else to give.
        """
        able = [PeerId(member.peer) for member in members if member.reduces]
        strangers = {PeerId(m.peer) for m in members if m.receives and self.patience.is_stranger(PeerId(m.peer), now)}
        levels = {peer: self._bad_reducer(peer, now) + (peer in strangers) for peer in able}
        excluded = sorted((peer for peer in able if levels[peer]), key=lambda peer: (-levels[peer], peer))
        spared = set(excluded[: spared_most(len(able))])
        return [
            msgspec.structs.replace(member, reduces=False, spared=True) if member.peer in spared else member
            for member in members
        ]

    def remembered(self, peers: Sequence[PeerId], now: float, *, usual: float = 1.0) -> Remembered:
        """What to go by in a round with these peers; `usual`: see `Remembered`."""
        differed = frozenset(peer for peer in peers if self._excludes(Kind.DIFFERED, peer, 0.0))
        return Remembered(waits=self.patience.waits(peers, now), vote_ignored=differed, usual=usual)

    def _penalise(self, kind: Kind, peers: Iterable[PeerId], now: float, levels: int = 1) -> None:
        for peer in frozenset(peers) - {self._me}:
            self._held[kind].fail(peer, self._clock(kind, now), times=levels)

    def _excludes(self, kind: Kind, peer: PeerId, now: float) -> bool:
        return self._held[kind].is_excluded(peer, self._clock(kind, now))

    def _bad_reducer(self, peer: PeerId, now: float) -> int:
        """Number of levels for which a peer gets no share now."""
        kinds = [k for k in (Kind.REDUCING, Kind.LATE, Kind.DOUBTED) if self._excludes(k, peer, now)]
        return sum(self._held[kind].level(peer, self._clock(kind, now)) for kind in kinds)

    def _clock(self, kind: Kind, now: float) -> float:
        """The time in the unit in which exclusions of a kind are counted."""
        if kind is Kind.LATE:
            return self._rounds
        return self._led if kind in {Kind.DIFFERED, Kind.DOUBTED} else now


def _back_off(first: float, *, longest: int = LONGEST) -> BackOff[PeerId]:
    return BackOff(first=first, longest=longest * first, decay=LONGEST * first)
