"""A person's rules: when Potluck may use this computer and its network, and how much of it while somebody is there."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.week import TEXT_MAX

PROGRAMS_MAX: Final = 32
"""Number of programs that a person may list."""
PROGRAM_LETTERS_MAX: Final = 60
THREADS_MAX: Final = 1024
Percent = Annotated[int, Meta(ge=1, le=100)]


class UseRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules.  What a system does not tell forbids nothing.

    A volunteer's processor is shared by priority, so by default training goes on beside a person's programs, which go
    first.  A graphics card knows no priority: by default it rests while somebody is there.
    """

    hours: Annotated[str, Meta(max_length=TEXT_MAX)] = "always"
    """When Potluck may work (core.api.week.read_week)."""
    on_battery: bool = False
    """Whether Potluck computes while the computer runs on its battery."""
    battery_percent: Annotated[int, Meta(ge=0, le=100)] = 30
    """Where it may, it rests below this charge."""
    in_use: bool = True
    """Whether the processor computes while somebody uses the computer."""
    in_use_gpu: bool = False
    """Whether a graphics card does."""
    idle_minutes: Annotated[int, Meta(ge=1, le=1440)] = 3
    """Time for which the computer counts as in use after the last key, touch or movement of the mouse."""
    in_use_share: Percent = 100
    """Percentage of the time in which training computes while somebody uses the computer."""
    in_use_threads: Annotated[int, Meta(ge=0, le=THREADS_MAX)] = 0
    """Processor threads that train meanwhile; 0: as many as otherwise."""
    share: Percent = 100
    """Percentage of the time in which training computes otherwise."""
    programs: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=PROGRAM_LETTERS_MAX)], ...], Meta(max_length=PROGRAMS_MAX)
    ] = ()
    """While one of these programs runs, Potluck rests; lower case, without ".exe"."""
    full_screen: bool = False
    """Whether Potluck computes while a program fills the screen."""
    busy_percent: Percent | None = None
    """Potluck rests while other programs take more of the processor than this; None: they go first anyway."""
    gpu_busy_percent: Percent | None = 50
    """A graphics card rests while other programs take more of its time; None: whatever they take."""
    celsius_max: Annotated[int, Meta(ge=30, le=120)] | None = None
    """Potluck rests while the processor, or the card that computes, is hotter; None: their makers' limits hold."""
    watts_max: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    """Potluck rests after the processor, or the card that computes, took more; None: no limit."""
    use_metered: bool = False
    """Whether a connection that the system calls costly is used too."""
    month_bytes: Annotated[int, Meta(gt=0)] | None = None
    """Sent and received in a calendar month; None: no limit."""


def read_programs(text: str) -> list[str]:
    """Names of programs as a person lists them, with commas between them: a name can have spaces."""
    return [name for part in text.split(",") if (name := program_name(part))]


def program_name(name: str) -> str:
    """A program's name by which the rule and what runs are compared: lower case, single spaces, without ".exe"."""
    return " ".join(name.lower().split()).removesuffix(".exe")
