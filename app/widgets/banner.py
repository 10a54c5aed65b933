"""A problem in words, above everything else."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from app.widgets.icons import Picture
from app.widgets.labels import label, sentence
from app.words import text
from core.api.snapshot import ProblemView


class Banner(QFrame):
    """Shows one problem, or nothing: then it takes no room."""

    closed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("banner")
        self._problem: ProblemView | None = None
        self._message = sentence()
        self._message.setFont(label(bold=True).font())
        self._hint = sentence()
        self._close = QPushButton(text.tr("&Dismiss"))
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._message)
        words.addWidget(self._hint)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 8, 12, 8)
        row.setSpacing(12)
        row.addWidget(Picture("problem", 1.6, role=QPalette.ColorRole.WindowText), alignment=Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, stretch=1)
        row.addWidget(self._close)
        self._close.clicked.connect(self.closed)
        self.hide()

    @property
    def problem(self) -> ProblemView | None:
        """The problem that is shown; None: the banner is hidden."""
        return self._problem

    def show_problem(self, problem: ProblemView | None, *, can_close: bool = False) -> None:
        """Show a problem, or hide.

        Args:
            problem: The problem to show; None: hide.
            can_close: Whether the person may dismiss it.
        """
        news = problem is not None and problem != self._problem
        self._problem = problem
        self.setVisible(problem is not None)
        if problem is None:
            return
        self._message.setText(text.told(problem.message, problem.said))
        self._hint.setText(text.told(problem.hint, problem.said))
        self._hint.setVisible(bool(problem.hint))
        self._close.setVisible(can_close)
        self.setAccessibleName(text.tr("Problem: {message}", self._message.text()))
        self.setAccessibleDescription(self._hint.text())
        if news:
            QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))
