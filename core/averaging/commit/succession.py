"""Whose orders a member follows."""

from core.averaging.messages import Order
from core.averaging.plan import Plan


class Succession:
    """The leader as one member sees it: followed, suspected, succeeded.

    Args:
        plan: The round's plan, which orders the leaders.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.rank = 0
        """Of the newest leader that has given an order."""
        self.heard_at = 0.0
        """When the leader was last heard, or began to be awaited."""
        self._number = 0
        self._awaited = 0

    @property
    def leader(self) -> int:
        """Index of the member whose orders count now."""
        return self._plan.leaders[self.rank]

    @property
    def awaited(self) -> int:
        """Index of the member who should be leading: the leader, or after its failure its successor."""
        return self._plan.leaders[self._awaited]

    @property
    def deadline(self) -> float:
        """When the awaited leader has been silent for too long."""
        return self.heard_at + self._plan.stall_timeout_s

    def accepts(self, member: int, order: Order) -> bool:
        """Whether this order is well formed, from its rank's leader, and not older than the newest."""
        members = len(self._plan.members)
        return (
            self.leads(member, order.rank)
            and (order.rank, order.number) >= (self.rank, self._number)
            and len(order.versions) == members
            and len(order.reducers) == members
            and max(order.reducers) < members
        )

    def leads(self, member: int, rank: int) -> bool:
        """Whether a leader of this rank is that member."""
        return rank < len(self._plan.leaders) and self._plan.leaders[rank] == member

    def usurps(self, rank: int, lost: int, now: float) -> bool:
        """Whether a leader of this rank takes the place of one that nothing is known against."""
        return rank > self.rank and not self.quiet(lost, now)

    def quiet(self, lost: int, now: float) -> bool:
        """Whether the leader is among `lost` (bits), given up, or silent for longer than its orders are apart."""
        gone = self._awaited != self.rank or bool(lost >> self.leader & 1)
        return gone or now >= self.heard_at + self._plan.stall_timeout_s / 2

    def follow(self, order: Order, now: float) -> None:
        """An accepted order came: its leader is mine, whatever was suspected."""
        self.rank = self._awaited = order.rank
        self._number = order.number
        self.heard_at = now

    def lead(self, now: float) -> None:
        """I am the one awaited."""
        self.rank = self._awaited
        self._number = 0
        self.heard_at = now

    def give_up(self, lost: int, now: float) -> bool:
        """Await the next leader who is not among `lost` (bits); False when there is none."""
        self.heard_at = now
        self._awaited += 1
        while self._awaited < len(self._plan.leaders) and lost >> self.awaited & 1:
            self._awaited += 1
        if self._awaited < len(self._plan.leaders):
            return True
        self._awaited = self.rank
        return False
