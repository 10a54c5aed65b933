"""The person's choices while the engine runs: read, changed, kept, and in force at once.

Without an engine the command line changes them by the same rules (`changed`).
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeGuard

import msgspec

from core.api.numbers import speed, volume
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
    THREADS_MAX,
    SettingsView,
)
from core.api.week import BadWeek, read_week, tidied
from core.base.problems import BadInput
from core.storage.settings import Settings, save_settings

HUGE: Final = 1e18
"""Beyond it nothing is a number of bytes."""
_NO_LIMIT: Final = "Choose no limit instead."


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

    def contribute(self, *, on: bool) -> None:
        """The big switch; its new place holds at once, and even if `save` cannot write it."""
        self._hold(msgspec.structs.replace(self.settings, contributing=on))

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
        case "port":
            return _port(field, value)
        case "threads":
            return _threads(field, value)
        case "keep_minutes":
            return _minutes(field, value)
        case "device":
            return _device(field, value)
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


def _port(field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or (value and not PORT_MIN <= value <= PORT_MAX):
        raise BadSetting(
            field,
            "This is no port that a program may choose.",
            hint=f"Choose a whole number from {PORT_MIN} to {PORT_MAX}, or 0 to have one drawn at the next start.",
        )
    return value


def _threads(field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= THREADS_MAX:
        raise BadSetting(
            field,
            "This is no number of threads.",
            hint=f"Choose a whole number up to {THREADS_MAX}, or 0 for all cores but one.",
        )
    return value


def _minutes(field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= KEEP_MINUTES_MAX:
        raise BadSetting(
            field,
            "This is no number of minutes.",
            hint=f"Choose a whole number up to {KEEP_MINUTES_MAX}, or 0 to give the memory back at once.",
        )
    return value


def _device(field: str, value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(DEVICE_PATTERN, value):
        raise BadSetting(
            field,
            "This is no device that can train.",
            hint="Choose auto, cpu, cuda, cuda:1, mps or xpu; potluck doctor says which there are.",
        )
    return value


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and -HUGE <= value <= HUGE
