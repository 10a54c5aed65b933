"""What this computer's senses have found: what it is used for, and what its use costs, at one moment."""

from dataclasses import dataclass, replace
from typing import Final

from core.api.rules import UseRules, is_folder

NOTICED_S: Final = 1.0
"""A smaller difference of idle times nobody notices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SensedGpu:
    """One graphics card, as its driver tells."""

    name: str
    """As torch calls it: "cuda:0"."""
    busy: float | None = None
    """Share of its time, 0 to 1, that programs other than Potluck use it; None: not told."""
    watts: float | None = None
    celsius: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensed:
    """Findings of all senses; None: the system does not tell, and no rule that needs it forbids anything."""

    idle_s: float | None = None
    """Seconds since the last key, touch or movement of the mouse, at any session of this computer.

    0: somebody is here until a sense tells otherwise.
    """
    remote: bool | None = None
    """Whether somebody uses it from afar (remote desktop)."""
    on_battery: bool | None = None
    battery: float | None = None
    """Charge, 0 to 1."""
    full_screen: bool | None = None
    """Whether a program fills the screen: a game, a film, a talk."""
    busy: float | None = None
    """Share of all cores, 0 to 1, that programs other than Potluck use."""
    programs: frozenset[str] = frozenset()
    """Names of the programs that run, lower case, without ".exe", and those of `RuleNames.folders` that have one."""
    celsius: float | None = None
    """Temperature of the processor's hottest sensor."""
    watts: float | None = None
    """What the processor takes, where the system tells."""
    metered: bool | None = None
    """Whether the system treats the connection as one that costs."""
    fan_rpm: float | None = None
    """Turns a minute of the fastest fan."""
    meter: float | None = None
    """The number that the person's meter says (`RuleNames.meter`)."""
    own_bytes: int | None = None
    """Memory of Potluck's processes, coarsely."""
    gpus: tuple[SensedGpu, ...] = ()

    def after(self, seconds: float) -> "Sensed":
        """The same a number of seconds later, if nothing happens meanwhile: idle time grows by itself."""
        return replace(self, idle_s=self.idle_s + seconds) if self.idle_s else self

    def is_like(self, other: "Sensed") -> bool:
        """Whether both say the same of one moment, as far as anybody would notice."""
        mine, theirs = self.idle_s, other.idle_s
        if mine and theirs and abs(mine - theirs) < NOTICED_S:
            other = replace(other, idle_s=mine)
        return self == other


@dataclass(frozen=True, slots=True)
class RuleNames:
    """What senses look at because a person's rules name it."""

    folders: tuple[str, ...] = ()
    meter: str = ""
    """See `core.api.rules.UseRules.meter`."""


def names_of(rules: UseRules) -> RuleNames:
    """What a person's rules name for the senses to look at."""
    listed = (*rules.programs, *rules.gpu_programs)
    return RuleNames(tuple(name for name in dict.fromkeys(listed) if is_folder(name)), rules.meter)


def untold(sensed: Sensed) -> tuple[str, ...]:
    """Fields of `core.api.rules.UseRules` that stop nothing here, since the system does not tell what they need."""
    cards = sensed.gpus
    told = {
        "idle_minutes": sensed.idle_s is not None,
        "on_battery": sensed.on_battery is not None,
        "battery_percent": sensed.battery is not None,
        "full_screen": sensed.full_screen is not None,
        "busy_percent": sensed.busy is not None,
        "gpu_busy_percent": any(card.busy is not None for card in cards),
        "celsius_max": sensed.celsius is not None or any(card.celsius is not None for card in cards),
        "warm_celsius": sensed.celsius is not None or any(card.celsius is not None for card in cards),
        "fan_rpm_max": sensed.fan_rpm is not None,
        "watts_max": sensed.watts is not None or any(card.watts is not None for card in cards),
    }
    return tuple(name for name, known in told.items() if not known)
