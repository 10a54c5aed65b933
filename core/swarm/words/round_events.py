"""What a peer's rounds report to those who drive the trainer."""

from dataclasses import dataclass
from typing import Self

from core.averaging.allreduce.share_map import untaken_of
from core.averaging.plan import Plan
from core.base.work import Untaken
from core.swarm.words.orders import RoundRecord
from core.swarm.words.states import StateName


@dataclass(frozen=True, slots=True)
class Asked:
    """Write the contribution down, then `offer` it."""

    round: bytes


@dataclass(frozen=True, slots=True)
class Formed:
    """The group stands, the round has begun."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Missed:
    """The round, or the search for its group, failed: the contribution is free again."""

    round: bytes
    reason: str
    samples: int | None
    """What the group would have brought together, when that was too little for a step."""


@dataclass(frozen=True, slots=True)
class Committed:
    """The mean is in its vector and may be absorbed."""

    round: bytes
    before: StateName
    """The state that all its members held."""
    record: RoundRecord
    gives: bool = True
    """Whether the plan took any of this peer's contribution."""
    untaken: Untaken | None = None
    """What it did not take of it."""

    @classmethod
    def of(cls, plan: Plan, member: int, record: RoundRecord) -> Self:
        """What the round of a plan came to for one of its members."""
        before, gives = StateName(plan.epoch, plan.lineage), plan.portion(member) > 0
        return cls(plan.round, before, record, gives=gives, untaken=untaken_of(plan, member))
