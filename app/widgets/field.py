"""A control with its name before it, a note behind it, and below it what is wrong with it."""

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QGridLayout, QWidget

from app.widgets.labels import label, sentence
from app.words import text
from core.api.snapshot import ProblemView


def announce(widget: QWidget, words: str) -> None:
    """Have a screen reader say something that has just appeared."""
    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, words))


class Field:
    """Two rows of a grid of three columns: a control with its name, and a note or problem.

    Args:
        grid: Gets them at its end.
        control: The control.
        name: Its name, with a mnemonic; empty for a control that carries its own.
        note: Its meaning, in a few words.
    """

    def __init__(self, grid: QGridLayout, control: QWidget, *, name: str = "", note: str = "") -> None:
        self.control = control
        self._note = sentence(factor=0.95, tone="muted")
        self._title: QWidget | None = None
        self._problem = sentence(tone="problem")
        row = grid.rowCount()
        if isinstance(control, QAbstractSpinBox):
            control.setMinimumHeight(round(control.fontMetrics().height() * 1.7))
        if name:
            title = self._title = label(name)
            title.setBuddy(control)
            control.setAccessibleName(text.unmarked(name))
            grid.addWidget(title, row, 0)
            grid.addWidget(control, row, 1)
            grid.addWidget(self._note, row, 2)
        else:
            grid.addWidget(control, row, 0, 1, 3)
            grid.addWidget(self._note, row + 1, 0, 1, 3)
            indent = control.iconSize().width() + 6 if isinstance(control, QAbstractButton) else 0
            self._note.setContentsMargins(indent, 0, 0, 0)
            row += 1
        grid.addWidget(self._problem, row + 1, 0, 1, 3)
        self._problem.hide()
        self.say(note)

    @property
    def problem(self) -> str:
        """The problem that is shown below the control."""
        return self._problem.text()

    def say(self, note: str) -> None:
        """Show another note below the control."""
        self._note.setText(note)
        self._note.setVisible(bool(note))
        self.control.setAccessibleDescription(note)

    def enable(self, *, on: bool) -> None:
        """Grey the control and its words out, or not."""
        for part in filter(None, (self._title, self.control, self._note)):
            part.setEnabled(on)

    def show_problem(self, problem: ProblemView | None) -> None:
        """Say what is wrong with what was chosen; None: nothing."""
        words = text.problem(problem) if problem is not None else ""
        if words == self._problem.text():
            return
        self._problem.setText(words)
        self._problem.setVisible(bool(words))
        self.control.setAccessibleDescription(words or self._note.text())
        if words:
            announce(self.control, words)
