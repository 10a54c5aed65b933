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
"""Longest time for which a switch can stand elsewhere, seconds; for longer there is the switch itself."""
SLACK_S: Final = 60.0
"""Upper bound on what a clock may be set back without ending a pause, seconds."""


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
    for_s: Annotated[float, Meta(ge=0, le=FOR_S_MAX)] = FOR_S_MAX
    """How long that was from the beginning, so that a clock that is wrong, then or later, can only shorten it."""

    def at(self, now: float) -> UseMode:
        """Position of the switch at a moment."""
        return self.mode if self.ends(now) is None or self.meanwhile is None else self.meanwhile

    def ends(self, now: float) -> float | None:
        """The moment at which the switch goes back by itself; None: it stands where it is without a time."""
        is_for_a_time = self.meanwhile is not None and 0 < self.until - now <= self.for_s + SLACK_S
        return self.until if is_for_a_time else None

    def off(self, until: float | None, now: float) -> "UseSwitch":
        """The switch after a pause; a pause for a time takes the place of one without, since the last wish counts.

        Args:
            until: When it ends; None: when somebody resumes.
            now: The moment of the wish.
        """
        if until is None:
            return UseSwitch(mode=UseMode.NEVER)
        return UseSwitch(mode=self._unpaused, meanwhile=UseMode.NEVER, until=until, for_s=_length(until, now))

    def on(self, until: float | None, now: float) -> "UseSwitch":
        """The switch after a pause was taken back; one without a time leaves nothing to go back to but the rules.

        Args:
            until: It is used in spite of the rules until then, and then as before; None: as before the pause.
            now: The moment of the wish.
        """
        if until is None:
            return UseSwitch(mode=self._unpaused)
        return UseSwitch(mode=self.mode, meanwhile=UseMode.ALWAYS, until=until, for_s=_length(until, now))

    @property
    def _unpaused(self) -> UseMode:
        return UseMode.RULES if self.mode is UseMode.NEVER else self.mode


def _length(until: float, now: float) -> float:
    return min(max(until - now, 0.0), FOR_S_MAX)


OFF: Final = UseSwitch(mode=UseMode.NEVER)
ALWAYS: Final = UseSwitch(mode=UseMode.ALWAYS)


class Switches(msgspec.Struct, frozen=True, kw_only=True):
    """All three switches of a person."""

    computing: UseSwitch = UseSwitch()
    gpu: UseSwitch = UseSwitch()
    network: UseSwitch = UseSwitch()
