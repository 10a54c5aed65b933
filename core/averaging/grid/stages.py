"""In how many stages a round is averaged, by how often peers fail (S000 appendix C, figure 8).

n peers in groups of m need R = ceil(log_m n) stages.  A peer fails in a stage with probability p, so a group succeeds
with q = (1 - p)^m, and one that fails repeats its stage.  A stage is over when its last group has succeeded, so

    E = R E[max of ceil(n / m) Geometric(q)]

stages are expected, and plans take the fewest.  The paper gives no formula; `docs/decisions/0009-groups.md` compares
this reading with the other one.
"""

import math
from typing import Final

from core.averaging.grid.placement import largest_group
from core.averaging.outcome import Outcome
from core.averaging.plan import STAGES_MAX, WHOLE_GIFT, Plan

PRIOR_FAILURES: Final = 0.1
"""Number of failures in the prior: one in a thousand trials, as of a desktop computer that is on all day."""
PRIOR_TRIALS: Final = 100.0
"""Number of members seen that outweigh the prior: a few rounds."""
KEPT: Final = 0.97
"""Part of the earlier evidence that a round leaves: it halves every 23 rounds, as a swarm's habits change."""
SUMMED_ABOVE: Final = 0.02
"""Least rate of success at which the series of `slowest` is summed; below, its integral is exact to 1e-9."""


class FailureRate:
    """The probability that a peer fails in a round: a Beta distribution whose evidence fades back to the prior."""

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
        """Take in a committed round: a member whose contribution lacks anything that it was to give has failed."""
        lacking = {peer for peer, _ in outcome.missing}
        whole = [m.peer for i, m in enumerate(plan.members) if m.samples and plan.gift(i) == WHOLE_GIFT]
        self.saw(members=len(whole), failed=sum(peer in lacking for peer in whole))

    @property
    def value(self) -> float:
        """The mean of the distribution, within 0 and 1."""
        return (PRIOR_FAILURES + self._failures) / (PRIOR_TRIALS + self._trials)


def best_stages(peers: int, failure_rate: float) -> int:
    """In how many stages a round of `peers` is to be averaged, with groups as `lay_out` makes them; 1: in one group.

    At most `STAGES_MAX`, and no group of one peer.
    """

    def expected(stages: int) -> float:
        group = largest_group(peers, stages)
        return stages * slowest(-(-peers // group), (1 - failure_rate) ** group)

    most = min(STAGES_MAX, max(1, peers.bit_length() - 1))
    return min(range(1, most + 1), key=lambda stages: (expected(stages), stages))


def slowest(groups: int, q: float) -> float:
    """Expected maximum of `groups` independent geometric variables (tries until the first success, each with q).

    With L = -ln(1 - q) it is the sum over t >= 0 of 1 - (1 - exp(-L t))^k.  Where q is small that is close to its
    integral H_k / L, H_k the k-th harmonic number, plus half of the first term (Euler and Maclaurin).
    """
    if groups == 1 or q <= 0 or q >= 1:
        return 1 / q if q > 0 else math.inf
    rate = -math.log1p(-q)
    if q < SUMMED_ABOVE:
        return math.fsum(1 / number for number in range(1, groups + 1)) / rate + 0.5
    total, tries, term = 1.0, 1, 1.0
    while term > 1e-18:
        term = -math.expm1(groups * math.log1p(-math.exp(-rate * tries)))
        total, tries = total + term, tries + 1
    return total
