"""The person's choices while the engine runs: read, changed, kept, and in force at once.

Without an engine the command line changes them by the same rules (`changed`).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeGuard

import msgspec

from core.api.modes import FOR_S_MAX, SUBJECTS, UseMode, UseSubject, UseSwitch
from core.api.numbers import speed, volume
from core.api.rules import PROGRAM_LETTERS_MAX, PROGRAMS_MAX, THREADS_MAX
from core.api.settings import (
    DEVICE_PATTERN,
    FIELDS,
    KEEP_MINUTES_MAX,
    MONTH_BYTES_MAX,
    MONTH_BYTES_MIN,
    PORT_MAX,
    PORT_MIN,
    PROBLEM_PREFIX,
    RATE_BYTES_S_MAX,
    RATE_BYTES_S_MIN,
    SettingsView,
)
from core.api.week import BadWeek, read_week, tidied
from core.backbone.names import NAME_CHARS_MAX, check_name, usable_name
from core.base.problems import BadInput
from core.storage.settings import Settings, save_settings

HUGE: Final = 1e18
"""Beyond it nothing is a number of bytes."""
_NO_LIMIT: Final = "Choose no limit instead."


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """What a setting that is a whole number may be."""

    low: int
    high: int
    called: str
    """As in "This is no ..."."""
    zero: str = ""
    """What 0 does, where it is allowed beside the others."""
    no_limit: bool = False
    """Whether it can be none."""


_PERCENTAGE: Final = "percentage that a rule can have"
WHOLE: Final[Mapping[str, WholeNumber]] = MappingProxyType(
    {
        "port": WholeNumber(
            PORT_MIN, PORT_MAX, "port that a program may choose", zero="to have one drawn at the next start"
        ),
        "threads": WholeNumber(1, THREADS_MAX, "number of threads", zero="for all cores but one"),
        "in_use_threads": WholeNumber(1, THREADS_MAX, "number of threads", zero="for as many as otherwise"),
        "keep_minutes": WholeNumber(1, KEEP_MINUTES_MAX, "number of minutes", zero="to give the memory back at once"),
        "idle_minutes": WholeNumber(1, 1440, "number of minutes"),
        "battery_percent": WholeNumber(1, 100, _PERCENTAGE, zero="to let it run empty"),
        "share": WholeNumber(1, 100, _PERCENTAGE),
        "in_use_share": WholeNumber(1, 100, _PERCENTAGE),
        "busy_percent": WholeNumber(1, 100, _PERCENTAGE, no_limit=True),
        "gpu_busy_percent": WholeNumber(1, 100, _PERCENTAGE, no_limit=True),
        "celsius_max": WholeNumber(30, 120, "temperature that a rule can have", no_limit=True),
        "watts_max": WholeNumber(1, 10_000, "number of watts", no_limit=True),
    }
)


class BadSetting(BadInput):
    """A choice that cannot be.  Its code tells which field it is about.

    Args:
        field: Of `core.api.settings.FIELDS`.
        message: What is wrong, as a sentence.
        hint: What to do.
    """

    def __init__(self, field: str, message: str, *, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.code = f"{PROBLEM_PREFIX}{field}"


class Preferences:
    """See the module's docstring.

    Args:
        path: Where they are kept.
        settings: As they were read.
    """

    def __init__(self, path: Path, settings: Settings) -> None:
        self.settings = settings
        """As they are now."""
        self._path = path
        self._followers: list[Callable[[Settings], object]] = []

    def follow(self, told: Callable[[Settings], object]) -> Callable[[], None]:
        """Call `told` with the settings whenever the person has changed them.

        Returns:
            What ends that.
        """
        self._followers.append(told)
        return lambda: self._followers.remove(told)

    def save(self) -> None:
        """Write them.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        save_settings(self._path, self.settings)

    def switch(self, subject: UseSubject, *, on: bool, until: float | None = None) -> None:
        """Pause something or take a pause back; that holds at once, and even if `save` cannot write it.

        Args:
            subject: What is switched.
            on: Whether it is used again.
            until: Unix seconds; None: without an end.
        """
        self._hold(switched(self.settings, subject, on=on, until=until))

    def change(self, wish: Mapping[str, object]) -> None:
        """Do what the person wants, all of it or nothing.

        Raises:
            BadSetting: something of it cannot be.
            BadInput: it names what is no setting.
            NoSpace: the disk is full; nothing has changed.
            UserProblem: the system does not let us write; nothing has changed.
        """
        settings = changed(self.settings, wish)
        save_settings(self._path, settings)
        self._hold(settings)

    def _hold(self, settings: Settings) -> None:
        """Have new choices in force."""
        self.settings = settings
        for told in self._followers:
            told(settings)


def changed(settings: Settings, wish: Mapping[str, object]) -> Settings:
    """The settings with the wish fulfilled.

    Args:
        settings: As they are.
        wish: See `core.api.settings.Wish`; it comes from a client and is checked here.

    Raises:
        BadSetting: something of it cannot be.
        BadInput: it names what is no setting.
    """
    unknown = sorted(set(wish) - set(FIELDS))
    if unknown:
        raise BadInput(f"There is no setting {unknown[0][:40]!a}.", hint=f"There are: {', '.join(FIELDS)}.")
    return msgspec.structs.replace(settings, **{field: _checked(field, value) for field, value in wish.items()})


def switched(settings: Settings, subject: UseSubject, *, on: bool, until: float | None) -> Settings:
    """The settings with something paused, or a pause taken back; see `Preferences.switch`."""
    switch: UseSwitch = getattr(settings, subject)
    return msgspec.structs.replace(settings, **{subject: switch.on(until) if on else switch.off(until)})


def check_end(until: float | None, now: float) -> None:
    """See whether a switch can stand elsewhere until a moment, unix seconds.

    Raises:
        BadInput: the moment is past, or too far away.
    """
    if until is not None and not now < until <= now + FOR_S_MAX:
        days = round(FOR_S_MAX / 86_400)
        raise BadInput("This is no time that can be waited for.", hint=f"Choose one within the next {days} days.")


def view(settings: Settings, *, month_used_bytes: int | None = None, port_now: int = 0) -> SettingsView:
    """The settings as people see them.

    Args:
        settings: As they are kept.
        month_used_bytes: Sent and received in this month.
        port_now: At which others are heard, if that is the one from the settings or should be; else 0.
    """
    next_one = f"port {settings.port} counts from the next start" if settings.port else "the next start draws another"
    later = f"Other volunteers are heard at port {port_now} now; {next_one}."
    return SettingsView(
        **{field: getattr(settings, field) for field in FIELDS},
        month_used_bytes=month_used_bytes,
        note=later if port_now not in {0, settings.port} else "",
    )


def _checked(field: str, value: object) -> object:
    match field:
        case "upload_bytes_s" | "download_bytes_s":
            return _rate(field, value)
        case "month_bytes":
            return _month(field, value)
        case "hours":
            return _hours(field, value)
        case "programs":
            return _programs(field, value)
        case "device":
            return _device(field, value)
        case "name":
            return _name(field, value)
    if field in SUBJECTS:
        return _switch(field, value)
    if field in WHOLE:
        return _whole(field, value)
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
        raise BadSetting(
            field,
            f"With {speed(max(0.0, rate))} this computer could not stay in touch with the others.",
            hint=f"Allow at least {speed(RATE_BYTES_S_MIN)}, or pause Potluck while it should use no network.",
        )
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
        raise BadSetting(
            field,
            f"With {volume(max(0, month))} a month this computer could not take part.",
            hint=f"Allow at least {volume(MONTH_BYTES_MIN)}, or pause Potluck while it should use no network.",
        )
    if month > MONTH_BYTES_MAX:
        raise BadSetting(field, "Nobody uses that much in a month.", hint=_NO_LIMIT)
    return month


def _hours(field: str, value: object) -> str:
    try:
        read_week(value if isinstance(value, str) else "")
    except BadWeek as bad:
        raise BadSetting(field, bad.message, hint=bad.hint) from bad
    return tidied(str(value))


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
        raise BadSetting(
            field,
            f"This is no {bounds.called}.",
            hint=f"Choose a whole number from {bounds.low} to {bounds.high}{otherwise}.",
        )
    return value


def _switch(field: str, value: object) -> UseSwitch:
    if value not in list(UseMode):
        raise BadSetting(field, "This is no place of a switch.", hint=f"Choose {', '.join(UseMode)}.")
    return UseSwitch(mode=UseMode(str(value)))


def _programs(field: str, value: object) -> tuple[str, ...]:
    """Names as `core.schedule.sensed.Sensed.programs` has them, each once."""
    listed = value if isinstance(value, list) else [None]
    named = [name for name in listed if isinstance(name, str)]
    if len(named) < len(listed) or len(named) > PROGRAMS_MAX:
        raise BadSetting(field, "This is no list of programs.", hint=f"Name at most {PROGRAMS_MAX} programs.")
    names = dict.fromkeys(name.strip().lower().removesuffix(".exe") for name in named)
    for name in names:
        if not name or len(name) > PROGRAM_LETTERS_MAX or not name.isprintable() or "/" in name or "\\" in name:
            raise BadSetting(
                field,
                f"{name[:40]!a} is no name of a program.",
                hint="Name it as the system's list of running programs does, without a folder: blender, steam.",
            )
    return tuple(names)


def _device(field: str, value: object) -> str:
    names = re.sub(", +", ",", value) if isinstance(value, str) else ""
    if not re.fullmatch(DEVICE_PATTERN, names):
        raise BadSetting(
            field,
            "This is no device that can train.",
            hint="Choose auto, all, or one or more of cpu, cuda, cuda:1, mps and xpu with commas between them; "
            "potluck doctor says which there are.",
        )
    if len(set(names.split(","))) <= names.count(","):
        raise BadSetting(field, "A device is named twice.", hint="Name each device once.")
    return names


def _name(field: str, value: object) -> str:
    name = " ".join(value.split()) if isinstance(value, str) else None
    if name is None or len(name) > NAME_CHARS_MAX or (name and usable_name(name) != name):
        raise BadSetting(
            field,
            "This is no name that the others could read.",
            hint=f"Choose one of at most {NAME_CHARS_MAX} letters, digits and spaces.",
        )
    if name:
        try:
            check_name(name)
        except BadInput as bad:
            raise BadSetting(field, bad.message, hint=bad.hint) from bad
    return name


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and -HUGE <= value <= HUGE
