"""Draws the window from a snapshot in a file, without an engine: for the README and for tests."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec
from PySide6.QtWidgets import QApplication

from app.choices import Choices, ThemeChoice
from app.intents import Intents
from app.own_commands import OwnCommands
from app.reports import KINDS
from app.store import Store
from app.theme import Theme
from app.views.main_window import MainWindow
from core.api.settings import Wish
from core.api.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What is drawn, and how large."""

    page: str
    """Its name, as in `app.views.main_window.MainWindow.pages`."""
    size: tuple[int, int]
    """Width and height in points."""
    theme: ThemeChoice
    snapshot: Path | None = None
    """A Snapshot as JSON; without one the window shows the start."""
    reports: Path | None = None
    """Answers of an engine (`app.reports.KINDS`) by method, as JSON; without them pages know nothing of these."""


def take(qt: QApplication, target: Path, picture: Picture) -> bool:
    """Write a picture of the window.

    Args:
        qt: Qt's application.
        target: The picture; its ending tells the format.
        picture: What it shows.

    Returns:
        Whether it could be written.

    Raises:
        OSError: a file cannot be read.
        msgspec.DecodeError: it holds something else.
        KeyError: there is no such page.
    """
    shown = msgspec.json.decode(picture.snapshot.read_bytes(), type=Snapshot) if picture.snapshot is not None else None
    answers: dict[str, msgspec.Raw] = {}
    if picture.reports is not None:
        answers = msgspec.json.decode(picture.reports.read_bytes(), type=dict[str, msgspec.Raw])
    store = Store()
    colours = Theme(qt, picture.theme)
    with tempfile.TemporaryDirectory() as folder:
        choices = Choices(Path(folder) / "window.ini")
        intents = Intents(_nobody, store)
        window = MainWindow(store, intents, OwnCommands.of(Path(folder), ()), theme=colours, choices=choices)
        window.resize(*picture.size)
        if shown is not None:
            store.put(shown)
        for method, answer in answers.items():
            window.reports.put(method, msgspec.json.decode(answer, type=KINDS[method]))
        window.actions_.pages[picture.page].setChecked(True)
        window.show()
        for _ in range(5):
            qt.processEvents()
        saved = window.grab().save(str(target))
        window.hide()
        window.deleteLater()
    return saved


def _nobody(method: str, params: Wish | None = None) -> None:
    """Stands in for calls of an engine, which does not exist here."""
