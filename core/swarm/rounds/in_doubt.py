"""A round that failed here, and that the others may have committed all the same."""

from core.averaging.butterfly import Butterfly
from core.averaging.grid.grid import Grid
from core.averaging.outcome import Outcome
from core.averaging.plan import Plan
from core.base.machine import Trace
from core.swarm.words.states import StateName


def state_after(plan: Plan, outcome: Outcome) -> StateName:
    """The state that a round of this plan leads to."""
    before = StateName(plan.epoch, plan.lineage)
    return before.next(round_id=outcome.round, outcome=outcome.fingerprint)


class InDoubtRound:
    """Remembers the last round of which the Commit may be all that was missed, until the next one begins.

    A member that has voted on its means knows what state the round leads to if it is committed.  When anybody stands
    there, it was committed: with a codec that carries on what it loses, that is settled then, or the next round would
    get it twice.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._round: Butterfly | None = None
        self._name: StateName | None = None

    def failed(self, round_: Butterfly | Grid | None) -> None:
        """Note that a round failed for this peer."""
        outcome = round_.in_doubt() if isinstance(round_, Butterfly) else None
        if isinstance(round_, Butterfly) and outcome is not None:
            self._round, self._name = round_, state_after(round_.plan, outcome)

    def begun(self) -> None:
        """The next round begins: what the last one has lost is a draft no longer."""
        self._round = self._name = None

    def heard(self, name: StateName) -> None:
        """Note that somebody stands at this state, which may settle the round."""
        if self._round is not None and name == self._name:
            self._round.settle()
            self._trace.mark("rounds.settled_late")
            self.begun()
