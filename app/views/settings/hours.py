"""The page of the settings about the hours."""

from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.looks.theme import Theme
from app.models.week import WeekTable
from app.widgets.field import Field
from app.widgets.labels import sentence
from app.widgets.week_grid import WeekGrid
from app.words import text
from core.api.settings import SettingsView, Wish
from core.api.snapshot import ProblemView
from core.api.week import ALWAYS, EXAMPLE, TEXT_MAX, BadWeek, Week, read_week, week_text

NIGHTS = "20:00-07:00"


class HoursPage(QWidget):
    """When Potluck may work: a picture of the week, and the same in words; each follows the other."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._shown = week_text(ALWAYS)
        self.table = WeekTable(self)
        self.grid = WeekGrid(self.table, theme)
        self.words = QLineEdit()
        self.words.setMaxLength(TEXT_MAX)
        self.always = QPushButton(text.tr("&Always"))
        self.each_night = QPushButton(text.tr("Ever&y night"))
        self.nights = QPushButton(text.tr("&Nights and weekends"))
        self._build()
        self.table.painted.connect(self._follow_picture)
        self.words.textEdited.connect(self._follow_words)
        self.words.editingFinished.connect(self._judge_words)
        self.always.clicked.connect(lambda: self._choose(ALWAYS))
        self.each_night.clicked.connect(lambda: self._choose(read_week(NIGHTS)))
        self.nights.clicked.connect(lambda: self._choose(read_week(EXAMPLE)))
        self.setFocusProxy(self.grid)

    def show_settings(self, view: SettingsView) -> None:
        """Show the hours of the engine's settings."""
        self._shown = view.hours
        self.words.setText(view.hours)
        self.words.setCursorPosition(0)
        self._follow_words()

    def wish(self) -> Wish:
        """The hours that the page shows; unchanged text if it means the same."""
        words = self.words.text()
        try:
            same = read_week(words) == read_week(self._shown)
        except BadWeek:
            same = False
        return {"hours": self._shown if same else words}

    def _follow_picture(self) -> None:
        self.words.setText(week_text(self.table.week))
        self.words.setCursorPosition(0)
        self.field.show_problem(None)

    def _follow_words(self) -> None:
        week = _read(self.words.text())
        if week is not None:
            self.table.show_week(week)
            self.field.show_problem(None)

    def _judge_words(self) -> None:
        """When the person has done typing."""
        try:
            read_week(self.words.text())
        except BadWeek as bad:
            self.field.show_problem(ProblemView("setting.hours", bad.message, bad.hint, bad.said))

    def _choose(self, week: Week) -> None:
        self.table.show_week(week)
        self._follow_picture()

    def _build(self) -> None:
        tr = text.tr
        above = sentence()
        above.setText(
            tr(
                "Potluck works in the hours that are filled, and rests in the others. "
                "Draw over them to change, or use the arrow keys and Space."
            )
        )
        below = QGridLayout()
        below.setHorizontalSpacing(12)
        self.field = Field(below, self.words, name=tr("As wor&ds"))
        self.fields = {"hours": self.field}
        below.setColumnStretch(1, 1)
        ready = QHBoxLayout()
        for button in (self.always, self.each_night, self.nights):
            button.setAutoDefault(False)
            ready.addWidget(button)
        ready.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 12, 14, 8)
        column.setSpacing(8)
        column.addWidget(above)
        column.addLayout(ready)
        column.addWidget(above)
        column.addWidget(self.grid, stretch=1)
        column.addLayout(below)


def _read(words: str) -> Week | None:
    try:
        return read_week(words)
    except BadWeek:
        return None
