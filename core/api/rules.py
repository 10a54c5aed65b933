"""A person's rules: when Potluck may use this computer and its network, and how much of it while somebody is there."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.week import TEXT_MAX

PROGRAMS_MAX: Final = 32
"""Number of programs that a person may list."""
PROGRAM_LETTERS_MAX: Final = 60
FOLDER_LETTERS_MAX: Final = 400
METER_MAX: Final = 1_000_000
THREADS_MAX: Final = 1024
Percent = Annotated[int, Meta(ge=1, le=100)]
Programs = Annotated[
    tuple[Annotated[str, Meta(min_length=1, max_length=FOLDER_LETTERS_MAX)], ...], Meta(max_length=PROGRAMS_MAX)
]
"""Names of programs, lower case, without ".exe", and folders: each program that lies in one of these."""
Celsius = Annotated[int, Meta(ge=30, le=120)]


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
    in_use_memory_bytes: Annotated[int, Meta(gt=0)] | None = None
    """Where training holds more memory, Potluck rests meanwhile and gives it back; None: no limit of its own."""
    share: Percent = 100
    """Percentage of the time in which training computes otherwise."""
    other_hours: Annotated[str, Meta(max_length=TEXT_MAX)] = ""
    """When `other_share` holds in place of `share` (core.api.week.read_week); empty: never."""
    other_share: Percent = 30
    warm_celsius: Celsius | None = None
    """While the processor, or a card, is hotter, training computes in at most `warm_share` of the time."""
    warm_share: Percent = 50
    programs: Programs = ()
    """While one of these runs, Potluck rests."""
    gpu_programs: Programs = ()
    """While one of these runs, graphics cards rest."""
    full_screen: bool = False
    """Whether Potluck computes while a program fills the screen."""
    busy_percent: Percent | None = None
    """Potluck rests while other programs take more of the processor than this; None: they go first anyway."""
    gpu_busy_percent: Percent | None = 50
    """A graphics card rests while other programs take more of its time; None: whatever they take."""
    celsius_max: Celsius | None = None
    """Potluck rests while the processor, or the card that computes, is hotter; None: their makers' limits hold."""
    watts_max: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    """Potluck rests after the processor, or the card that computes, took more; None: no limit."""
    fan_rpm_max: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    """Potluck rests after a fan turned faster, in turns a minute; None: no limit."""
    meter: Annotated[str, Meta(max_length=FOLDER_LETTERS_MAX)] = ""
    """What says a number, such as the price of electricity or the sun's surplus: an http address, a file, or a program
    that prints it; empty: nothing does."""
    meter_max: Annotated[int, Meta(ge=1, le=METER_MAX)] | None = None
    """Potluck rests while that number is greater; None: no limit."""
    meter_min: Annotated[int, Meta(ge=1, le=METER_MAX)] | None = None
    """Potluck rests while it is less."""
    use_metered: bool = False
    """Whether a connection that the system calls costly is used too."""
    month_bytes: Annotated[int, Meta(gt=0)] | None = None
    """Sent and received in a calendar month; None: no limit."""


MEMORY_IN_USE: Final = "in_use_memory"
"""Reason of a rest in which training gives its memory back at once."""
RESTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "battery": ("This computer runs on its battery. Potluck continues when it is plugged in."),
        "battery_low": ("The battery holds less than {percent} %. Potluck continues when it is plugged in."),
        "in_use": ("This computer is in use. Potluck continues when nobody has touched it for {minutes} min."),
        MEMORY_IN_USE: (
            "This computer is in use, and training held more than {memory} of its memory. "
            "Potluck continues when nobody has touched it for {minutes} min."
        ),
        "schedule": ("This is outside the hours that you chose. Potluck continues {moment} at the earliest."),
        "program": "Potluck rests while {program} runs, as you chose.",
        "full_screen": "Potluck rests while a program fills the screen.",
        "busy": ("Other programs take more than {percent} % of the processor. Potluck continues when they need less."),
        "heat": ("The processor was hotter than {celsius} °C. Potluck continues when it has cooled down."),
        "watts": "The processor took more than {watts} W. Potluck continues in a minute or two.",
        "fan": ("A fan turned faster than {limit} times a minute. Potluck continues when it has become quieter."),
        "meter_high": ("Your meter says more than {limit}. Potluck continues when it has said less for a minute."),
        "meter_low": ("Your meter says less than {limit}. Potluck continues when it has said more for a minute."),
        "gpu_program": "The graphics card rests while {program} runs, as you chose.",
        "gpu_in_use": (
            "The graphics card rests while this computer is in use. "
            "Potluck continues when nobody has touched it for {minutes} min."
        ),
        "gpu_busy": (
            "Other programs take more than {percent} % of the graphics card. Potluck continues when they need less."
        ),
        "gpu_heat": ("The graphics card was hotter than {celsius} °C. Potluck continues when it has cooled down."),
        "gpu_watts": ("The graphics card took more than {watts} W. Potluck continues in a minute or two."),
        "metered": ("This connection costs money by the megabyte. Potluck continues with another one."),
        "month": ("The month's limit for the network is used up. Potluck continues with the next month."),
    }
)
"""What is said while a rule forbids to compute, by the reason of a rest."""
AMOUNTS: Final[Mapping[str, Mapping[str, int | bool | None]]] = MappingProxyType(
    {
        "quiet": {
            "share": 30, "in_use_share": 30, "in_use_gpu": False, "gpu_busy_percent": 50, "full_screen": False,
            "warm_celsius": 65, "warm_share": 15,
        },
        "normal": {
            "share": 100, "in_use_share": 100, "in_use_gpu": False, "gpu_busy_percent": 50, "full_screen": False,
            "warm_celsius": None, "warm_share": 50,
        },
        "all": {
            "share": 100, "in_use_share": 100, "in_use_gpu": True, "gpu_busy_percent": None, "full_screen": True,
            "warm_celsius": None, "warm_share": 50,
        },
    }
)  # fmt: skip
"""Rules that a person chooses together, by how much Potluck may take; the other rules stay."""


def amount_of(rules: Mapping[str, object]) -> str:
    """Which of `AMOUNTS` holds; empty: none of them.

    Args:
        rules: Values by name; there may be more than those of `AMOUNTS`.
    """
    return next((name for name, each in AMOUNTS.items() if each.items() <= rules.items()), "")


def read_programs(text: str) -> list[str]:
    """Names of programs as a person lists them, with commas between them: a name can have spaces."""
    return [name for part in text.split(",") if (name := listed_name(part))]


def program_name(name: str) -> str:
    """A program's name by which the rule and what runs are compared: lower case, single spaces, without ".exe"."""
    return " ".join(name.lower().split()).removesuffix(".exe")


def is_folder(listed: str) -> bool:
    """Whether an entry of a list of programs names a folder of them."""
    return "/" in listed or "\\" in listed


def listed_name(entry: str) -> str:
    """An entry of a list of programs as it is kept: a folder as it is written, or a program's name."""
    return (entry.strip().rstrip("/\\") or entry.strip()) if is_folder(entry) else program_name(entry)
