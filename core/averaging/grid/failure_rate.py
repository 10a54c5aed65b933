"""How often a peer fails in a round, as one peer has seen it."""

from typing import Final

from core.averaging.outcome import Outcome
from core.averaging.plan import WHOLE_GIFT, Plan

PRIOR_FAILURES: Final = 0.1
PRIOR_TRIALS: Final = 100.0
"""Before anything was seen a peer is taken to fail in one round of a thousand; evidence of some rounds outweighs it."""
KEPT: Final = 0.97
"""Each round, so much of the earlier evidence remains: it halves every 23 rounds, and a swarm's habits change."""


class FailureRate:
    """The probability p that a peer fails in a round: a Beta distribution whose evidence fades.

    It starts as the prior and goes back to it when nothing is seen.
    """

    def __init__(self) -> None:
        self._failures = 0.0
        self._trials = 0.0

    def saw(self, *, members: int, failed: int) -> None:
        """A round of `members` has ended, in which so many of them failed.

        Raises:
            ValueError: more failed than there were.
        """
        if not 0 <= failed <= members:
            raise ValueError(f"{failed} of {members} members failed")
        self._failures = self._failures * KEPT + failed
        self._trials = self._trials * KEPT + members

    def finished(self, plan: Plan, outcome: Outcome) -> None:
        """Take in a round that was committed: whose contribution lacks something that it was to give has failed."""
        lacking = {peer for peer, _ in outcome.missing}
        whole = [m.peer for i, m in enumerate(plan.members) if m.samples and plan.gift(i) == WHOLE_GIFT]
        self.saw(members=len(whole), failed=sum(peer in lacking for peer in whole))

    @property
    def value(self) -> float:
        """The mean of what p may be, within 0 and 1."""
        return (PRIOR_FAILURES + self._failures) / (PRIOR_TRIALS + self._trials)
