"""How Potluck is taken off this computer, by the way in which it came there, and what stays."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from app.words import text
from core.api.program_folder import LAUNCHER, PROGRAM

CHECKOUT = Path(__file__).parents[2]
"""Where this program lies, if it was started from its source."""


def how_to_remove(environ: Mapping[str, str], platform: str, checkout: Path) -> str:
    """What removes the program.

    Args:
        environ: The program's environment.
        platform: As `sys.platform` names it.
        checkout: Where its source lies, if it was started from there.
    """
    tr = text.tr
    if platform == "win32" and PROGRAM in environ:
        return tr("Windows removes it: Settings, Apps, Potluck, Uninstall.")
    if platform == "darwin" and PROGRAM in environ:
        return tr("Quit Potluck, then move it from Applications to the Bin.")
    if environ.get(LAUNCHER, "").startswith("/usr/"):
        return tr("Your software centre removes it, or in a terminal: sudo apt purge potluck")
    own = str(checkout) if (checkout / "packaging" / "bootstrap.py").exists() else ""
    if place := environ.get(PROGRAM) or environ.get(LAUNCHER) or own:
        return tr(
            "In the settings, on the page This computer, turn off what starts at login. "
            "Quit Potluck, then delete {place}.",
            text.one_line(place),
        )
    return tr("Quit Potluck, then in a terminal: pip uninstall potluck")


def show_removal(over: QWidget, home: str) -> QMessageBox:
    """Say how Potluck is removed, and what stays.

    Args:
        over: The widget that it is said over.
        home: Where Potluck keeps its files; empty: that is not known.
    """
    stays = text.tr("What you gave stays in the model.")
    kept = text.tr(
        "Your settings, your key and the models that are here stay in {folder}: delete that, too, "
        "if nothing is to stay.",
        text.one_line(home),
    )
    box = QMessageBox(over)
    box.setWindowTitle(text.title(text.tr("Remove Potluck")))
    box.setText(how_to_remove(os.environ, sys.platform, CHECKOUT))
    box.setInformativeText(f"{stays} {kept}" if home else stays)
    box.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    box.addButton(text.tr("&Close"), QMessageBox.ButtonRole.AcceptRole)
    box.finished.connect(box.deleteLater)
    box.open()
    return box
