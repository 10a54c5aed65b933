"""Who gives which chunk of a round, and with what weight."""

from collections.abc import Iterator

from core.averaging.balance.gifts import gives_chunk
from core.averaging.plan import WHOLE_GIFT, Plan


class Giving:
    """What a plan says about everybody's contribution.  Sets of members are bits.

    Args:
        plan: The round's plan.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.samples = tuple(member.samples for member in plan.members)
        self.receivers = sum(1 << m for m, member in enumerate(plan.members) if member.receives)
        """Who needs the mean."""
        givers = [m for m, samples in enumerate(self.samples) if samples and plan.gift(m)]
        self.givers = sum(1 << m for m in givers)
        """Who gives anything at all."""
        self._sometimes = [m for m in givers if plan.gift(m) < WHOLE_GIFT]
        self._always = self.givers & ~sum(1 << m for m in self._sometimes)

    def gives(self, member: int, chunk: int) -> bool:
        """Whether `member` gives its part of `chunk`, counted in the whole vector."""
        if self._always >> member & 1:
            return True
        return bool(self.givers >> member & 1) and self._in_turn(member, chunk)

    def givers_of(self, chunk: int) -> int:
        """Who gives a part of `chunk`, counted in the whole vector."""
        return self._always | sum(1 << m for m in self._sometimes if self._in_turn(m, chunk))

    def planned(self, member: int) -> int:
        """How many chunks `member` gives."""
        if self._always >> member & 1:
            return self._plan.chunk_total
        if not self.givers >> member & 1:
            return 0
        whole, rest = divmod(self._plan.chunk_total, WHOLE_GIFT)
        return whole * self._plan.gift(member) + sum(self._in_turn(member, chunk) for chunk in range(rest))

    def weights(self, contributors: int) -> Iterator[tuple[int, float]]:
        """Each of the contributors to a chunk, in the order of the plan, with its part of their samples."""
        members = [m for m in range(len(self.samples)) if contributors >> m & 1]
        total = sum(self.samples[m] for m in members)
        return ((m, self.samples[m] / total) for m in members)

    def together(self, members: int) -> int:
        """The samples of a set of members."""
        return sum(samples for m, samples in enumerate(self.samples) if members >> m & 1)

    def _in_turn(self, member: int, chunk: int) -> bool:
        return gives_chunk(self._plan.round, member, chunk, self._plan.gift(member))
