"""Finding the group of a round: a leader calls, collects contributions and publishes a plan; its members check it.

All numbers that matchmaking goes by stand here.  T is the manifest's `gather_timeout_s`, how long a leader waits for
contributions.  Figures are those of `docs/decisions/0010`.
"""

from dataclasses import dataclass
from typing import Final

from core.averaging.plan import Plan
from core.base.ids import PeerId

# --- dividing a round, and checking how it was divided

BROUGHT_FACTOR: Final = 2.0
"""Times what its samples speak for that a member's word about its speed is believed."""
EVEN_TOLERANCE: Final = 0.01
"""Part by which a round with equal shares may be longer to be preferred: they fill the lines both ways from the first
chunk to the last, and lines are not known better."""
OWN_FACTOR: Final = 1.5
"""Times what a member has told of its own line that a plan may count on: a leader may not have heard the newest."""
OTHERS_FACTOR: Final = 6.0
"""Times more or less than a member believes that a plan may count on another's line: not all have heard the same."""
SLOWER_TOLERANCE: Final = 0.05
"""Part by which a plan's round may be longer than the checking member's own for the same lines: solvers differ."""
SPARED_PART: Final = 3
"""One in so many of the members that would reduce, or one where they are few, may be given no share by a plan."""

# --- what a matchmaker reports to its owner


@dataclass(frozen=True, slots=True)
class ContributionWanted:
    """The worker's contribution is to stand still, and to be offered.  Replaces an earlier wish."""

    round: bytes


@dataclass(frozen=True, slots=True)
class GroupFormed:
    """The round of this plan begins."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class GroupFailed:
    """This round will not be: the contribution may be released.

    The search goes on by itself, unless `samples` tells that the target is not reached after all.
    """

    round: bytes
    reason: str
    samples: int | None = None
    """What those that were ready brought together, when that was too little."""


@dataclass(frozen=True, slots=True)
class PlanRefused:
    """The plan of a round that was formed is bad: leave the round.  The search goes on, with the same contribution."""

    round: bytes


@dataclass(frozen=True, slots=True)
class MemberRefused:
    """A member does not follow the plan of a round that was formed, and the others go on without it."""

    round: bytes
    peer: PeerId


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A peer stands at another state than was known."""

    peer: PeerId
    epoch: int
    lineage: bytes


@dataclass(frozen=True, slots=True)
class Silent:
    """These candidates did not answer a call in time: they may be gone, and their samples with them."""

    peers: tuple[PeerId, ...]


Event = ContributionWanted | GroupFormed | GroupFailed | PlanRefused | MemberRefused | Elsewhere | Silent
