"""Three switches: whether Potluck computes, uses graphics cards and uses the network always, by the rules, or never.

Each can stand elsewhere for a time, after which it is where it was.
"""

import re
from enum import StrEnum
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

UseSubject = Literal["computing", "gpu", "network"]
SUBJECTS: Final[tuple[UseSubject, ...]] = ("computing", "gpu", "network")
FOR_S_MAX: Final = 31 * 86_400.0
"""Longest time for which a switch can stand elsewhere, seconds; for longer there is the switch itself."""
CARD: Final = re.compile("(cuda|xpu):[0-9]{1,2}")
"""A graphics card by the name that torch gives it, which has a switch of its own, too.  A Mac has one: `gpu`."""
CARDS_MAX: Final = 64
SWITCHED: Final = f"^({'|'.join(SUBJECTS)}|{CARD.pattern})$"
"""What can be switched: a subject, or a single card."""
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
    cards: dict[str, UseSwitch] = {}
    """Switches of single cards; one that stands at the rules leaves it to `gpu`."""

    def named(self, what: str) -> UseSwitch:
        """The switch of a subject, or of a card (`SWITCHED`)."""
        found: UseSwitch = self.cards.get(what, UseSwitch()) if CARD.fullmatch(what) else getattr(self, what)
        return found

    def of_card(self, name: str, now: float) -> UseSwitch:
        """Switch of a graphics card: its own, unless that leaves it to the one for all cards."""
        own = self.cards.get(name)
        return self.gpu if own is None or own.at(now) is UseMode.RULES else own
