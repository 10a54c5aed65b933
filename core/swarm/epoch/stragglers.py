"""Who still takes a step, where a batch may be full as soon as a step is done."""

from core.base.ids import PeerId
from core.swarm.presence.membership import Membership
from core.swarm.words.epoch import Phase
from core.swarm.words.states import StateName


class Stragglers:
    """Peers whose reports say that they are just now on the way from one state to the next.

    A batch can be full when the first peer has taken its step.  A round that began at once would go on without the
    others, and lead to another state than the round from which they come, or lose what they have accumulated; so they
    are waited for, a while.  Those that were waited for in vain are not waited for again until they have caught up, and
    strangers, which have given nothing, are not waited for.

    Args:
        patience_s: How long at one state, seconds.
    """

    def __init__(self, *, patience_s: float) -> None:
        self._patience_s = patience_s
        self._awaited: tuple[StateName, float] | None = None
        """The state at which somebody was waited for last, and since when, unix seconds."""
        self._in_vain: set[PeerId] = set()

    def awaits(self, state: StateName, membership: Membership, now: float) -> bool:
        """Whether a peer that was one step behind is not at `state` yet, or one just takes the step from there."""
        branches, live = membership.branches, membership.live()
        here = {peer: live[peer] for peer in live if branches.admitted(peer) and not membership.silent(peer, now)}
        stepping = {peer for peer, report in here.items() if report.activity == Phase.STEPPING}
        late = {peer for peer, report in here.items() if report.epoch == state.epoch - 1 and report.in_step}
        late |= {peer for peer in stepping if here[peer].epoch == state.epoch - 1}
        late |= {peer for peer in stepping if here[peer].state == state}
        self._in_vain &= {peer for peer, report in here.items() if report.epoch < state.epoch or peer in stepping}
        late -= self._in_vain | {peer for peer in late if membership.patience.is_stranger(peer, now)}
        if not late:
            return False
        if self._awaited is None or self._awaited[0] != state:
            self._awaited = (state, now)
        if now < self._awaited[1] + self._patience_s:
            return True
        self._in_vain |= late
        return False
