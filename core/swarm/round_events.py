"""What a peer's rounds report to those who drive the trainer."""

from dataclasses import dataclass

from core.averaging.plan import Plan
from core.swarm.orders import RoundRecord
from core.swarm.states import StateName


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
