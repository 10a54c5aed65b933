"""Joining a collaboration: the link, then who runs it and what for, then yes or no."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QFormLayout, QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app import text
from app.joining import Answer, JoinCommand
from app.widgets.labels import card, label, sentence

SCHEME = "potluck:"
LETTERS_MAX = 600
WIDTH_LETTERS = 80
"""Of the dialog, so that a fingerprint stands on one line."""


class JoinDialog(QDialog):
    """Nothing is joined before the person has seen what, and said yes.

    Args:
        command: Asks about links, and joins.
        parent: The window.
    """

    joined = Signal(object)
    """The Answer of the command."""

    def __init__(self, command: JoinCommand, parent: QWidget) -> None:
        super().__init__(parent)
        tr = text.tr
        self._command = command
        self._shown = ""
        """The link whose collaboration is shown; empty: none is."""
        self.setWindowTitle(tr("Join a collaboration"))
        self.link = QLineEdit(maxLength=LETTERS_MAX, placeholderText="potluck://…")
        self.link.setAccessibleName(tr("Link"))
        self._intro = sentence()
        self._intro.setText(tr("Paste the link that the organiser gave you."))
        self._facts, column = card()
        form = QFormLayout()
        form.setLabelAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        self._values: dict[str, QLabel] = {}
        for name, title in (
            ("name", tr("Collaboration")),
            ("organiser", tr("Organised by")),
            ("fingerprint", tr("Fingerprint")),
            ("summary", tr("What for")),
            ("download", tr("Download")),
        ):
            self._values[name] = sentence()
            self._values[name].setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
            self._values[name].setAccessibleName(title)
            form.addRow(label(title, tone="muted"), self._values[name])
        column.addLayout(form)
        self._said = sentence()
        self.yes = QPushButton()
        self.no = QPushButton(tr("&Cancel"))
        self._build()
        self.link.textChanged.connect(self._changed)
        self.yes.clicked.connect(self._go_on)
        self.no.clicked.connect(self.reject)
        self.finished.connect(command.stop)
        self._changed()

    @property
    def facts(self) -> dict[str, str]:
        """What is shown of the collaboration, by name; empty: nothing yet."""
        return {name: value.text() for name, value in self._values.items()} if self._shown else {}

    @property
    def said(self) -> str:
        """What is in the way, or under way."""
        return self._said.text()

    def ask(self, link: str = "") -> None:
        """Open, with a link that was clicked, or one that the person has copied."""
        copied = QGuiApplication.clipboard().text().strip()
        self.link.setText(link or (copied if copied.startswith(SCHEME) else ""))
        self._changed()
        self.link.setFocus()
        self.open()
        self.raise_()
        if link:
            self._go_on()

    def _changed(self) -> None:
        """Another link: nothing is known of it yet."""
        self._shown = ""
        self._facts.hide()
        self.adjustSize()
        self._say("")
        self.yes.setText(text.tr("&Look at it"))
        self.yes.setEnabled(self.link.text().strip().startswith(SCHEME))

    def _go_on(self) -> None:
        self.yes.setEnabled(False)
        link = self.link.text().strip()
        if self._shown == link:
            self._say(text.tr("Joining…"))
            self._command.join(link, self._take_joined)
        else:
            self._say(text.tr("Asking the organiser's computer…"))
            self._command.look(link, lambda answer: self._take_look(link, answer))

    def _take_look(self, link: str, answer: Answer) -> None:
        if answer.problem is not None:
            self._refuse(answer)
            return
        self._shown = link
        size = text.tr("{size} of files, then the model from other volunteers; numbers only, no programs")
        for name, words in (
            ("name", answer.name),
            ("organiser", answer.organiser),
            ("fingerprint", answer.fingerprint),
            ("summary", answer.summary or text.tr("The organiser does not say.")),
            ("download", size.format(size=text.size(answer.download_bytes))),
        ):
            self._values[name].setText(text.one_line(words))
        self._facts.show()
        self.adjustSize()
        self._say(
            text.tr("Compare the fingerprint with the one that the organiser shows you. Do you want to take part?")
        )
        self.yes.setText(text.tr("&Join"))
        self.yes.setEnabled(True)
        self.yes.setFocus()

    def _take_joined(self, answer: Answer) -> None:
        if answer.problem is not None:
            self._refuse(answer)
            return
        self.accept()
        self.joined.emit(answer)

    def _refuse(self, answer: Answer) -> None:
        self._say(f"{answer.message} {answer.hint}".strip())
        self.yes.setEnabled(True)

    def _say(self, words: str) -> None:
        self._said.setText(words)
        self._said.setVisible(bool(words))
        self.setAccessibleDescription(words)

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setSpacing(10)
        column.addWidget(self._intro)
        column.addWidget(self.link)
        column.addWidget(self._facts)
        column.addWidget(self._said)
        column.addStretch(1)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.no)
        buttons.addWidget(self.yes)
        column.addLayout(buttons)
        self.yes.setDefault(True)
        self.setMinimumWidth(WIDTH_LETTERS * self.fontMetrics().averageCharWidth())
