"""What one peer remembers of others from round to round, and what follows from it."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from core.averaging.matchmaking.check_plan import spared_most
from core.averaging.penalties.observed import Observations, Remembered
from core.averaging.plan import Member, Plan
from core.base.back_off import BackOff
from core.base.ids import PeerId

SURE: Final = 2
"""Levels for a failed round, to whom it is put down."""
GUESS: Final = 1
"""Levels where it is not sure: nobody is named, or a round that held was led to its end by another."""
LONGEST: Final = 32
"""The longest exclusion, in first ones."""
FADE_S: Final = 600.0
"""Each such time without a new reason makes good for a level."""
REST_ROUNDS: Final = 4
"""The first rest of whoever costs rounds time without making them fail; such rests are counted in rounds."""
FADE_ROUNDS: Final = 64
LATE_LONGEST: Final = 4
"""Of reducers that are late.  Maybe a sender made them so, so their rests are shorter than such a sender's."""


class Reputation:
    """What one peer holds against others, by what it has seen itself; it is told to nobody, and nobody's word counts.

    A failed round costs its members as long as a round may last.  If that were nobody's fault, whoever makes it fail
    could do so for ever.  So whoever is named (`RoundFailed.suspects`), or else the leader, rests: it is neither asked
    to lead nor followed, or it is given no share.  Rests begin with half a round's time and double with each level.  A
    failed round costs two levels; one led to its end, a share reduced to its end, or ten minutes, make good for one.
    So whoever was unlucky comes back, whoever fails every second time does not, and two who blame each other try again
    and again.

    Who costs committed rounds time, each a little, is remembered for 4, 8, ... of them:

    - Of two who hold other means, the one that made them and the one that says so, a leader cannot tell which of them
      lies.  In its next rounds the one makes no means, and the other's word makes nobody begin anew.  Whoever lies has
      lost the means to do so, and whoever does not loses little.
    - Whoever keeps others waiting beyond the plan's time a second time is not waited for; a reducer whose means came
      late a second time, or did not come, gets no share.

    Args:
        me: This peer; it is never blamed.
        round_timeout_s: What a failed round costs.
    """

    def __init__(self, me: PeerId, *, round_timeout_s: float) -> None:
        self._me = me
        first_s = round_timeout_s / 2
        self._leading, self._reducing = (
            BackOff[PeerId](first=first_s, longest=LONGEST * first_s, decay=FADE_S) for _ in range(2)
        )
        self._rounds = 0
        self._led = 0
        self._late = BackOff[PeerId](first=REST_ROUNDS, longest=LATE_LONGEST * REST_ROUNDS, free=1, decay=FADE_ROUNDS)
        self._slow = BackOff[PeerId](first=REST_ROUNDS, longest=LONGEST // 2 * REST_ROUNDS, free=1, decay=FADE_ROUNDS)
        """Both by `_rounds`."""
        self._differing, self._doubtful = (
            BackOff[PeerId](first=REST_ROUNDS, longest=LONGEST * REST_ROUNDS, decay=FADE_ROUNDS) for _ in range(2)
        )
        """By `_led`: only a leader hears what others hold."""

    def failed(self, plan: Plan, suspects: Sequence[PeerId], now: float) -> None:
        """A round came to nothing, and not by our own doing."""
        leader = leader_of(plan)
        chunks = dict(zip(plan.peers, plan.chunks, strict=True))
        named = set(suspects).intersection(plan.peers) - {self._me}
        for peer in named:
            if peer == leader or not chunks[peer]:
                self._leading.fail(peer, now, times=SURE)
            if chunks[peer]:
                self._reducing.fail(peer, now, times=SURE)
        if not suspects and leader != self._me:
            self._leading.fail(leader, now, times=GUESS)

    def committed(
        self, plan: Plan, versions: Sequence[int], leader: PeerId, now: float, *, seen: Observations | None = None
    ) -> None:
        """A round came to its end.

        That a share was made anew says nothing against its reducer: a leader, or a member that says it holds other
        means, can have anybody's share made anew.

        Args:
            plan: Its plan.
            versions: One for each share; above 0: not made by whom the plan had named for it.  On a grid none.
            leader: Who led it in the end.
            now: Unix seconds.
            seen: What I have seen of the others in it.
        """
        first = leader_of(plan)
        if leader == first:
            self._leading.succeed(first, now)
        elif first != self._me:
            self._leading.fail(first, now, times=GUESS)
        for peer, chunks, version in zip(plan.peers, plan.chunks, versions, strict=False):
            if not version and chunks:
                self._reducing.succeed(peer, now)
        self._rounds += 1
        self._led += leader == self._me
        if seen is not None:
            self._remember(plan, {peer for peer, version in zip(plan.peers, versions, strict=False) if version}, seen)

    def split(self, leader: PeerId, now: float, *, sure: bool) -> None:
        """A round came to its end, and its leader has committed something else to others: as bad as one that failed.

        Where it is not `sure`, members may have lied about an honest leader: then it is as much as the round's end has
        made good for, or few liars would in time let no other lead than themselves.
        """
        self._leading.fail(leader, now, times=SURE if sure else GUESS)

    def _remember(self, plan: Plan, anew: set[PeerId], seen: Observations) -> None:
        """After a round that held; `anew`: whose shares others had to make."""
        helpers = {PeerId(member.peer) for member in plan.members if not member.receives}
        failed = anew.intersection([*seen.late, *helpers.intersection(seen.gone)])
        for accounts, peers, number, levels in (
            (self._late, failed, self._rounds, SURE),
            (self._late, {*seen.late} - failed, self._rounds, GUESS),
            (self._slow, {*seen.slow}, self._rounds, GUESS),
            (self._differing, {*seen.differed}, self._led, GUESS),
            (self._doubtful, {*seen.doubted}, self._led, GUESS),
        ):
            for peer in peers - {self._me}:
                accounts.fail(peer, number, times=levels)

    def may_lead(self, peer: PeerId, now: float) -> bool:
        """Whether `peer` is to be asked for a call, and followed."""
        return not self._leading.is_excluded(peer, now)

    def may_reduce(self, peer: PeerId, now: float) -> bool:
        """Whether `peer` is to be given a share, or called where it would only reduce."""
        rests = self._reducing.is_excluded(peer, now), self._late.is_excluded(peer, self._rounds)
        return not (any(rests) or self._doubtful.is_excluded(peer, self._led))

    def without_excluded(self, members: Sequence[Member], now: float) -> list[Member]:
        """The same, but that those who rest get no share; only so many as a plan may spare, the worst of them first."""
        able = [PeerId(member.peer) for member in members if member.reduces]
        resting = [peer for peer in able if not self.may_reduce(peer, now)]
        resting.sort(key=lambda peer: (-self._held(peer, now), peer))
        spared = set(resting[: spared_most(len(able))])
        return [
            msgspec.structs.replace(member, reduces=False, spared=True) if member.peer in spared else member
            for member in members
        ]

    def _held(self, peer: PeerId, now: float) -> int:
        late, doubtful = self._late.level(peer, self._rounds), self._doubtful.level(peer, self._led)
        return self._reducing.level(peer, now) + late + doubtful

    def remembered(self, peers: Iterable[PeerId], *, usual: float = 1.0) -> Remembered:
        """What to go by in a round with these; `usual`: see there."""
        return Remembered(
            on_probation=frozenset(peer for peer in peers if self._slow.is_excluded(peer, self._rounds)),
            vote_ignored=frozenset(peer for peer in peers if self._differing.is_excluded(peer, self._led)),
            usual=usual,
        )


def leader_of(plan: Plan) -> PeerId:
    """Who published the plan."""
    return plan.peers[plan.leaders[0]]
