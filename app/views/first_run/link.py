"""The first page: a link, a list to look around in, or a collaboration of one's own."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.widgets.field import announce
from app.widgets.icons import Picture
from app.widgets.labels import card, label, sentence
from app.widgets.scrolled_page import ScrolledPage
from app.words import link_look, text
from core.api.joined import LINK_LETTERS_MAX
from core.api.snapshot import ProblemView


class LinkPage(ScrolledPage):
    """Three cards; below the link the problem with it, and at the first time a way to train alone."""

    again_asked = Signal()
    """The same link is to be looked at again."""
    update_asked = Signal()
    """The collaboration needs a newer Potluck, and the person wants it."""
    around_asked = Signal()
    found_asked = Signal()
    alone_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        tr = text.tr
        self.link = QLineEdit(maxLength=LINK_LETTERS_MAX, placeholderText="potluck://…")
        self.link.setAccessibleName(tr("Link"))
        self.paste = QPushButton(tr("&Paste"))
        self._problem = QWidget()
        self._said = sentence(tone="problem")
        self.again = QPushButton(tr("&Try again"))
        self.other = QPushButton(tr("&Another link"))
        self.newer = QPushButton(tr("&Update Potluck…"))
        self.around = QPushButton(tr("Look aroun&d…"))
        self.found = QPushButton(tr("&Start one…"))
        self.alone = QPushButton(tr("Try it alone &first"))
        self._pot = Picture("potluck", 4)
        self._welcome = sentence(factor=1.1)
        self._welcome.setText(tr("People bring a little of their computers' time, and train one model together."))
        self._build()
        self.paste.clicked.connect(self._paste)
        self.again.clicked.connect(self.again_asked)
        self.other.clicked.connect(self._ask_another)
        self.newer.clicked.connect(self.update_asked)
        self.around.clicked.connect(self.around_asked)
        self.found.clicked.connect(self.found_asked)
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

    def wait(self, *, on: bool) -> None:
        """Offer nothing else while what was chosen begins; the button that was pressed keeps the focus."""
        for part in (self.link, self.paste, self.around, self.found):
            part.setEnabled(not on)

    def show_problem(self, problem: ProblemView | None) -> None:
        """Say what is wrong with the link, and offer what may help; None: nothing is."""
        self._problem.setVisible(problem is not None)
        if problem is None:
            return
        words = text.problem(problem)
        self._said.setText(words)
        self.again.setVisible(link_look.may_retry(problem.code))
        self.newer.setVisible(problem.code in link_look.NEEDS_NEWER)
        announce(self, words)
        (self.again if link_look.may_retry(problem.code) else self.other).setFocus()

    def _paste(self) -> None:
        self.link.setText(text.one_line(QGuiApplication.clipboard().text())[:LINK_LETTERS_MAX])
        self.link.setFocus()

    def _ask_another(self) -> None:
        self.link.clear()
        self.link.setFocus()

    def _build(self) -> None:
        tr = text.tr
        column = self.column
        head = QHBoxLayout()
        head.addWidget(self._pot)
        head.addWidget(self._welcome, stretch=1)
        column.addLayout(head)
        frame, inner = card()
        inner.addWidget(label(tr("I have a link"), bold=True))
        words = sentence(tone="muted")
        words.setText(tr("Paste the link that the organiser gave you, or click it where it was sent to you."))
        inner.addWidget(words)
        row = QHBoxLayout()
        row.addWidget(self.link, stretch=1)
        row.addWidget(self.paste)
        inner.addLayout(row)
        problem = QVBoxLayout(self._problem)
        problem.setContentsMargins(0, 4, 0, 0)
        problem.addWidget(self._said)
        buttons = QHBoxLayout()
        for button in (self.again, self.newer, self.other):
            buttons.addWidget(button)
        buttons.addStretch(1)
        problem.addLayout(buttons)
        inner.addWidget(self._problem)
        column.addWidget(frame)
        for part in (
            _offer(tr("Look around"), tr("Open a list of collaborations that take in anybody."), self.around),
            _offer(
                tr("Start one with friends"),
                tr("Choose what is learned, and get a link for them: four pages, this computer is enough."),
                self.found,
            ),
        ):
            column.addWidget(part)
        self._alone = _offer(
            tr("No company yet?"),
            tr(
                "Three volunteers on this computer train a small model together, at low priority. "
                "Nothing leaves this computer; you can join others at any time."
            ),
            self.alone,
        )
        column.addWidget(self._alone)
        column.addStretch(1)
        for button in (self.paste, self.around, self.found, self.alone):
            button.setAutoDefault(False)


def _offer(title: str, words: str, button: QPushButton) -> QFrame:
    """A card with a title, what it means, and the button that leads there."""
    frame, column = card()
    row = QHBoxLayout()
    row.setSpacing(12)
    texts = QVBoxLayout()
    texts.addWidget(label(title, bold=True))
    said = sentence(tone="muted")
    said.setText(words)
    texts.addWidget(said)
    row.addLayout(texts, stretch=1)
    row.addWidget(button, alignment=Qt.AlignmentFlag.AlignVCenter)
    column.addLayout(row)
    button.setAccessibleDescription(words)
    return frame
