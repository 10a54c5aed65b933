"""The page that looks around: a signed list of open collaborations, from a file or an address that the person names."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.commands.joining import Answer, JoinCommand
from app.widgets.field import announce
from app.widgets.labels import card, sentence
from app.words import collaboration_text, text
from core.api.directory import ADDRESS_LETTERS_MAX, DirectoryEntry, DirectoryView


class DirectoryPage(QWidget):
    """Nothing is asked before the person has named a list; what it holds is looked at like any link.

    Args:
        command: Reads the list.
    """

    chosen = Signal(str)
    """The link of an entry."""

    def __init__(self, command: JoinCommand) -> None:
        super().__init__()
        tr = text.tr
        self._command = command
        self.where = QLineEdit(maxLength=ADDRESS_LETTERS_MAX, placeholderText="https://…")
        self.where.setAccessibleName(tr("Address of a list"))
        self.open = QPushButton(tr("&Open the list"))
        self.file = QPushButton(tr("Choose a f&ile…"))
        self._said = sentence()
        self.entries: list[QPushButton] = []
        """*Look at it* of each entry, from top to bottom."""
        self._list = QScrollArea(widgetResizable=True)
        self._list.setFrameShape(QFrame.Shape.NoFrame)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        words = sentence(tone="muted")
        words.setText(
            tr(
                "Somebody whom you trust may have a list: a file, or an address. Potluck has none of its own, "
                "and asks nobody before you open one."
            )
        )
        row = QHBoxLayout()
        row.addWidget(self.where, stretch=1)
        for button in (self.open, self.file):
            button.setAutoDefault(False)
            row.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        column.addWidget(words)
        column.addLayout(row)
        column.addWidget(self._said)
        column.addWidget(self._list, stretch=1)
        self.open.clicked.connect(lambda: self._read(self.where.text().strip()))
        self.where.returnPressed.connect(self.open.click)
        self.where.textChanged.connect(lambda words: self.open.setEnabled(bool(words.strip())))
        self.file.clicked.connect(self._choose)
        self.open.setEnabled(False)
        self._show(None)

    @property
    def said(self) -> str:
        """Who signed the list, or what is wrong with it."""
        return self._said.text()

    def showEvent(self, event: QShowEvent) -> None:
        """Begin with the list that comes along with Potluck, if its packager has put one there."""
        super().showEvent(event)
        if not self.entries:
            self._command.directory("", self._take_own)
        self.where.setFocus()

    def _choose(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, text.tr("A list of collaborations"), "", "JSON (*.json);;* (*)")
        if path:
            self.where.setText(path)
            self._read(path)

    def _read(self, where: str) -> None:
        if where:
            self._say(text.tr("Reading the list…"))
            self.open.setEnabled(False)
            self._command.directory(where, self._take)

    def _take_own(self, answer: Answer) -> None:
        if answer.directory is not None:
            self._take(answer)

    def _take(self, answer: Answer) -> None:
        self.open.setEnabled(True)
        self._show(answer.directory)
        if answer.directory is not None:
            self._say(collaboration_text.directory(answer.directory))
        elif answer.problem is not None:
            self._say(text.problem(answer.problem))
        if self.entries:
            self.entries[0].setFocus()

    def _show(self, view: DirectoryView | None) -> None:
        inner = QWidget()
        inner.setObjectName("page")
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, 8, 0)
        self.entries = []
        for entry in view.entries if view is not None else ():
            column.addWidget(self._card(entry))
        column.addStretch(1)
        self._list.setWidget(inner)

    def _card(self, entry: DirectoryEntry) -> QFrame:
        frame, column = card()
        name, summary = text.one_line(entry.name), text.one_line(entry.summary)
        row = QHBoxLayout()
        texts = QVBoxLayout()
        for words, made in ((name, sentence()), (summary, sentence(tone="muted"))):
            made.setText(words)
            made.setVisible(bool(words))
            texts.addWidget(made)
        row.addLayout(texts, stretch=1)
        button = QPushButton(text.tr("Look at it"))
        button.setAutoDefault(False)
        button.setAccessibleName(text.tr("Look at {name}", name))
        button.setAccessibleDescription(summary)
        button.clicked.connect(lambda: self.chosen.emit(entry.link))
        self.entries.append(button)
        row.addWidget(button, alignment=Qt.AlignmentFlag.AlignVCenter)
        column.addLayout(row)
        return frame

    def _say(self, words: str) -> None:
        self._said.setText(words)
        announce(self, words)
