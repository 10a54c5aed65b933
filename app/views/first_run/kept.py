"""The collaborations that this computer has joined: go back to one, or leave it."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from app.commands.joining import Answer, JoinCommand, KeptLink
from app.views.leaving import Leaving
from app.widgets.labels import label, sentence
from app.words import page_text, text

LETTERS = 24
"""Width of the list at least; longer names are cut there, and whole where it is open."""


class KeptBox(QFrame):
    """A list with two buttons; hidden where nothing was joined.

    Args:
        command: Lists, goes and leaves.
    """

    went = Signal(object)
    """The Answer of the command: another collaboration is the current one."""
    emptied = Signal()
    """The last one was left."""

    def __init__(self, command: JoinCommand) -> None:
        super().__init__()
        self.setObjectName("card")
        tr = text.tr
        self._command = command
        self._kept: list[KeptLink] = []
        self._left = ""
        """Name of the one that was left just now."""
        self.names = QComboBox(sizeAdjustPolicy=QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.names.setMinimumContentsLength(LETTERS)
        self.names.setAccessibleName(tr("Joined before"))
        self.go = QPushButton(tr("&Go there"))
        self.leave = QPushButton(tr("Lea&ve it"))
        self.leaving = Leaving(command, self)
        self._said = sentence(tone="muted")
        column = QVBoxLayout(self)
        column.addWidget(label(tr("Joined before"), bold=True))
        row = QHBoxLayout()
        row.addWidget(self.names, stretch=1)
        for button in (self.go, self.leave):
            button.setAutoDefault(False)
            row.addWidget(button)
        column.addLayout(row)
        column.addWidget(self._said)
        self.names.currentIndexChanged.connect(self._choose)
        self.go.clicked.connect(self._go)
        self.leave.clicked.connect(self._leave)
        self.leaving.left.connect(self._take_left)
        self.leaving.failed.connect(lambda problem: self._say(text.problem(problem)))
        self.hide()

    @property
    def said(self) -> str:
        """Why one is not served, or what came of a wish."""
        return self._said.text()

    def refresh(self) -> None:
        """Ask what was joined."""
        self._command.kept(self._show)

    def _show(self, kept: list[KeptLink]) -> None:
        self._kept = kept
        self.names.clear()
        self.names.addItems([_listed(each) for each in kept])
        self.setVisible(bool(kept))
        if self._left and not kept:
            self.emptied.emit()
        elif self._left:
            self._say(text.left(self._left))
        self._left = ""

    def _choose(self, place: int) -> None:
        chosen = self._kept[place] if 0 <= place < len(self._kept) else None
        self.go.setEnabled(chosen is not None and not chosen.current)
        why = chosen.why_not if chosen is not None else None
        self._say(page_text.why_not(chosen.name, why) if chosen is not None and why is not None else "")

    def _go(self) -> None:
        self._say(text.tr("Asking the organiser's computer…"))
        self._command.go(self._kept[self.names.currentIndex()], self._take)

    def _leave(self) -> None:
        leaves = self._kept[self.names.currentIndex()]
        self.leaving.ask(leaves.id, leaves.name)

    def _take_left(self, name: str) -> None:
        self._left = name
        self.refresh()

    def _take(self, answer: Answer) -> None:
        if answer.problem is not None:
            self._say(text.problem(answer.problem))
        else:
            self.went.emit(answer)

    def _say(self, words: str) -> None:
        self._said.setText(words)
        self._said.setVisible(bool(words))


def _listed(kept: KeptLink) -> str:
    name = text.one_line(kept.name)
    if kept.served:
        return text.tr("{name} (now)", name)
    return text.tr("{name} (comes first)", name) if kept.current else name
