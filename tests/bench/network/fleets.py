"""Fleets of computers with lines of their own: what `python -m tests.bench` gives its peers.

A fleet is written as DOWN[/UP][a|c][*COUNT] in Mbit/s, joined by commas: `a` helps (it has no contribution), `c` is a
client (it reduces nothing).  100/40*2,20/5c means two peers with 100 down and 40 up, and one client with 20 and 5.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from core.averaging.balance.traffic import Line
from core.base.problems import BadInput

FLEETS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "homog8": "40*8",
        "hetero8": "80*2,40*4,20*2",
        "hetero8+1aux": "80*2,40*4,20*2,400a",
        "hetero8+2aux": "80*2,40*4,20*2,400a*2",
        "hetero8-3client": "80*2,40*2,40c*2,20,20c",
        "homog8+1aux": "40*8,400a",
        "home8": "100/40*2,50/10*4,20/5*2",
        "pair": "40*2",
        "onefast": "20*5,400",
        "fibre4": "100/100*2,100/20*2",
        "hetero16": "80*4,40*8,20*4",
    }
)
"""Those of the measurements of hivemind, and more of its kind."""
MEMBERS_MAX: Final = 64
GIVERS_MIN: Final = 2
RATE_MAX: Final = 100_000
"""Mbit/s."""
HOW: Final = (
    "Write DOWN/UP in Mbit/s (or one number for both), then a for a helper or c for a client that reduces nothing, "
    f"then *COUNT; commas between: 100/40*2,20/5c. Or one of these, alone: {', '.join(FLEETS)}."
)
MBIT_BYTES: Final = 125_000
_MEMBER: Final = re.compile(r"(\d+(?:\.\d+)?)(?:/(\d+(?:\.\d+)?))?([ac]?)(?:\*(\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class Computer:
    """One computer of a fleet, with its line."""

    down_mbit_per_s: float
    up_mbit_per_s: float
    helps: bool = False
    client: bool = False

    @property
    def line(self) -> Line:
        """As the balance of a round takes it."""
        return Line(
            up_bytes_per_s=self.up_mbit_per_s * MBIT_BYTES,
            down_bytes_per_s=self.down_mbit_per_s * MBIT_BYTES,
            gives=not self.helps,
            reduces=not self.client,
            receives=not self.helps,
        )


def in_full(words: str) -> str:
    """A fleet as it is written where its name is not known."""
    return FLEETS.get(words.strip(), words)


def fleet_of(words: str) -> tuple[Computer, ...]:
    """The computers of a fleet by its name, or as it is written.

    Raises:
        BadInput: it cannot be read.
    """
    computers: list[Computer] = []
    for word in map(str.strip, in_full(words).split(",")):
        found = _MEMBER.fullmatch(word)
        if found is None or not all(0 < float(rate or found[1]) <= RATE_MAX for rate in (found[1], found[2])):
            raise BadInput(f"{word[:40]!r} describes no computers.", hint=HOW)
        count = int(found[4] or 1)
        if not 1 <= count <= MEMBERS_MAX:
            raise BadInput(f"{word[:40]!r} is {count} computers; a fleet has 2 to {MEMBERS_MAX}.")
        computers += [Computer(float(found[1]), float(found[2] or found[1]), found[3] == "a", found[3] == "c")] * count
    if not 2 <= len(computers) <= MEMBERS_MAX:
        raise BadInput(f"A fleet has 2 to {MEMBERS_MAX} computers, not {len(computers)}.")
    if sum(not computer.helps for computer in computers) < GIVERS_MIN:
        raise BadInput(
            "In this fleet there is nothing to average: fewer than two have a contribution.",
            hint="Helpers (a) have none; add others.",
        )
    return tuple(computers)
