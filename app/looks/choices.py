"""The person's choices about the window itself, kept in `window.ini` in the home directory."""

from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from PySide6.QtCore import QByteArray, QSettings

from app.looks.language import LANGUAGES, SYSTEM

_Kind = TypeVar("_Kind", bound=StrEnum)


class Closing(StrEnum):
    """What closing the window means."""

    ASK = "ask"
    HIDE = "keep"
    """Potluck contributes on without a window."""
    QUIT = "stop"


class ThemeChoice(StrEnum):
    """The person's choice of the window's colours."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"
    CONTRAST = "contrast"


class NoticeKind(StrEnum):
    """What the desktop can tell somebody who does not look at the window."""

    STOPPED = "stopped"
    """Training has stopped for a reason that needs the person."""
    DISK = "disk"
    """The disk is full."""
    AWAY = "away"
    """Nobody is reached, or the engine does not answer."""
    ENDED = "ended"
    """The collaboration is over."""
    MILESTONE = "milestone"
    WEEK = "week"


QUIET: Final = frozenset({NoticeKind.MILESTONE, NoticeKind.WEEK})
"""What is told only where the person has asked for it."""


class Choices:
    """The choices in an ini file; what is missing or damaged there has its default.

    Args:
        file: The ini file; made when the first choice is.
    """

    def __init__(self, file: Path) -> None:
        self._settings = QSettings(str(file), QSettings.Format.IniFormat)

    @property
    def closing(self) -> Closing:
        """What closing the window means."""
        return _member(Closing, self._settings.value("closing"), Closing.ASK)

    @closing.setter
    def closing(self, value: Closing) -> None:
        self._settings.setValue("closing", value.value)

    @property
    def theme(self) -> ThemeChoice:
        """The chosen colours of the window."""
        return _member(ThemeChoice, self._settings.value("theme"), ThemeChoice.SYSTEM)

    @theme.setter
    def theme(self, value: ThemeChoice) -> None:
        self._settings.setValue("theme", value.value)

    @property
    def language(self) -> str:
        """The chosen language of the window: one of LANGUAGES, or SYSTEM."""
        value = self._settings.value("language")
        return value if value in LANGUAGES else SYSTEM

    @language.setter
    def language(self, value: str) -> None:
        self._settings.setValue("language", value)

    @property
    def part_offered(self) -> bool:
        """Whether the person was asked about the training part without looking for it."""
        return self._settings.value("training_part", "") == "offered"

    @part_offered.setter
    def part_offered(self, value: bool) -> None:
        self._settings.setValue("training_part", "offered" if value else "")

    def notifies(self, kind: NoticeKind) -> bool:
        """Whether the desktop tells of this; an earlier version knew one choice for all."""
        usual = "no" if kind in QUIET else self._settings.value("notifications", "yes")
        return self._settings.value(f"notify_{kind.value}", usual) != "no"

    def choose_notice(self, kind: NoticeKind, *, wanted: bool) -> None:
        """Have the desktop tell of this, or not."""
        self._settings.setValue(f"notify_{kind.value}", "yes" if wanted else "no")

    @property
    def milestones(self) -> tuple[str, ...]:
        """What was said to be reached (`app.models.milestones.TITLES`)."""
        return tuple(filter(None, str(self._settings.value("milestones", "")).split(" ")))

    @milestones.setter
    def milestones(self, value: tuple[str, ...]) -> None:
        self._settings.setValue("milestones", " ".join(value))

    @property
    def week_told(self) -> str:
        """Monday of the last week that was told of, as 2026-11-23; empty: none was."""
        return str(self._settings.value("week_told", ""))

    @week_told.setter
    def week_told(self, value: str) -> None:
        self._settings.setValue("week_told", value)

    @property
    def crash_seen(self) -> str:
        """Name of the newest report of a crash that the person has seen or put away; empty: of none."""
        return str(self._settings.value("crash_seen", ""))

    @crash_seen.setter
    def crash_seen(self, value: str) -> None:
        self._settings.setValue("crash_seen", value)

    @property
    def hint_shown(self) -> bool:
        """Whether the person was told once where a closed window goes."""
        return self._settings.value("hint_shown", "no") == "yes"

    @hint_shown.setter
    def hint_shown(self, value: bool) -> None:
        self._settings.setValue("hint_shown", "yes" if value else "no")

    @property
    def alone(self) -> bool:
        """Whether the person chose to train alone on this computer, before joining anybody."""
        return self._settings.value("alone", "no") == "yes"

    @alone.setter
    def alone(self, value: bool) -> None:
        self._settings.setValue("alone", "yes" if value else "no")

    @property
    def geometry(self) -> QByteArray:
        """Where the window was (QWidget.saveGeometry); empty at first."""
        value = self._settings.value("geometry")
        return value if isinstance(value, QByteArray) else QByteArray()

    @geometry.setter
    def geometry(self, value: QByteArray) -> None:
        self._settings.setValue("geometry", value)

    def save(self) -> None:
        """Write what is not written yet."""
        self._settings.sync()


def _member(kind: type[_Kind], value: object, default: _Kind) -> _Kind:
    try:
        return kind(str(value))
    except ValueError:
        return default
