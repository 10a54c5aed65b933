"""From a link to a collaboration: the link, who runs it and what it takes, and at the first time the habits."""

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from app.commands.joining import Answer, Habits, JoinCommand
from app.views.first_run.facts import LookPage
from app.views.first_run.habits import HabitsPage
from app.views.first_run.kept import KeptBox
from app.views.first_run.link import LinkPage
from app.widgets.labels import label, sentence
from app.words import text
from app.words.link_look import SCHEME

SIZE_FIRST = QSize(680, 640)
SCREEN_SHARE = 0.95
ALONE = Habits({})


class JoinDialog(QDialog):
    """Nothing is joined, and nothing computes, before the person has seen what, and said yes.

    Args:
        command: Asks about links, keeps the choices, and joins.
        parent: The window.
    """

    joined = Signal(object)
    """The Answer of the command."""
    alone = Signal()
    """The person wants to train alone first."""

    def __init__(self, command: JoinCommand, parent: QWidget) -> None:
        super().__init__(parent)
        tr = text.tr
        self._command = command
        self._first = False
        self._shown = ""
        """The link whose collaboration is shown; empty: none is."""
        self.links, self.look, self.habits = LinkPage(KeptBox(command)), LookPage(), HabitsPage()
        self.link = self.links.link
        self._title = label(factor=1.4, bold=True)
        self.pages = QStackedWidget()
        self._said = sentence(tone="muted")
        self.back = QPushButton(tr("&Back"))
        self.yes = QPushButton()
        self.no = QPushButton()
        self._build()
        self.link.textChanged.connect(self._changed)
        self.links.again_asked.connect(self._look)
        self.links.alone_asked.connect(lambda: self._start(alone=True))
        self.links.kept.emptied.connect(self.reject)
        self.links.kept.went.connect(self.accept)
        self.links.kept.went.connect(self.joined)
        self.yes.clicked.connect(self._go_on)
        self.no.clicked.connect(self.reject)
        self.back.clicked.connect(self._go_back)
        self.finished.connect(command.stop)
        self._open_page(self.links)

    @property
    def facts(self) -> dict[str, str]:
        """What is shown of the collaboration, by name; empty: nothing yet."""
        return self.look.facts if self._shown else {}

    @property
    def said(self) -> str:
        """What is in the way, or under way."""
        return self.links.problem or self.habits.problem or self._said.text()

    def begin(self, link: str = "") -> None:
        """Open as the first thing that a person sees of Potluck here, with a link that was clicked, if one was."""
        self._first = True
        self.ask(link)

    def ask(self, link: str = "") -> None:
        """Open, with a link that was clicked, or one that the person has copied."""
        copied = QGuiApplication.clipboard().text().strip()
        self.link.setText(link or (copied if copied.startswith(SCHEME) else ""))
        self._changed()
        tr = text.tr
        self.setWindowTitle(tr("Welcome to Potluck") if self._first else text.title(tr("Join a collaboration")))
        self.no.setText(text.tr("&Quit") if self._first else text.tr("&Cancel"))
        self.links.offer_alone(offered=self._first)
        self.link.setFocus()
        self.show() if self._first else self.open()
        self.raise_()
        self.activateWindow()
        if link:
            self._look()
        elif not self._first:
            self.links.kept.refresh()

    def _changed(self) -> None:
        """Another link: nothing is known of it yet."""
        self._command.stop()
        self._shown = ""
        self.look.show_look(None)
        self._say("")
        self._open_page(self.links)

    def _open_page(self, page: QWidget) -> None:
        tr = text.tr
        self.pages.setCurrentWidget(page)
        titles = {
            self.links: tr("Train a model together"),
            self.look: tr("Do you want to take part?"),
            self.habits: tr("You and this computer"),
        }
        last = page is self.habits or (page is self.look and not self._first)
        self._title.setText(titles[page])
        self.back.setVisible(page is not self.links)
        self.yes.setText(
            tr("&Look at it") if page is self.links else tr("&Next") if not last else
            tr("&Start") if self._first else tr("&Join")
        )  # fmt: skip
        self.yes.setEnabled(page is not self.links or bool(self.link.text().strip()))
        self.yes.setDefault(True)

    def _go_on(self) -> None:
        if self.pages.currentWidget() is self.links:
            self._look()
        elif self.pages.currentWidget() is self.look and self._first:
            self._say("")
            self._open_page(self.habits)
            self.habits.name.setFocus()
        else:
            self._start()

    def _go_back(self) -> None:
        self._command.stop()
        self._say("")
        self._open_page(self.look if self.pages.currentWidget() is self.habits else self.links)
        self.yes.setFocus()

    def _look(self) -> None:
        link = self.link.text().strip()
        self.link.setFocus()  # a button that goes would hand it to the next one, which starts something else
        self.links.show_problem(None)
        self.yes.setEnabled(False)
        self._say(text.tr("Asking the organiser's computer…"))
        self._command.look(link, lambda answer: self._take_look(link, answer))

    def _take_look(self, link: str, answer: Answer) -> None:
        self._say("")
        if answer.problem is not None or answer.look is None:
            self._open_page(self.links)
            self.links.show_problem(answer.problem)
            return
        self._shown = link
        self.look.show_look(answer.look)
        self._open_page(self.look)
        self._say(text.tr("Compare the fingerprint with the one that the organiser shows you."))
        self.yes.setFocus()

    def _start(self, *, alone: bool = False) -> None:
        link = "" if alone else self._shown
        chosen = self.habits.habits() if self._first and link else ALONE
        if chosen is None:
            return
        self.yes.setEnabled(False)
        self._say(text.tr("Joining…") if link else text.tr("Getting everything ready…"))
        if self._first:
            self._command.begin(link, chosen, lambda answer: self._take_begun(link, answer))
        else:
            self._command.join(link, lambda answer: self._take_begun(link, answer))

    def _take_begun(self, link: str, answer: Answer) -> None:
        self._say("")
        self.yes.setEnabled(True)
        if answer.problem is None:
            self._first = False
            self.accept()
            if link:
                self.joined.emit(answer)
            else:
                self.alone.emit()
        elif answer.code.startswith("setting."):
            self.habits.show_problem(answer.problem)
        else:
            self._open_page(self.links)
            self.links.show_problem(answer.problem)

    def _say(self, words: str) -> None:
        self._said.setText(words)
        self._said.setVisible(bool(words))
        self.setAccessibleDescription(words)

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(self._title)
        for page in (self.links, self.look, self.habits):
            self.pages.addWidget(page)
        column.addWidget(self.pages, stretch=1)
        column.addWidget(self._said)
        buttons = QHBoxLayout()
        buttons.addWidget(self.no)
        buttons.addStretch(1)
        buttons.addWidget(self.back)
        buttons.addWidget(self.yes)
        column.addLayout(buttons)
        for button in (self.no, self.back):
            button.setAutoDefault(False)
        self.resize(SIZE_FIRST.boundedTo(self.screen().availableSize() * SCREEN_SHARE))
