"""Members that need no mean hear, once for each share, that all its means are made, and who is in how many."""

from core.averaging.allreduce.giving import Giving
from core.averaging.allreduce.lane import Lane
from core.averaging.messages import Tally
from core.averaging.plan import Plan
from core.base.machine import Send
from core.base.trace import Trace


class Tallies:
    """Mine that were sent, and others' that came before the order that they belong to.

    Args:
        plan: The round's plan.
        me: My index in it.
        giving: Who gives what.
        trace: Where misuse is marked.
    """

    def __init__(self, plan: Plan, me: int, *, giving: Giving, trace: Trace) -> None:
        self._plan = plan
        self._me = me
        self._giving = giving
        self._trace = trace
        self._kept: dict[int, Tally] = {}

    def hear(self, member: int, tally: Tally, lane: Lane, now: float) -> bool:
        """A word on the share of `lane`; returns whether I now know that its means are made."""
        if tally.version < lane.version or lane.reducer == self._me:
            self._trace.mark("averaging.drop.stale")
        elif tally.version > lane.version:
            self._kept[tally.share] = tally
        elif member not in {lane.reducer, lane.maker}:
            self._trace.mark("averaging.drop.sender")
        elif not lane.complete:
            self._tell(lane, tally, now)
            return True
        return False

    def begin(self, share: int, lane: Lane, now: float) -> bool:
        """Another version begins; returns whether I know already that its means are made."""
        tally = self._kept.pop(share, None)
        if tally is None or tally.version != lane.version:
            return False
        self._tell(lane, tally, now)
        return True

    def of(self, share: int, lane: Lane, live: int) -> list[Send[Tally]]:
        """The means of a share are made, by me: to those of `live` (bits) who need none."""
        peers = self._plan.peers
        present = tuple(lane.present(member) for member in range(len(peers)))
        tally = self._kept[share] = Tally(self._plan.round, share, lane.version, present)
        others = live & ~self._giving.receivers & ~(1 << self._me)
        return [Send(peer, tally) for m, peer in enumerate(peers) if others >> m & 1]

    def again(self, member: int, shares: frozenset[int]) -> list[Send[Tally]]:
        """Mine on these shares, for a member that was not there."""
        if self._giving.receivers >> member & 1:
            return []
        peer = self._plan.peers[member]
        return [Send(peer, tally) for share, tally in self._kept.items() if share in shares]

    def _tell(self, lane: Lane, tally: Tally, now: float) -> None:
        givers = self._giving.givers
        lane.told([min(n, lane.count) if givers >> m & 1 else 0 for m, n in enumerate(tally.present)], now)
