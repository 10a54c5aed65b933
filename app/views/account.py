"""The person's account: their computers, one more, and the ways out."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QPushButton, QVBoxLayout, QWidget

from app.commands.account import AccountCommand
from app.views.question import Question
from app.widgets.field import announce
from app.widgets.labels import label, sentence
from app.widgets.shown_link import ShownLink
from app.words import page_text, text
from core.api.account import WAYS_OUT, AccountAct, AccountView
from core.api.snapshot import ProblemView

QR_POINTS: Final = 200


class AccountBox(QWidget):
    """A row for each computer, and buttons below.

    Args:
        command: Asks the engine, which asks the backbone.
    """

    gone = Signal()
    """This computer is signed out."""

    def __init__(self, command: AccountCommand) -> None:
        super().__init__()
        tr = text.tr
        self._command = command
        self._rows = QGridLayout()
        self._rows.setColumnStretch(1, 1)
        self.ends: dict[str, QPushButton] = {}
        """To end a computer, by its key."""
        self._said = sentence(tone="muted")
        self.add = QPushButton(tr("A&dd a computer"))
        self.sign_out = QPushButton(tr("Sign &out of this computer…"))
        self.take_out = QPushButton(tr("Ta&ke my account out…"))
        self.link = ShownLink()
        self.link.code.setFixedSize(QR_POINTS, QR_POINTS)
        self.link.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(label(tr("My computers"), bold=True))
        column.addLayout(self._rows)
        column.addWidget(self._said)
        column.addWidget(self.link)
        buttons = QGridLayout()  # three beside each other are wider than the smallest window
        buttons.setColumnStretch(2, 1)
        for place, button in enumerate((self.add, self.sign_out, self.take_out)):
            button.setEnabled(False)
            buttons.addWidget(button, place // 2, place % 2)
        column.addLayout(buttons)
        self.add.clicked.connect(lambda: self._ask(AccountAct.ADD))
        self.sign_out.clicked.connect(lambda: self._confirm(AccountAct.SIGN_OUT))
        self.take_out.clicked.connect(lambda: self._confirm(AccountAct.TAKE_OUT))

    @property
    def said(self) -> str:
        """What came of the last wish, or what is in the way."""
        return self._said.text()

    def refresh(self) -> None:
        """Ask for the computers."""
        self._ask(AccountAct.LIST)

    def _ask(self, act: AccountAct, *, who: str = "") -> None:
        if act is not AccountAct.LIST:
            self._say(text.tr("Asking the organiser's computer…"))
        self._command.ask(act, lambda outcome: self._take(act, outcome), who=who)

    def _take(self, act: AccountAct, outcome: AccountView | ProblemView) -> None:
        is_view = isinstance(outcome, AccountView)
        for button in (self.add, self.sign_out, self.take_out):
            button.setEnabled(is_view and act not in WAYS_OUT)
        if not isinstance(outcome, AccountView):
            self._say(text.problem(outcome))
            return
        self.link.setVisible(bool(outcome.link))
        words = text.tr(WAYS_OUT[act][1]) if act in WAYS_OUT else ""
        if outcome.link:
            self.link.show_link(outcome.link)
            until = page_text.moment(outcome.until)
            words = text.tr(
                "Open this link in Potluck on your other computer, until {moment}. Send it to nobody: the computer "
                "that opens it becomes yours, under your name.",
                until,
            )
        elif not outcome.told and act is AccountAct.END:
            words = text.tr("It gets no pass any more; the one that it has holds for up to 4 days.")
        self._say(words)
        if act in WAYS_OUT:
            self.gone.emit()
        else:
            self._show(outcome)

    def _show(self, view: AccountView) -> None:
        while (item := self._rows.takeAt(0)) is not None:
            if (shown := item.widget()) is not None:
                shown.deleteLater()
        self.ends.clear()
        tr = text.tr
        for row, one in enumerate(view.devices):
            name = text.plain(one.name) or tr("a computer")
            called, since = label(name), label(tr("since {moment}", page_text.moment(one.at)), tone="muted")
            self._rows.addWidget(called, row, 0)
            self._rows.addWidget(since, row, 1)
            if one.is_me or one.ended:
                state = tr("this computer") if one.is_me else tr("ended")
                self._rows.addWidget(label(state, tone="muted"), row, 2)
                continue
            end = self.ends[one.key] = QPushButton(tr("End…"))
            end.setAccessibleName(tr("End {computer}", name))
            end.clicked.connect(lambda _=False, key=one.key, name=name: self._end(key, name))
            self._rows.addWidget(end, row, 2, alignment=Qt.AlignmentFlag.AlignRight)

    def _end(self, key: str, name: str) -> None:
        tr = text.tr
        means = tr("It gets no pass any more. It comes in again when you sign in there, or by a new link of yours.")
        self.question = Question(
            tr("End {computer}?", name),
            self,
            means=means,
            yes=tr("&End it"),
            then=lambda: self._ask(AccountAct.END, who=key),
        )

    def _confirm(self, act: AccountAct) -> None:
        tr, out = text.tr, act is AccountAct.SIGN_OUT
        self.question = Question(
            tr("Sign out of this computer?") if out else tr("Take your account out?"),
            self,
            means=tr(WAYS_OUT[act][0]),
            yes=tr("Sign &out") if out else tr("Ta&ke it out"),
            then=lambda: self._ask(act),
        )

    def _say(self, words: str) -> None:
        self._said.setText(words)
        self._said.setVisible(bool(words))
        if words:
            announce(self, words)
