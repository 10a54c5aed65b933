"""The dialog of *Invite somebody*: a link to hand on, or who can make one."""

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QDialog, QFormLayout, QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.commands.joining import Answer, JoinCommand
from app.widgets.field import announce
from app.widgets.labels import label, sentence
from app.widgets.shown_link import ShownLink
from app.widgets.whole_box import WholeBox
from app.words import text
from core.api.hosting import JoinedView

SIZE = QSize(560, 540)
USES, DAYS = 20, 14
"""What a link lets in and lasts, unless the person says otherwise."""


class InviteDialog(QDialog):
    """Shows the link of one collaboration.

    Args:
        command: Makes links, or asks whether that of this computer lets others in.
        parent: The window.
    """

    def __init__(self, command: JoinCommand, parent: QWidget) -> None:
        super().__init__(parent)
        tr = text.tr
        self._command = command
        self._view: JoinedView | None = None
        self._title = sentence(factor=1.3)
        self._title.setFont(label(factor=1.3, bold=True).font())
        self._said = sentence()
        self.bar = QProgressBar(textVisible=False, maximum=0)
        self.bar.setAccessibleName(tr("Asking the organiser's computer…"))
        self.link = ShownLink()
        self.uses = WholeBox(unit=tr("computers"), most=100_000, zero=tr("Any number of computers"))
        self.days = WholeBox(unit=tr("days"), most=3650, zero=tr("Without an end"))
        self.make = QPushButton(tr("&Make the link"))
        self.close_ = QPushButton(tr("Cl&ose"))
        self._choices = QWidget()
        self._build()
        self.make.clicked.connect(self._ask)
        self.close_.clicked.connect(self.reject)
        self.finished.connect(command.stop)

    @property
    def said(self) -> str:
        """The sentence above the link, or why there is none."""
        return self._said.text()

    def ask(self, view: JoinedView) -> None:
        """Open for a collaboration."""
        self._view = view
        tr, own = text.tr, bool(view.charter)
        self.setWindowTitle(text.title(tr("Invite somebody")))
        self._title.setText(tr("Invite somebody to {name}", text.plain(view.name)))
        self._choices.setVisible(own)
        self.uses.setValue(USES)
        self.days.setValue(DAYS)
        self._say(tr("A link lets others in without a name or a password.") if own else "")
        self.link.hide()
        self.bar.hide()
        self.open()
        if own:
            self.make.setDefault(True)
            self.make.setFocus()
        else:
            self._ask()

    def _ask(self) -> None:
        if self._view is None:
            return
        own = bool(self._view.charter)
        self.bar.show()
        self.make.setEnabled(False)
        if not own:
            self._say(text.tr("Asking the organiser's computer…"))
        lasts = {"uses": self.uses.value(), "days": self.days.value()} if own else {}
        self._command.invite(self._view.id, self._take, **lasts)

    def _take(self, answer: Answer) -> None:
        self.bar.hide()
        self.make.setEnabled(True)
        own = self._view is not None and bool(self._view.charter)
        self.link.setVisible(bool(answer.link))
        if answer.problem is not None:
            self._say(text.problem(answer.problem))
        elif not answer.link:
            self._say(text.tr("It is not known yet where its backbone is. Try again once it runs."))
        else:
            self.link.show_link(answer.link)
            mine = text.tr("Send it to those whom you invite, or let them scan it.")
            passed = text.tr("This is the link by which you came in; it lets in others, too.")
            self._say(mine if own else f"{passed} {mine}")
            self.link.copy.setFocus()

    def _say(self, words: str) -> None:
        self._said.setText(words)
        self._said.setVisible(bool(words))
        announce(self, words)

    def _build(self) -> None:
        tr = text.tr
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(self._title)
        form = QFormLayout(self._choices)
        form.setContentsMargins(0, 0, 0, 0)
        for name, box in ((tr("It lets &in"), self.uses), (tr("It &lasts"), self.days)):
            title = label(name)
            title.setBuddy(box)
            box.setAccessibleName(text.unmarked(name))
            form.addRow(title, box)
        made = QHBoxLayout()
        made.addWidget(self.make)
        made.addStretch(1)
        form.addRow(made)
        for part in (self._choices, self._said, self.bar):
            column.addWidget(part)
        column.addWidget(self.link, stretch=1)
        column.addStretch(0)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.close_)
        column.addLayout(row)
        for button in (self.close_, self.make):
            button.setAutoDefault(False)
        self.resize(SIZE.boundedTo(self.screen().availableSize() * 0.95))
