"""Save the model: a folder is chosen, `potluck export` writes the newest model there, and the folder can be opened."""

import contextlib
from pathlib import Path

import msgspec
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPushButton, QWidget

from app.commands.line_command import LineAnswer, LineCommand
from app.widgets.field import announce
from app.widgets.labels import sentence
from app.words import text

NAME_LETTERS = 60
"""Upper bound on the letters of a collaboration's name in the name of a folder."""


class _Exported(LineAnswer, frozen=True):
    """A line of `potluck export`, as far as it is used here."""

    folder: str = ""
    epoch: int = 0
    experts: int = 0
    places: int = 0
    text: str = ""
    share: float = 0.0


class SaveRow(QWidget):
    """A button, how far it is, and what came of it.

    Args:
        command: Runs `potluck export`.
    """

    def __init__(self, command: LineCommand) -> None:
        super().__init__()
        self._command = command
        self._folder = ""
        self._name, self._has_experts = "", False
        self._was_asked = False
        self.button = QPushButton(text.tr("&Save the model…"))
        self.open = QPushButton(text.tr("O&pen the folder"))
        self.said = sentence(tone="muted")
        self.button.clicked.connect(self._choose)
        self.open.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(self._folder)))
        self.open.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.button)
        row.addWidget(self.said, stretch=1)
        row.addWidget(self.open)

    def show_model(self, name: str, *, has_experts: bool) -> None:
        """Which model it is.

        Args:
            name: Of its collaboration.
            has_experts: Parts of it live on other computers.
        """
        self._name, self._has_experts = name, has_experts
        if self._was_asked:
            return
        if has_experts:
            self._say(
                text.tr("A folder with all parts of the model, which live on many computers, and how to load it.")
            )
        else:
            self._say(text.tr("A folder that other programs load: weights, words and a page that says what it is."))

    def save(self, place: Path) -> None:
        """Write the newest model into a new folder there."""
        kept = "".join(letter if letter.isalnum() else "-" for letter in self._name)[:NAME_LETTERS].strip("-")
        name = kept or "model"
        taken = (place / f"{name}-{number}" for number in range(2, 1000))
        folder = place / name if not (place / name).exists() else next(one for one in taken if not one.exists())
        self._was_asked = True
        self.button.setEnabled(False)
        self.open.hide()
        self._say(text.tr("The newest model is written…"))
        words = ["export", str(folder), "--progress", *(["--incomplete"] if self._has_experts else [])]
        self._command.ask(words, self._answered, heard=self._hear)

    def _choose(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, text.tr("Where the model goes"), str(Path.home()))
        if chosen:
            self.save(Path(chosen))

    def _hear(self, line: bytes) -> None:
        told = _read(line)
        if told.text:
            self._say(text.tr("{what}, {share} %", text.one_line(text.tr(told.text)), round(100 * told.share)))

    def _answered(self, lines: list[bytes]) -> None:
        self.button.setEnabled(True)
        told = _read(lines[-1] if lines else b"")
        self._folder = told.folder
        self.open.setVisible(bool(told.folder))
        if told.folder:
            said = text.tr("The model after step {epoch} is in {folder}.")
            words = [said.format(epoch=text.count(told.epoch), folder=told.folder)]
            if told.experts < told.places:
                missing = text.tr("{missing} of its {places} experts live nowhere now, and are not in it.")
                words.append(
                    missing.format(missing=text.count(told.places - told.experts), places=text.count(told.places))
                )
            self._say(" ".join(words))
        elif told.message:
            self._say(text.problem(told.trouble))
        else:
            self._say(text.tr("The model was not saved."))
        announce(self, self.said.text())

    def _say(self, words: str) -> None:
        self.said.setText(words)


def _read(line: bytes) -> _Exported:
    with contextlib.suppress(msgspec.DecodeError):
        return msgspec.json.decode(line, type=_Exported)
    return _Exported()
