"""Three switches: whether Potluck computes, uses graphics cards and uses the network always, by the rules, or never.

Each can stand elsewhere for a time, after which it is where it was.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

UseSubject = Literal["computing", "gpu", "network"]
SUBJECTS: Final[tuple[UseSubject, ...]] = ("computing", "gpu", "network")
FOR_S_MAX: Final = 31 * 86_400.0
"""A switch can stand elsewhere for so long, seconds; for longer there is the switch itself."""


class UseMode(StrEnum):
    """Where one of the switches stands."""

    ALWAYS = "always"
    """Whatever the rules say."""
    RULES = "rules"
    NEVER = "never"


class UseSwitch(msgspec.Struct, frozen=True, kw_only=True):
    """A switch, and where it stands for a time.  Moments are unix seconds."""

    mode: UseMode = UseMode.RULES
    """Where it stands without a time."""
    meanwhile: UseMode | None = None
    """Where it stands until `until`; None: at `mode`."""
    until: Annotated[float, Meta(ge=0, le=2**40)] = 0.0

    def at(self, now: float) -> UseMode:
        """Where it stands at a moment."""
        return self.mode if self.ends(now) is None or self.meanwhile is None else self.meanwhile

    def ends(self, now: float) -> float | None:
        """The moment at which the switch goes back by itself; None: it stands where it is without a time."""
        return self.until if self.meanwhile is not None and now < self.until else None

    def off(self, until: float | None) -> "UseSwitch":
        """The switch after a pause: for a time, or None: until somebody resumes."""
        if until is None:
            return UseSwitch(mode=UseMode.NEVER)
        return UseSwitch(mode=self.mode, meanwhile=UseMode.NEVER, until=until)

    def on(self, until: float | None) -> "UseSwitch":
        """The switch after a pause was taken back; with a time, in spite of the rules until then."""
        if until is not None:
            return UseSwitch(mode=self.mode, meanwhile=UseMode.ALWAYS, until=until)
        return UseSwitch(mode=UseMode.RULES if self.mode is UseMode.NEVER else self.mode)


OFF: Final = UseSwitch(mode=UseMode.NEVER)
ALWAYS: Final = UseSwitch(mode=UseMode.ALWAYS)


class Switches(msgspec.Struct, frozen=True, kw_only=True):
    """All three switches of a person."""

    computing: UseSwitch = UseSwitch()
    gpu: UseSwitch = UseSwitch()
    network: UseSwitch = UseSwitch()
