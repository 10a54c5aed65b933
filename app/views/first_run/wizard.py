"""From a link to a collaboration: the link, who runs it and what it takes, and at the first time the habits."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.commands.joining import Answer, Habits, JoinCommand
from app.views.first_run.directory import DirectoryPage
from app.views.first_run.facts import LookPage
from app.views.first_run.habits import HabitsPage
from app.views.first_run.link import LinkPage
from app.views.first_run.sign_in import SignInPage
from app.views.pages_dialog import PagesDialog
from app.words import text
from app.words.link_look import SCHEME

ALONE = Habits({})


class JoinDialog(PagesDialog):
    """Nothing is joined, and nothing computes, before the person has seen what, and said yes.

    Args:
        command: Asks about links, keeps the choices, and joins.
        parent: The window.
    """

    joined = Signal(object)
    """The Answer of the command."""
    alone = Signal()
    """The person wants to train alone first."""
    found_asked = Signal()
    update_asked = Signal()
    """The person wants a collaboration of their own; `take_founded` follows, or nothing."""

    def __init__(self, command: JoinCommand, parent: QWidget) -> None:
        tr = text.tr
        links, around, look, habits = LinkPage(), DirectoryPage(command), LookPage(), HabitsPage()
        sign_in = SignInPage()
        titles: dict[QWidget, str] = {
            links: tr("Train a model together"),
            around: tr("Look around"),
            look: tr("Do you want to take part?"),
            habits: tr("You and this computer"),
            sign_in: tr("Sign in"),
        }
        super().__init__(titles, parent)
        self.links, self.around, self.look, self.habits = links, around, look, habits
        self.sign_in = sign_in
        self._command = command
        self._first = False
        self._founded: Answer | None = None
        """A collaboration was founded from these pages, and is the current one."""
        self._shown = ""
        """The link whose collaboration is shown; empty: none is."""
        self.link = self.links.link
        self.link.textChanged.connect(self._changed)
        self.links.again_asked.connect(self._look)
        self.links.alone_asked.connect(lambda: self._start(alone=True))
        self.links.around_asked.connect(lambda: self._open_page(self.around))
        self.links.found_asked.connect(self.found_asked)
        self.links.update_asked.connect(self.update_asked)
        self.around.chosen.connect(self.ask)
        self.sign_in.came.connect(lambda: self._open_page(self.sign_in))
        self.sign_in.waits.connect(self.say)
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
        self.links.wait(on=False)
        self.link.setFocus()
        self.show() if self._first else self.open()
        self.raise_()
        self.activateWindow()
        if link:
            self._look()

    def take_founded(self, answer: Answer) -> None:
        """The person has founded a collaboration; at the first time they say how this computer takes part."""
        if not self._first:
            self.accept()
            self.joined.emit(answer)
            return
        self._founded = answer
        self._open_page(self.habits)
        self.habits.name.setFocus()

    def _changed(self) -> None:
        """Another link: nothing is known of it yet."""
        self._command.stop()
        self._shown = ""
        self.look.show_look(None)
        self.say("")
        self._open_page(self.links)

    def _open_page(self, page: QWidget) -> None:
        tr = text.tr
        self.turn_to(page)
        last = page is self.habits or (page is self.look and not self._first)
        self.back.setVisible(page is not self.links and self._founded is None)
        self.yes.setVisible(page not in {self.around, self.sign_in})
        self.bar.setVisible(page is self.sign_in)
        self.bar.setRange(0, 0)
        self.yes.setText(
            tr("&Look at it") if page is self.links else tr("&Next") if not last else
            tr("&Start") if self._first else tr("&Join")
        )  # fmt: skip
        self.yes.setEnabled(page is not self.links or bool(self.link.text().strip()))

    def _go_on(self) -> None:
        if self.pages.currentWidget() is self.links:
            self._look()
        elif self.pages.currentWidget() is self.look and self._first:
            self.say("")
            self._open_page(self.habits)
            self.habits.name.setFocus()
        else:
            self._start()

    def _go_back(self) -> None:
        self._command.stop()
        self.say("")
        self._open_page(self.look if self.pages.currentWidget() in {self.habits, self.sign_in} else self.links)
        self.yes.setFocus()

    def _look(self) -> None:
        link = self.link.text().strip()
        self.link.setFocus()  # a button that goes would hand it to the next one, which starts something else
        self.links.show_problem(None)
        self.yes.setEnabled(False)
        self.say(text.tr("Asking the organiser's computer…"))
        self._command.look(link, lambda answer: self._take_look(link, answer))

    def _take_look(self, link: str, answer: Answer) -> None:
        self.say("")
        if answer.problem is not None or answer.look is None:
            self._open_page(self.links)
            self.links.show_problem(answer.problem)
            return
        self._shown = link
        self.look.show_look(answer.look)
        self._open_page(self.look)
        self.say(text.tr("Compare the fingerprint with the one that the organiser shows you."))
        self.yes.setFocus()

    def _start(self, *, alone: bool = False) -> None:
        link = "" if alone else self._shown
        chosen = self.habits.habits() if self._first and (link or self._founded) else ALONE
        if chosen is None:
            return
        self.yes.setEnabled(False)
        self.links.wait(on=True)
        self.say(text.tr("Joining…") if link else text.tr("Getting everything ready…"))
        if self._first:
            self._command.begin(link, chosen, lambda answer: self._take_begun(link, answer), self.sign_in.hear)
        else:
            self._command.join(link, lambda answer: self._take_begun(link, answer), self.sign_in.hear)

    def _take_begun(self, link: str, answer: Answer) -> None:
        self.say("")
        self.yes.setEnabled(True)
        self.links.wait(on=False)
        if answer.problem is None:
            self._first = False
            self.accept()
            if link or self._founded:
                self.joined.emit(self._founded or answer)
            else:
                self.alone.emit()
        elif answer.code.startswith("setting."):
            self.habits.show_problem(answer.problem)
        else:
            self._open_page(self.links)
            self.links.show_problem(answer.problem)
