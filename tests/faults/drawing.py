"""The faults that a seed draws: the same ones in the same order on every machine."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from types import MappingProxyType
from typing import Final

VOLUNTEERS: Final = ("ada", "bob", "eve")
GAP_S: Final = (1.0, 5.0)
"""Bounds on the time without a fault before the next one."""
ABSENT_S: Final = (0.0, 6.0)
"""Bounds on the time until a person starts again what was killed."""


class Kind(StrEnum):
    """Kind of fault."""

    WORKER_KILLED = "worker killed"
    ENGINE_KILLED = "engine killed"
    BACKBONE_KILLED = "backbone killed"
    EVERYTHING_KILLED = "everything killed"
    WORKER_FROZEN = "worker frozen"
    ENGINE_FROZEN = "engine frozen"
    COMPUTER_FROZEN = "computer frozen"
    BACKBONE_FROZEN = "backbone frozen"
    LINK_CUT = "link cut"
    ALL_LINKS_CUT = "all links cut"
    CLOCK_WRONG = "clock wrong"
    BIT_FLIPPED = "bit flipped"
    DISK_FULL = "disk full"


@dataclass(frozen=True, slots=True)
class Rule:
    """Bounds on a fault of one kind, and what has to follow from it."""

    lasts_s: tuple[float, float]
    back_s: float
    """Everybody contributes again so long after its end."""
    told: str
    """Regular expression for what a notice or a log says of it; empty: nobody has to notice it."""
    told_from_s: float = 0.0
    """Only a fault that lasts so long has to be told."""


RULES: Final[Mapping[Kind, Rule]] = MappingProxyType(
    {
        Kind.WORKER_KILLED: Rule((0.0, 0.0), 10.0, "ended by signal 9"),
        Kind.ENGINE_KILLED: Rule(ABSENT_S, 20.0, "Potluck was killed the last time"),
        Kind.BACKBONE_KILLED: Rule(ABSENT_S, 10.0, "the backbone starts"),
        Kind.EVERYTHING_KILLED: Rule(ABSENT_S, 25.0, "Potluck was killed the last time"),
        Kind.WORKER_FROZEN: Rule((1.0, 25.0), 20.0, "did not answer any more", told_from_s=20.0),
        Kind.ENGINE_FROZEN: Rule((1.0, 25.0), 25.0, "averaging failed", told_from_s=20.0),
        Kind.COMPUTER_FROZEN: Rule((1.0, 25.0), 25.0, "averaging failed", told_from_s=20.0),
        Kind.BACKBONE_FROZEN: Rule((1.0, 25.0), 10.0, ""),
        Kind.LINK_CUT: Rule((2.0, 60.0), 40.0, "no connection to other volunteers", told_from_s=25.0),
        Kind.ALL_LINKS_CUT: Rule((10.0, 60.0), 40.0, "no connection to other volunteers", told_from_s=25.0),
        Kind.CLOCK_WRONG: Rule((5.0, 30.0), 60.0, "clock is", told_from_s=10.0),
        Kind.BIT_FLIPPED: Rule(ABSENT_S, 20.0, "damaged checkpoint was set aside"),
        Kind.DISK_FULL: Rule((3.0, 20.0), 90.0, "disk is full"),
    }
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, as it was drawn."""

    number: int
    kind: Kind
    victim: str
    """The volunteer that it meets; of no meaning where the backbone or everybody is met."""
    after_s: float
    """How long everything is well before it."""
    lasts_s: float
    chance: float
    """From 0 to 1: what else the fault leaves open, such as which bit is flipped."""


def draw(seed: int) -> Iterator[Fault]:
    """Draw faults without end: all kinds in a drawn order, then all in another one.

    A kind that a machine cannot do is drawn there too, so that a seed means the same everywhere.
    """
    random = Random(seed)
    number = 0
    while True:
        for kind in random.sample(list(Kind), len(Kind)):
            number += 1
            yield Fault(
                number=number,
                kind=kind,
                victim=random.choice(VOLUNTEERS),
                after_s=round(random.uniform(*GAP_S), 2),
                lasts_s=round(random.uniform(*RULES[kind].lasts_s), 2),
                chance=random.random(),
            )
