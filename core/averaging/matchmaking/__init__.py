"""Finding the group of a round: an attempt, its leader, the call, the answers, the plan and its check."""

from dataclasses import dataclass

from core.averaging.plan import Plan
from core.base.ids import PeerId


@dataclass(frozen=True, slots=True)
class ContributionWanted:
    """Let the worker's contribution stand still, then `offer` it.  Replaces an earlier wish."""

    round: bytes


@dataclass(frozen=True, slots=True)
class GroupFormed:
    """The round begins: start the plan's topology."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class GroupFailed:
    """This round comes to nothing: the contribution may be released.

    Looking goes on by itself, unless `samples` tells that the target is not reached after all: `look` again when it is.
    """

    round: bytes
    reason: str
    samples: int | None = None
    """What those who were ready brought together, when that was too little."""


@dataclass(frozen=True, slots=True)
class PlanRefused:
    """The plan of a round that was formed is bad: leave the round.  Looking goes on, with the same contribution."""

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
    """These were called and did not answer in time: do not count on them until they are heard of again."""

    peers: tuple[PeerId, ...]
