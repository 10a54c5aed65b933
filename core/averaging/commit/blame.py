"""Whom a member blames when a round has come to nothing for it, and what it remembers of one that held."""

from core.averaging.allreduce.exchange import Exchange
from core.averaging.commit.leadership import Leadership
from core.averaging.penalties.observed import Observations
from core.averaging.plan import Plan
from core.base.ids import PeerId


class Blame:
    """What one member has seen of the others; sets of members are bits.

    Args:
        plan: The round's plan.
        me: My index in it.
    """

    def __init__(self, plan: Plan, me: int) -> None:
        self._plan = plan
        self._me = me
        self.bits = 0
        """Leaders that were silent, or committed what they should not."""
        self._astray = 0
        self._nobody = False

    def nobody(self) -> None:
        """It is my own decision that I go home."""
        self._nobody = True

    def goes_by_another_plan(self, member: int) -> bool:
        """A member does; returns whether that was known."""
        known = self._astray >> member & 1
        self._astray |= 1 << member
        return bool(known)

    def at_the_end(self, exchange: Exchange, leadership: Leadership | None, *, leader: int) -> None:
        """The round's time is over: to blame is who owes the leader its word, or who as the leader owes the Commit."""
        if leadership is not None:
            self.bits |= sum(1 << member for member in leadership.incomplete())
        elif exchange.complete:
            self.bits |= 1 << leader

    def suspects(self, exchange: Exchange, leadership: Leadership | None, *, lost: int) -> tuple[PeerId, ...]:
        """Whom to name.  Nobody whose link ended: that can happen to anybody, and costs little.

        But for reducers of which I had complained before: they would else be done with it by hanging up.
        A member that would blame more than half of the others, and more than one, is the odd one itself.
        """
        others = len(self._plan.members) - 1
        found = (self.bits | (leadership.suspects if leadership is not None else 0)) & ~lost | exchange.patience.blamed
        if 2 * self._astray.bit_count() >= max(others, 1):  # nobody else can have made two plans
            found |= 1 << self._plan.leaders[0]
        found &= ~(1 << self._me)
        if self._nobody or found.bit_count() > max(1, others // 2):
            return ()
        return self._peers(found)

    def seen(self, exchange: Exchange, leadership: Leadership | None) -> Observations:
        """The round holds: what I have seen of the others."""
        seen = {
            "late": exchange.patience.blamed,
            "gone": exchange.gone,
            "behind": exchange.patience.behind,
            "slow": exchange.patience.slow,
        }
        if leadership is not None:
            said = leadership.said
            seen["slow"] |= leadership.overtime.slow
            seen |= {"differed": said.differed, "doubtful": said.doubtful}
        return Observations(**{kind: self._peers(members) for kind, members in seen.items()})

    def _peers(self, members: int) -> tuple[PeerId, ...]:
        return tuple(peer for member, peer in enumerate(self._plan.peers) if members >> member & 1)
