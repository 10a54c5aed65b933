"""Draws the window from what an engine told (`tests.gui.pictures`), in one look; Qt is in this process only."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from PySide6.QtCore import QDeadlineTimer, QEventLoop
from PySide6.QtWidgets import QApplication, QWidget

from app.commands.own_commands import OwnCommands
from app.engine.intents import Intents
from app.engine.reports import KINDS
from app.engine.store import Store
from app.looks.choices import Choices, ThemeChoice
from app.looks.language import speak
from app.looks.theme import Theme
from app.shell.launch import make_application
from app.shell.main_window import MainWindow
from core.api import verdict as verdicts
from core.api.settings import SettingsView, Wish
from core.api.snapshot import ProblemView
from tests.gui.cut import cut
from tests.gui.pictures import Told

LINK: Final = "potluck://pot.example.org:4000/0123456789abcdef#invitation"
PATIENCE_MS: Final = 20_000
REPLAY: Final = """
import json, sys
told = json.load(open(sys.argv[1]))["commands"]
words = sys.argv[2:]
name = {"join": "look", "collaborations": "kept"}.get(words[0], words[0])
print("\\n".join(json.dumps(line) for line in told.get(name, [])))
"""
"""Stands in for the commands of Potluck: prints again what they printed in the run."""


class Studio:
    """A window without an engine, which shows what one told.

    Args:
        qt: Qt's application.
        folder: For the window's choices.
        told: The run, read from `file`.
        theme: The colours.
    """

    def __init__(self, qt: QApplication, folder: Path, told: Told, *, file: Path, theme: ThemeChoice) -> None:
        self._qt = qt
        self.told = told
        self.store = Store()
        program = (sys.executable, "-S", "-c", REPLAY, str(file))
        commands = OwnCommands.of(folder, program)
        self._commands = commands
        intents = Intents(self._ask, self.store)
        choices = Choices(folder / "window.ini")
        self.window = MainWindow(self.store, intents, commands, theme=Theme(qt, theme), choices=choices)

    def close(self) -> None:
        self._commands.stop()
        self.window.hide()

    def show(self, state: str, page: str) -> QWidget:
        """The window with one of its pages, in one of the run's states."""
        self.store.put(self.told.snapshots[state])
        self.window.actions_.pages[page].setChecked(True)
        return self.window

    def wait(self, so: Callable[[], object] = lambda: False, patience_ms: int = PATIENCE_MS) -> None:
        """Run Qt's loop until something is so, or for the time."""
        deadline = QDeadlineTimer(patience_ms)
        while not so() and not deadline.hasExpired():
            self._qt.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
            time.sleep(0.002)  # the loop returns at once when nothing has happened

    def _ask(self, method: str, params: Wish | None = None) -> None:
        answer = self.told.reports.get(method)
        if method == "settings" and answer is not None:
            self.window.settings.show_answer(method, msgspec.json.decode(answer, type=SettingsView))
        elif method in KINDS and answer is not None:
            self.window.reports.put(method, msgspec.json.decode(answer, type=KINDS[method]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.gui.drawing")
    parser.add_argument("told", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--theme", required=True)
    parser.add_argument("--language", required=True)
    parser.add_argument("--sizes", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--home-only", action="store_true")
    chosen = parser.parse_args()
    qt = make_application()
    speak(qt, chosen.language)
    told = msgspec.json.decode(chosen.told.read_bytes(), type=Told)
    with tempfile.TemporaryDirectory() as name:
        for size in chosen.sizes.split(","):
            studio = Studio(qt, Path(name), told, file=chosen.told, theme=ThemeChoice(chosen.theme))
            studio.window.resize(*map(int, size.split("x")))
            studio.window.show()
            scenes = readme_scenes(studio) if chosen.home_only else all_scenes(studio, dialogs=size == first(chosen))
            for title, widget in scenes:
                picture = f"{title}-{chosen.name}-{size}.png"
                if chosen.only in picture:
                    studio.wait(patience_ms=250)  # for what moves
                    assert widget.grab().save(str(chosen.folder / picture)), picture
                    sys.stdout.write("".join(f"{picture}: {words}\n" for words in cut(widget)))
            studio.close()


def first(chosen: Any) -> str:
    """Dialogs have a size of their own: they are drawn once."""
    return str(chosen.sizes.split(",")[0])


def readme_scenes(studio: Studio) -> Iterator[tuple[str, QWidget]]:
    yield "window", studio.show("training", "home")


def all_scenes(studio: Studio, *, dialogs: bool) -> Iterator[tuple[str, QWidget]]:
    """Names and widgets of everything that is drawn; each is drawn before the next one is made."""
    window, store = studio.window, studio.store
    store.miss(verdicts.not_connected("connecting"))
    yield "start-connecting", window
    yield "start-preparing", studio.show("starting", "home")
    for page in window.pages:
        yield page, studio.show("training", page)
    studio.show("training", "model")
    window.model.trying.ask()
    studio.wait(window.model.trying.button.isEnabled)
    yield "model-tried", studio.show("training", "model")
    computer = window.pages["computer"]
    computer.check.click()
    studio.show("training", "computer")
    studio.wait(computer.check.isEnabled)
    yield "computer-checked", window
    yield "home-paused", studio.show("paused", "home")
    yield "home-problem", studio.show("problem", "home")
    store.miss(verdicts.not_connected("again", seconds=4))
    yield "home-ended", window
    window.actions_.pages["people"].setChecked(True)
    yield "people-ended", window
    store.miss(verdicts.not_connected("stopped"))
    window.actions_.pages["home"].setChecked(True)
    yield "home-stopped", window
    studio.show("training", "home")
    if dialogs:
        yield from settings_scenes(studio)
        yield from first_run_scenes(studio)


def settings_scenes(studio: Studio) -> Iterator[tuple[str, QWidget]]:
    dialog = studio.window.settings
    dialog.ask()
    for place, name in enumerate(("rules", "hours", "owner", "network", "computer")):
        dialog.pages.setCurrentIndex(place)
        studio.wait(patience_ms=500)
        yield f"settings-{name}", dialog
    dialog.reject()


def first_run_scenes(studio: Studio) -> Iterator[tuple[str, QWidget]]:
    dialog = studio.window.join
    dialog.begin()
    yield "first-run-1-link", dialog
    dialog.links.show_problem(ProblemView("link.expired", "This invitation has expired.", "Ask for a new link."))
    yield "first-run-1-refused", dialog
    dialog.link.setText(LINK)
    dialog.yes.click()
    studio.wait(lambda: bool(dialog.facts))
    yield "first-run-2-look", dialog
    dialog.yes.click()
    yield "first-run-3-habits", dialog
    dialog.hide()


if __name__ == "__main__":
    main()
