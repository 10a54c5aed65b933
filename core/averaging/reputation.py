"""Whom failed rounds are put down to: for a while they lead nobody, and reduce nothing for others."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from core.averaging.plan import Member, Plan, spared_most
from core.base.ids import PeerId

SURE: Final = 2
"""Levels for a failed round, to whom it is put down."""
GUESS: Final = 1
"""Levels where it is not sure: nobody is named, or a round that held had to go on without somebody's work."""
LEVEL_MAX: Final = 6
FADE_S: Final = 600.0
"""Each such time without a new reason makes good for a level."""
PEERS_MAX: Final = 256


@dataclass(slots=True)
class _Account:
    level: int = 0
    until: float = 0.0
    last: float = 0.0

    def now(self, now: float) -> int:
        return max(0, self.level - int(max(0.0, now - self.last) / FADE_S))


class _Accounts:
    """One role: a reason adds levels and means a rest, twice as long for each level."""

    def __init__(self, first_s: float) -> None:
        self._first_s = first_s
        self._of: OrderedDict[PeerId, _Account] = OrderedDict()

    def blame(self, peer: PeerId, now: float, *, levels: int) -> None:
        account = self._of.pop(peer, _Account())
        level = min(account.now(now) + levels, LEVEL_MAX)
        self._of[peer] = _Account(level, now + self._first_s * (1 << (level - 1)), now)
        if len(self._of) > PEERS_MAX:
            self._of.popitem(last=False)

    def praise(self, peer: PeerId, now: float) -> None:
        account = self._of.get(peer)
        if account is not None:
            account.level = account.now(now) - 1
            account.last = now
            if account.level <= 0:
                del self._of[peer]

    def resting(self, peer: PeerId, now: float) -> bool:
        account = self._of.get(peer)
        return account is not None and now < account.until

    def level(self, peer: PeerId, now: float) -> int:
        account = self._of.get(peer)
        return 0 if account is None else account.now(now)


class Reputation:
    """What one peer holds against others, by what it has seen itself; it is told to nobody, and nobody's word counts.

    A failed round costs its members as long as a round may last.  If that were nobody's fault, whoever makes it fail
    could do so for ever.  So whoever is named (`RoundFailed.suspects`), or else the leader, rests: it is neither asked
    to lead nor followed, or it is given no share.  Rests begin with half a round's time and double with each level.  A
    failed round costs two levels; one led to its end, a share reduced to its end, or ten minutes, make good for one.
    So whoever was unlucky comes back, whoever fails every second time does not, and two who blame each other try again
    and again.

    Args:
        me: This peer; it is never blamed.
        round_timeout_s: What a failed round costs.
    """

    def __init__(self, me: PeerId, *, round_timeout_s: float) -> None:
        self._me = me
        self._leading = _Accounts(round_timeout_s / 2)
        self._reducing = _Accounts(round_timeout_s / 2)

    def failed(self, plan: Plan, suspects: Sequence[PeerId], now: float) -> None:
        """A round came to nothing, and not by our own doing."""
        leader = leader_of(plan)
        chunks = dict(zip(plan.peers, plan.chunks, strict=True))
        named = set(suspects).intersection(plan.peers) - {self._me}
        for peer in named:
            if peer == leader or not chunks[peer]:
                self._leading.blame(peer, now, levels=SURE)
            if chunks[peer]:
                self._reducing.blame(peer, now, levels=SURE)
        if not suspects and leader != self._me:
            self._leading.blame(leader, now, levels=GUESS)

    def committed(
        self, plan: Plan, versions: Sequence[int], leader: PeerId, now: float, *, late: Sequence[PeerId] = ()
    ) -> None:
        """A round came to its end.

        That a share was made anew says nothing against its reducer: a leader, or a member that says it holds other
        means, can have anybody's share made anew.

        Args:
            plan: Its plan.
            versions: One for each share; above 0: not made by whom the plan had named for it.  On a grid none.
            leader: Who led it in the end.
            now: Unix seconds.
            late: Reducers for whose means I have waited too long myself.
        """
        first = leader_of(plan)
        if leader == first:
            self._leading.praise(first, now)
        elif first != self._me:
            self._leading.blame(first, now, levels=GUESS)
        for peer, chunks, version in zip(plan.peers, plan.chunks, versions, strict=False):
            if not version and chunks:
                self._reducing.praise(peer, now)
            elif chunks and peer in late:
                self._reducing.blame(peer, now, levels=GUESS)

    def may_lead(self, peer: PeerId, now: float) -> bool:
        """Whether `peer` is to be asked for a call, and followed."""
        return not self._leading.resting(peer, now)

    def spare(self, members: Sequence[Member], now: float) -> list[Member]:
        """The same, but that those who rest get no share; only so many as a plan may spare, the worst of them first."""
        able = [PeerId(member.peer) for member in members if member.reduces]
        resting = [peer for peer in able if self._reducing.resting(peer, now)]
        resting.sort(key=lambda peer: (-self._reducing.level(peer, now), peer))
        spared = set(resting[: spared_most(len(able))])
        return [
            msgspec.structs.replace(member, reduces=False, spared=True) if member.peer in spared else member
            for member in members
        ]


def leader_of(plan: Plan) -> PeerId:
    """Who published the plan."""
    return plan.peers[plan.leaders[0]]
