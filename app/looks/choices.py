"""The person's choices about the window itself, kept in `window.ini` in the home directory."""

from enum import StrEnum
from pathlib import Path
from typing import TypeVar

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

    @property
    def notifications(self) -> bool:
        """Whether the desktop tells what needs the person."""
        return self._settings.value("notifications", "yes") != "no"

    @notifications.setter
    def notifications(self, value: bool) -> None:
        self._settings.setValue("notifications", "yes" if value else "no")

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
