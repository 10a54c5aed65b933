"""The page that asks for a link, and says what is wrong with one."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.views.first_run.kept import KeptBox
from app.widgets.field import announce
from app.widgets.icons import Picture
from app.widgets.labels import card, label, sentence
from app.words import link_look, text
from core.api.joined import LINK_LETTERS_MAX
from core.api.snapshot import ProblemView


class LinkPage(QWidget):
    """A field for the link; below it the problem with it, or another way to begin.

    Args:
        kept: What was joined before.
    """

    again_asked = Signal()
    """The same link is to be looked at again."""
    alone_asked = Signal()

    def __init__(self, kept: KeptBox) -> None:
        super().__init__()
        tr = text.tr
        self.link = QLineEdit(maxLength=LINK_LETTERS_MAX, placeholderText="potluck://…")
        self.link.setAccessibleName(tr("Link"))
        self.kept = kept
        self._problem, problem = card()
        self._said = sentence(tone="problem")
        self.again = QPushButton(tr("&Try again"))
        self.other = QPushButton(tr("&Another link"))
        problem.addWidget(self._said)
        buttons = QHBoxLayout()
        buttons.addWidget(self.again)
        buttons.addWidget(self.other)
        buttons.addStretch(1)
        problem.addLayout(buttons)
        self._alone, alone = card()
        self.alone = QPushButton(tr("Try it alone &first"))
        self.alone.setAutoDefault(False)
        words = sentence(tone="muted")
        words.setText(
            tr(
                "Three volunteers on this computer train a small model together, at low priority. "
                "Nothing leaves this computer; you can join others at any time."
            )
        )
        alone.addWidget(label(tr("No link?"), bold=True))
        alone.addWidget(words)
        row = QHBoxLayout()
        row.addWidget(self.alone)
        row.addStretch(1)
        alone.addLayout(row)
        self._pot = Picture("potluck", 7)
        self._welcome = sentence(factor=1.1)
        self._welcome.setText(tr("People bring a little of their computers' time, and train one model together."))
        self._welcome.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        intro = sentence()
        intro.setText(tr("Paste the link that the organiser gave you, or click it where it was sent to you."))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        column.addWidget(self._pot, alignment=Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self._welcome)
        for part in (intro, self.link, self._problem, self._alone, self.kept):
            column.addWidget(part)
        column.addStretch(1)
        self.again.clicked.connect(self.again_asked)
        self.other.clicked.connect(self._ask_another)
        self.alone.clicked.connect(self.alone_asked)
        self.link.textChanged.connect(lambda: self.show_problem(None))
        self.show_problem(None)

    @property
    def problem(self) -> str:
        """The sentence about the link; empty: none."""
        return "" if self._problem.isHidden() else self._said.text()

    def offer_alone(self, *, offered: bool) -> None:
        """Whether training alone is offered, too: to who sees Potluck for the first time."""
        for part in (self._alone, self._pot, self._welcome):
            part.setVisible(offered)

    def show_problem(self, problem: ProblemView | None) -> None:
        """Say what is wrong with the link, and offer what may help; None: nothing is."""
        self._problem.setVisible(problem is not None)
        if problem is None:
            return
        words = text.problem(problem)
        self._said.setText(words)
        self.again.setVisible(link_look.may_retry(problem.code))
        announce(self, words)
        (self.again if link_look.may_retry(problem.code) else self.other).setFocus()

    def _ask_another(self) -> None:
        self.link.clear()
        self.link.setFocus()
