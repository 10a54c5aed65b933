"""Who still takes a step, where a batch may be full as soon as a step is done."""

from core.swarm.epoch import Phase
from core.swarm.membership import Membership
from core.swarm.states import StateName


class Stragglers:
    """Peers whose reports say that they are just now on the way from one state to the next.

    A batch can be full when the first peer has taken its step.  A round that began at once would go on without the
    others, and lead to another state than the round from which they come, or lose what they have accumulated; so they
    are waited for, a while.

    Args:
        patience_s: How long at one state, seconds.
    """

    def __init__(self, *, patience_s: float) -> None:
        self._patience_s = patience_s
        self._awaited: tuple[StateName, float] | None = None
        """The state at which somebody was waited for last, and since when, unix seconds."""

    def awaits(self, state: StateName, membership: Membership, now: float) -> bool:
        """Whether a peer that was one step behind is not at `state` yet, or one just takes the step from there."""
        here = [
            report
            for peer, report in membership.live().items()
            if membership.branches.admitted(peer) and not membership.silent(peer, now)
        ]
        stepping = [report for report in here if report.activity == Phase.STEPPING]
        training = [report for report in here if report.in_step]
        late = any(report.epoch == state.epoch - 1 for report in (*stepping, *training))
        if not late and not any(report.state == state for report in stepping):
            return False
        if self._awaited is None or self._awaited[0] != state:
            self._awaited = (state, now)
        return now < self._awaited[1] + self._patience_s
