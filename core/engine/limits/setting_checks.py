"""What each setting may be; the bad ones get a sentence that says what is wrong and what to do."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeGuard

from core.api.modes import SUBJECTS, UseMode, UseSwitch
from core.api.numbers import speed, volume
from core.api.rules import (
    FOLDER_LETTERS_MAX,
    METER_MAX,
    PROGRAM_LETTERS_MAX,
    PROGRAMS_MAX,
    THREADS_MAX,
    is_folder,
    listed_name,
)
from core.api.settings import (
    DEVICE_PATTERN,
    DISK_GIGABYTES_MAX,
    EXPERTS_MAX,
    KEEP_MINUTES_MAX,
    MEMORY_BYTES_MAX,
    MEMORY_BYTES_MIN,
    MONTH_BYTES_MAX,
    MONTH_BYTES_MIN,
    PORT_MAX,
    PORT_MIN,
    PROBLEM_PREFIX,
    RATE_BYTES_S_MAX,
    RATE_BYTES_S_MIN,
)
from core.api.week import BadWeek, read_week, tidied
from core.base.names import NAME_CHARS_MAX, check_name, usable_name
from core.base.problems import BadInput, Sentence, quoted

HUGE: Final = 1e18
"""Beyond it nothing is a number of bytes."""
METER_EXAMPLE: Final = "/home/ada/price.txt"
_NO_LIMIT: Final = "Choose no limit instead."


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """What a setting that is a whole number may be."""

    low: int
    high: int
    zero: str = ""
    """What 0 does, where it is allowed beside the others."""
    no_limit: bool = False
    """Whether None stands for no limit."""


WHOLE: Final[Mapping[str, WholeNumber]] = MappingProxyType(
    {
        "port": WholeNumber(PORT_MIN, PORT_MAX, zero="to have one drawn at the next start"),
        "threads": WholeNumber(1, THREADS_MAX, zero="for all cores but one"),
        "in_use_threads": WholeNumber(1, THREADS_MAX, zero="for as many as otherwise"),
        "disk_gigabytes": WholeNumber(1, DISK_GIGABYTES_MAX),
        "experts": WholeNumber(1, EXPERTS_MAX, zero="for none", no_limit=True),
        "keep_minutes": WholeNumber(1, KEEP_MINUTES_MAX, zero="to give the memory back at once"),
        "idle_minutes": WholeNumber(1, 1440),
        "battery_percent": WholeNumber(1, 100, zero="to let it run empty"),
        "share": WholeNumber(1, 100),
        "in_use_share": WholeNumber(1, 100),
        "busy_percent": WholeNumber(1, 100, no_limit=True),
        "gpu_busy_percent": WholeNumber(1, 100, no_limit=True),
        "celsius_max": WholeNumber(30, 120, no_limit=True),
        "warm_celsius": WholeNumber(30, 120, no_limit=True),
        "warm_share": WholeNumber(1, 100),
        "other_share": WholeNumber(1, 100),
        "fan_rpm_max": WholeNumber(1, 100_000, no_limit=True),
        "meter_max": WholeNumber(1, METER_MAX, no_limit=True),
        "meter_min": WholeNumber(1, METER_MAX, no_limit=True),
        "energy_watts": WholeNumber(1, 10_000, zero="to have it measured or estimated"),
        "energy_cents": WholeNumber(1, 10_000, zero="for none"),
        "energy_grams": WholeNumber(1, 10_000, zero="for none"),
        "watts_max": WholeNumber(1, 10_000, no_limit=True),
    }
)


class BadSetting(BadInput):
    """A choice that cannot be.  Its code tells which field it is about.

    Args:
        field: One of `core.api.settings.FIELDS`.
        message: What is wrong, as a sentence.
        hint: What to do.
    """

    def __init__(self, field: str, message: str | Sentence, /, *values: object, hint: str | Sentence) -> None:
        super().__init__(message, *values, hint=hint)
        self.code = f"{PROBLEM_PREFIX}{field}"


def checked(field: str, value: object) -> object:
    """A value as it is kept.

    Args:
        field: One of `core.api.settings.FIELDS`.
        value: As a client wishes it.

    Raises:
        BadSetting: it cannot be.
    """
    if field in WHOLE:
        return _whole(field, value)
    return _CHECKS.get(field, _yes_or_no)(field, value)


def _yes_or_no(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise BadSetting(field, "This can only be on or off.", hint="Say yes or no.")
    return value


def _rate(field: str, value: object) -> float | None:
    if value is None:
        return None
    if not _is_number(value):
        raise BadSetting(field, "A limit is a number of bytes a second.", hint=_NO_LIMIT)
    rate = float(value)
    if rate < RATE_BYTES_S_MIN:
        message = "With {rate} this computer could not stay in touch with the others."
        hint = "Allow at least {least}, or pause Potluck while it should use no network."
        raise BadSetting(field, message, speed(max(0.0, rate)), speed(RATE_BYTES_S_MIN), hint=hint)
    if rate > RATE_BYTES_S_MAX:
        raise BadSetting(field, "No connection is that fast.", hint=_NO_LIMIT)
    return rate


def _month(field: str, value: object) -> int | None:
    if value is None:
        return None
    if not _is_number(value):
        raise BadSetting(field, "A limit is a number of bytes a month.", hint=_NO_LIMIT)
    month = round(value)
    if month < MONTH_BYTES_MIN:
        message = "With {month} a month this computer could not take part."
        hint = "Allow at least {least}, or pause Potluck while it should use no network."
        raise BadSetting(field, message, volume(max(0, month)), volume(MONTH_BYTES_MIN), hint=hint)
    if month > MONTH_BYTES_MAX:
        raise BadSetting(field, "Nobody uses that much in a month.", hint=_NO_LIMIT)
    return month


def _memory(field: str, value: object) -> int | None:
    if value is None:
        return None
    if not _is_number(value) or not MEMORY_BYTES_MIN <= value <= MEMORY_BYTES_MAX:
        message = "Training cannot keep to that much memory."
        raise BadSetting(field, message, volume(MEMORY_BYTES_MIN), hint="Allow at least {least}, or choose no limit.")
    return round(value)


def _hours(field: str, value: object) -> str:
    try:
        read_week(value if isinstance(value, str) else "")
    except BadWeek as bad:
        raise BadSetting(field, bad.sentence, hint=bad.advice) from bad
    return tidied(str(value))


def _other_hours(field: str, value: object) -> str:
    return _hours(field, value) if value else ""


def _meter(field: str, value: object) -> str:
    meter = value.strip() if isinstance(value, str) else None
    named = meter == "" or (meter is not None and (meter.startswith(("http://", "https://")) or is_absolute(meter)))
    if meter is None or not named or len(meter) > FOLDER_LETTERS_MAX or not meter.isprintable():
        hint = "Name an address that begins with http://, or a file or program with its folders: {example}."
        raise BadSetting(field, "This is not a meter that could say a number.", METER_EXAMPLE, hint=hint)
    return meter


def is_absolute(name: str) -> bool:
    """Whether a file or folder is named from the top, or from the person's home folder."""
    return Path(name).expanduser().is_absolute()


def _whole(field: str, value: object) -> int | None:
    bounds = WHOLE[field]
    if value is None and bounds.no_limit:
        return None
    low = 0 if bounds.zero else bounds.low
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or (value != low and not bounds.low <= value <= bounds.high)
    ):
        otherwise = f", or 0 {bounds.zero}" if bounds.zero else ", or no limit" if bounds.no_limit else ""
        hint = "Choose a whole number from {low} to {high}{otherwise}."
        raise BadSetting(field, "This number cannot be chosen here.", bounds.low, bounds.high, otherwise, hint=hint)
    return value


def _switch(field: str, value: object) -> UseSwitch:
    if value not in list(UseMode):
        raise BadSetting(field, "This is not a position of a switch.", ", ".join(UseMode), hint="Choose {names}.")
    return UseSwitch(mode=UseMode(str(value)))


def _programs(field: str, value: object) -> tuple[str, ...]:
    """Names as `core.schedule.sensed.Sensed.programs` has them, and folders, each once."""
    listed = value if isinstance(value, list) else [None]
    named = [name for name in listed if isinstance(name, str)]
    if len(named) < len(listed) or len(named) > PROGRAMS_MAX:
        raise BadSetting(
            field, "This is not a valid list of programs.", PROGRAMS_MAX, hint="Name at most {most} programs."
        )
    names = dict.fromkeys(listed_name(name) for name in named)
    for name in names:
        if is_folder(name):
            if not is_absolute(name) or len(name) > FOLDER_LETTERS_MAX or not name.isprintable():
                hint = "Name it from the top or from your home folder, as in {example}."
                raise BadSetting(field, "{name} is not a valid folder of programs.", quoted(name), "~/Games", hint=hint)
        elif not name or len(name) > PROGRAM_LETTERS_MAX or not name.isprintable():
            raise BadSetting(
                field,
                "{name} is not a valid name of a program.",
                quoted(name),
                hint="Name it as the system's list of running programs does: blender, steam.",
            )
    return tuple(names)


def _device(field: str, value: object) -> str:
    names = re.sub(", +", ",", value) if isinstance(value, str) else ""
    if not re.fullmatch(DEVICE_PATTERN, names):
        raise BadSetting(
            field,
            "This is not a device that can train.",
            hint="Choose auto, all, or one or more of cpu, cuda, cuda:1, mps and xpu with commas between them; "
            "potluck doctor says which there are.",
        )
    if len(set(names.split(","))) <= names.count(","):
        raise BadSetting(field, "A device is named twice.", hint="Name each device once.")
    return names


def _name(field: str, value: object) -> str:
    name = " ".join(value.split()) if isinstance(value, str) else None
    if name is None or len(name) > NAME_CHARS_MAX or (name and usable_name(name) != name):
        hint = "Choose one of at most {most} letters, digits and spaces."
        raise BadSetting(field, "This is not a name that the others could read.", NAME_CHARS_MAX, hint=hint)
    if name:
        try:
            check_name(name)
        except BadInput as bad:
            raise BadSetting(field, bad.sentence, hint=bad.advice) from bad
    return name


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and -HUGE <= value <= HUGE


_CHECKS: Final[Mapping[str, Callable[[str, object], object]]] = MappingProxyType(
    {
        "upload_bytes_s": _rate,
        "download_bytes_s": _rate,
        "month_bytes": _month,
        "memory_bytes": _memory,
        "in_use_memory_bytes": _memory,
        "hours": _hours,
        "other_hours": _other_hours,
        "meter": _meter,
        "programs": _programs,
        "gpu_programs": _programs,
        "device": _device,
        "name": _name,
        **dict.fromkeys(SUBJECTS, _switch),
    }
)
