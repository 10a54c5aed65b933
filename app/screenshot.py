"""Draws the window from a snapshot in a file, without an engine: for the README and for tests."""

import tempfile
from pathlib import Path

import msgspec
from PySide6.QtWidgets import QApplication

from app.choices import Choices, ThemeChoice
from app.intents import Intents
from app.own_commands import OwnCommands
from app.store import Store
from app.theme import Theme
from app.views.main_window import MainWindow
from core.api.settings import Wish
from core.api.snapshot import Snapshot


def take(
    qt: QApplication,
    target: Path,
    *,
    snapshot: Path | None,
    size: tuple[int, int],
    theme: ThemeChoice,
    page: str = "home",
) -> bool:
    """Write a picture of the window.

    Args:
        qt: Qt's application.
        target: The picture; its ending tells the format.
        snapshot: A Snapshot as JSON; without one the window shows the start.
        size: Width and height in points.
        theme: The colours.
        page: The one that is open, by its name.

    Returns:
        Whether it could be written.

    Raises:
        OSError: the snapshot cannot be read.
        msgspec.DecodeError: it is none.
        KeyError: there is no such page.
    """
    shown = msgspec.json.decode(snapshot.read_bytes(), type=Snapshot) if snapshot is not None else None
    store = Store()
    colours = Theme(qt, theme)
    with tempfile.TemporaryDirectory() as folder:
        choices = Choices(Path(folder) / "window.ini")
        intents = Intents(_nobody, store)
        window = MainWindow(store, intents, OwnCommands.of(Path(folder), ()), theme=colours, choices=choices)
        window.resize(*size)
        if shown is not None:
            store.put(shown)
        window.actions_.pages[page].setChecked(True)
        window.show()
        for _ in range(5):
            qt.processEvents()
        saved = window.grab().save(str(target))
        window.hide()
        window.deleteLater()
    return saved


def _nobody(method: str, params: Wish | None = None) -> None:
    """Stands in for calls of an engine, which does not exist here."""
