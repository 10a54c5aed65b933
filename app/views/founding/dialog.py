"""*Start one with friends*: from a recipe to a link, in four pages."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.commands.founding import FoundingAnswer, FoundingCommand, FoundingStep, FoundingWish
from app.commands.joining import Answer
from app.views.founding.what import WhatPage
from app.views.founding.where import WherePage
from app.views.founding.who import WhoPage
from app.views.pages_dialog import PagesDialog
from app.views.question import Question
from app.widgets.field import announce
from app.widgets.labels import sentence
from app.widgets.shown_link import ShownLink
from app.words import text

FULL = 1000


class ReadyPage(QWidget):
    """The link, once there is one."""

    def __init__(self) -> None:
        super().__init__()
        self.said, self.charter = sentence(factor=1.1), sentence(tone="muted")
        self.link = ShownLink()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        column.addWidget(self.said)
        column.addWidget(self.link, stretch=100)
        column.addWidget(self.charter)
        column.addStretch(1)

    def show_answer(self, answer: FoundingAnswer | None, *, forward: bool = False) -> None:
        """Show what was founded.

        Args:
            answer: What the command says; None: nothing yet.
            forward: Whether the router opens no port by itself.
        """
        self.link.setVisible(answer is not None)
        self.charter.setVisible(answer is not None)
        if answer is not None:
            self.link.show_link(answer.link)
            keep = text.tr(
                "Its keys lie in {folder}. Keep a copy of that folder: without them nobody can be let in any more.",
                text.one_line(answer.charter),
            )
            ports = text.tr(
                "The router has to lead these ports to this computer: {desk} (TCP), {peers} (TCP and UDP).",
                answer.ports.get("desk", 0),
                answer.ports.get("peers", 0),
            )
            self.charter.setText(f"{ports} {keep}" if forward else keep)


class FoundDialog(PagesDialog):
    """Nothing is founded before the third page was left with *Start it*.

    Args:
        command: Looks for addresses, and founds.
        parent: The window.
    """

    founded = Signal(object)
    """An Answer: the collaboration is the current one."""

    def __init__(self, command: FoundingCommand, parent: QWidget) -> None:
        tr = text.tr
        what, who, where, ready = WhatPage(), WhoPage(), WherePage(command), ReadyPage()
        titles: dict[QWidget, str] = {
            what: tr("Start one with friends: what to train"),
            who: tr("Start one with friends: who may join"),
            where: tr("Start one with friends: where it is reached"),
            ready: tr("Start one with friends: the link"),
        }
        super().__init__(titles, parent)
        self.what, self.who, self.where, self.ready = what, who, where, ready
        self._order = (what, who, where, ready)
        self._command = command
        self._done: FoundingAnswer | None = None
        self.yes.clicked.connect(self._go_on)
        self.back.clicked.connect(lambda: self._open(self._order[self.pages.currentIndex() - 1]))
        self.no.clicked.connect(self.reject)

    @property
    def said(self) -> str:
        """What is under way, or in the way."""
        return self._said.text()

    def ask(self) -> None:
        """Open with the first page; what was said before still stands there."""
        self._done = None
        self.setWindowTitle(text.title(text.tr("Start one with friends")))
        self._open(self.what)
        self.open()
        next(one for one in self.what.recipes.values() if one.isChecked()).setFocus()

    def reject(self) -> None:
        """Close, unless it is being founded, or was: the first is asked about, the second is as good as *Done*."""
        if self._done is not None:
            self._end()
        elif self._command.runs and self.pages.currentWidget() is self.ready:
            tr = text.tr
            self.box = Question(
                tr("Stop founding {name}?", text.plain(self.who.name.text())),
                self,
                means=tr("Nothing of it is kept then; your texts stay as they are."),
                yes=tr("&Stop it"),
                no=tr("&Go on"),
                then=self._stop,
            )
        else:
            self._command.stop()
            super().reject()

    def _go_on(self) -> None:
        page = self.pages.currentWidget()
        if self._done is not None:
            self._end()
        elif page is self.where:
            self._found()
        else:
            missing = self.what.missing() if page is self.what else self.who.missing()
            if missing is not None:
                self.say("")  # it is said again, too
                self.say(text.tr("Something is missing here: {name}", missing.accessibleName()))
                missing.setFocus()
                return
            self._open(self._order[self.pages.currentIndex() + 1])

    def _open(self, page: QWidget) -> None:
        tr = text.tr
        self.where.leave()
        self.turn_to(page)
        self.say("")
        self.bar.hide()
        done = self._done is not None
        self.back.setVisible(page is not self.what and not done)
        self.no.setVisible(not done)
        self.no.setText(tr("Cancel"))
        self.yes.setText(tr("&Done") if done else tr("&Start it") if page is self.where else tr("&Next"))
        self.yes.setVisible(page is not self.ready or done)
        if page is self.who:
            self.who.name.setFocus()
        elif page is self.where:
            self.where.also.setFocus()
            if not self.where.looked:
                self.where.look()

    def _found(self) -> None:
        self._open(self.ready)
        self.back.hide()
        self.ready.show_answer(None)
        self.ready.said.setText(text.tr("The text is read and cut, and what is learned is prepared."))
        self.bar.setMaximum(0)
        self.bar.show()
        self._command.found(self._wish(), self._take, heard=self._hear)

    def _wish(self) -> FoundingWish:
        what, who, own = self.what, self.who, self.what.own.isChecked()
        return FoundingWish(
            recipe=what.chosen,
            text=what.texts,
            licence=what.licence.text().strip() if own else "",
            credit=what.credit.text().strip() if own else "",
            name=who.name.text().strip(),
            summary=who.summary.text().strip(),
            organiser=who.organiser.text().strip(),
            uses=who.uses.value(),
            days=who.days.value(),
            hosts=self.where.hosts,
        )

    def _hear(self, step: FoundingStep) -> None:
        self.bar.setMaximum(FULL)
        self.bar.setValue(round(FULL * step.share))
        self.say(text.one_line(text.tr(step.text)))

    def _take(self, answer: FoundingAnswer) -> None:
        if answer.problem is not None:
            self._open(self.ready)
            self.ready.said.setText(text.problem(answer.problem))
            announce(self, self.ready.said.text())
            self.back.setFocus()
            return
        self._done = answer
        self._open(self.ready)
        self.ready.show_answer(answer, forward=self.where.closed)
        words = text.tr("{name} is founded. Send this link to those who may join.", text.plain(self.who.name.text()))
        self.ready.said.setText(f"{words} {self.where.said}" if self.where.looked else words)
        announce(self, words)
        self.ready.link.copy.setFocus()

    def _end(self) -> None:
        done, name = self._done, self.who.name.text().strip()
        self.accept()
        self.founded.emit(Answer("joined", name=name, running=done is not None and done.running))

    def _stop(self) -> None:
        if self._done is None:
            self._command.stop()
            super().reject()
