"""Who still takes the last step, where the next batch may be full as soon as a step is done."""

from core.base.ids import PeerId
from core.swarm.epoch import Phase
from core.swarm.membership import Membership
from core.swarm.orders import RoundRecord
from core.swarm.states import StateName


class Stragglers:
    """The members of the last round, until each of them holds the state that it led to.

    With delayed parameter updates the next batch can be full when the first member has taken its step.  A round that
    began at once would go on without the others, and all that they have accumulated would be lost; so they are waited
    for, a while.

    Args:
        patience_s: How long after this peer's own step.
    """

    def __init__(self, *, patience_s: float) -> None:
        self._patience_s = patience_s
        self._members: tuple[PeerId, ...] = ()
        self._until = 0.0

    def committed(self, record: RoundRecord, *, besides: PeerId) -> None:
        """A round with these members is over, they all take its step now; `besides` is this peer."""
        self._members = tuple(peer for peer, _ in record.members if peer != besides)

    def stepped(self, now: float) -> None:
        """This peer has taken its step."""
        self._until = now + self._patience_s

    def awaits(self, state: StateName, membership: Membership, now: float) -> bool:
        """Whether one of them is here, has said something lately, and is not at `state` yet."""
        if now >= self._until or not self._members:
            self._members = ()
            return False
        live = membership.live()
        here = [live[peer] for peer in self._members if peer in live and not membership.silent(peer, now)]
        return any(report.state < state and (report.in_step or report.activity == Phase.STEPPING) for report in here)
