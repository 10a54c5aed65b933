"""The page that asks for a name, and when Potluck is to run."""

from PySide6.QtWidgets import QButtonGroup, QCheckBox, QFrame, QLineEdit, QRadioButton, QVBoxLayout, QWidget

from app.commands.joining import Habits
from app.widgets.field import announce
from app.widgets.labels import card, label, sentence
from app.words import text
from core.api.settings import NAME_LETTERS, Wish
from core.api.snapshot import ProblemView
from core.api.week import BadWeek, read_week

HOURS_FIRST = "mon-fri 20:00-07:00, sat sun"


class HabitsPage(QWidget):
    """Simple choices, each of which is one wish for the settings; the rules in *Settings* refine them."""

    def __init__(self) -> None:
        super().__init__()
        tr = text.tr
        self.name = QLineEdit(maxLength=NAME_LETTERS, placeholderText=tr("as the system calls this computer"))
        self.whenever = QRadioButton(tr("&Whenever this computer is on, at low priority"))
        self.unused = QRadioButton(tr("Only while &nobody uses it"))
        self.hours = QRadioButton(tr("Only in these &hours:"))
        self.week = QLineEdit(HOURS_FIRST, maxLength=200)
        self.week.setAccessibleName(tr("Hours"))
        self.paused = QRadioButton(tr("Not yet: start pa&used"))
        self.login = QCheckBox(tr("Start &Potluck, hidden, when I log in"))
        self._group = QButtonGroup(self)
        for button in (self.whenever, self.unused, self.hours, self.paused):
            self._group.addButton(button)
        self.whenever.setChecked(True)
        self._problem = sentence(tone="problem")
        self._problem.hide()
        self.week.setEnabled(False)
        self.hours.toggled.connect(self.week.setEnabled)
        self._build()

    @property
    def problem(self) -> str:
        """What is wrong with a choice; empty: nothing."""
        return "" if self._problem.isHidden() else self._problem.text()

    def habits(self) -> Habits | None:
        """What was chosen; None: the hours cannot be read, and the page says why."""
        wish: Wish = {"name": self.name.text().strip()} if self.name.text().strip() else {}
        if self.unused.isChecked():
            wish["in_use"] = False
        elif self.paused.isChecked():
            wish["computing"] = "never"
        elif self.hours.isChecked():
            try:
                read_week(self.week.text())
            except BadWeek as bad:
                self.show_problem(ProblemView("setting.hours", bad.message, bad.hint, bad.said))
                return None
            wish["hours"] = self.week.text()
        self.show_problem(None)
        return Habits(wish, at_login=self.login.isChecked())

    def show_problem(self, problem: ProblemView | None) -> None:
        """Say what is wrong with a choice; None: nothing."""
        self._problem.setVisible(problem is not None)
        if problem is None:
            return
        self._problem.setText(text.problem(problem))
        announce(self, self._problem.text())
        (self.week if problem.code == "setting.hours" else self.name).setFocus()

    def _build(self) -> None:
        tr = text.tr
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        title = label(tr("How the others see &you"), bold=True)
        title.setBuddy(self.name)
        self.name.setAccessibleName(tr("Your name"))
        note = sentence(tone="muted")
        note.setText(tr("All who take part see this name and what this computer gave; a made-up name is fine."))
        column.addWidget(self._card(title, self.name, note))
        choices = (self.whenever, self.unused, self.hours, self.week, self.paused)
        column.addWidget(self._card(label(tr("When it computes"), bold=True), *choices))
        column.addWidget(self._card(self.login))
        column.addWidget(self._problem)
        column.addStretch(1)

    def _card(self, *parts: QWidget) -> QFrame:
        frame, column = card()
        for part in parts:
            column.addWidget(part)
        return frame
