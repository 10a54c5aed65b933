"""Runs the window, where Qt is known to work."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.engine.engine_process import OR_ALONE, engine_command
from app.looks.choices import Choices
from app.looks.language import speak
from app.shell.application import Application
from app.shell.opening import Opening, opening
from app.shell.signals import Interrupts
from app.shell.single import SingleWindow
from core.api.crash_report import watch
from core.api.program_folder import came_up


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """How a window opens."""

    link: str = ""
    """Link of a collaboration, which the window asks about; empty: none."""
    hidden: bool = False
    """Whether only the tray shows the window at first; where nothing was chosen yet, nothing starts then."""
    page: str = "home"
    """The page that is open first."""
    far: str = ""
    """Another computer, whose engine the window shows; empty: it is this one's."""
    tell: bool = False
    """Whether a word is printed once the window shows an engine's state: for measurements."""


def run(home: Path, how: Opened, *, engine: Sequence[str] | None) -> int:
    """The window of `home`, or the one that is there already, brought to the front.

    Args:
        home: The home directory, absolute.
        how: How it opens.
        engine: Further words for an engine that the window starts; None: it never starts one.

    Returns:
        The exit code.
    """
    watch(home, "window", main=True)
    qt = make_application()
    single = SingleWindow(home)
    if not single.claim(how.link):
        return 0
    choices = Choices(home / "window.ini")
    speak(qt, choices.language)
    # Further words say what an engine is to do; a window without an engine of its own asks nothing.
    welcomes = engine is not None and not engine and opening(home, choices) is Opening.FIRST_RUN
    if welcomes and how.hidden:
        return 0
    command = None if engine is None else [*engine_command(home), *([OR_ALONE, *engine] if engine else [])]
    application = Application(home, qt, engine=command, far=how.far)
    single.show_asked.connect(application.come_forward)
    interrupts = Interrupts()
    interrupts.came.connect(application.leave)
    single.link_given.connect(application.window.join.ask)
    application.left.connect(qt.quit)
    application.window.actions_.pages.get(how.page, application.window.actions_.pages["home"]).setChecked(True)
    if how.tell:
        _tell(application)
    if welcomes:
        application.welcome(how.link)
    else:
        application.start(how.link, hidden=how.hidden)
    QTimer.singleShot(0, came_up)
    code = qt.exec()
    interrupts.close()
    single.release()
    if application.renewal.command:
        subprocess.Popen(application.renewal.command, start_new_session=True)
    return code


def _tell(application: Application) -> None:
    """Print a word, once the page that shows the first snapshot was drawn."""

    def look() -> None:
        if application.store.snapshot is not None and application.window.shows_page:
            application.store.changed.disconnect(look)
            application.window.repaint()
            sys.stdout.write("usable\n")
            sys.stdout.flush()

    application.store.changed.connect(look)


def make_application() -> QApplication:
    """Make the one Qt application of this process, with its names."""
    qt = QApplication(sys.argv[:1])
    qt.setApplicationName("Potluck")
    qt.setApplicationDisplayName("Potluck")
    qt.setDesktopFileName("potluck")
    return qt
