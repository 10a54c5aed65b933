"""Try the model: a text with blanks, what the newest model puts there, and how sure it is."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.commands.line_command import LineCommand
from app.commands.trying import TEXT_LETTERS_MAX, ModelAnswer, ask_model
from app.looks.theme import Theme
from app.widgets.bars import Bars
from app.widgets.labels import label, sentence
from app.words import text
from core.api.sentence import later

BLANKS = 3
"""Number of blanks whose words are shown with bars."""
EXAMPLE = later("This function returns the ___ of a file.")


class TryBox(QWidget):
    """A line to write in, a button, and the answer below.

    Args:
        command: Runs `potluck try`.
        theme: The colours.
    """

    answered = Signal()

    def __init__(self, command: LineCommand, theme: Theme) -> None:
        super().__init__()
        tr = text.tr
        self._command = command
        self.line = QLineEdit(tr(EXAMPLE))
        self.line.setMaxLength(TEXT_LETTERS_MAX)
        self.line.setAccessibleName(tr("Text for the model"))
        self.line.setPlaceholderText(tr("Write a sentence, with ___ for a word that is missing"))
        self.button = QPushButton(tr("&Ask the model"))
        self.said = sentence(factor=1.1)
        self.said.setAccessibleName(tr("What the model says"))
        self._titles = [label(bold=True) for _ in range(BLANKS)]
        self.said.hide()
        self.bars = [Bars(theme, tr("Words for blank {number}", n + 1)) for n in range(BLANKS)]
        title = label(tr("Try it"), bold=True)
        title.setBuddy(self.line)
        self._build(title)
        self.line.returnPressed.connect(self.ask)
        self.button.clicked.connect(self.ask)
        self._show_bars([])

    def ask(self) -> None:
        """Ask the model about what stands in the line."""
        if not self.line.text().strip():
            self._say(text.tr("Write a sentence first, with ___ for a word that is missing."))
            return
        self.button.setEnabled(False)
        self._say(text.tr("The newest model on this computer is asked: this takes some seconds…"))
        self._show_bars([])
        ask_model(self._command, self.line.text(), self._answered)

    def _answered(self, answer: ModelAnswer) -> None:
        self.button.setEnabled(True)
        problem = answer.problem
        if problem is not None:
            self._say(text.problem(problem))
            return
        begun = self.line.text() if answer.event == "continued" else ""
        said = text.one_line(begun + answer.text)
        self._say(text.tr("Epoch {epoch}: {answer}", text.count(answer.epoch), said) if answer.epoch else said)
        self._show_bars([[(text.plain(one.text), one.probability) for one in blank] for blank in answer.blanks])
        self.answered.emit()

    def _say(self, words: str) -> None:
        self.said.setText(words)
        self.said.show()

    def _show_bars(self, blanks: list[list[tuple[str, float]]]) -> None:
        shown = blanks[:BLANKS]
        for place, bars in enumerate(self.bars):
            rows = shown[place] if place < len(shown) else []
            bars.show_rows(rows)
            bars.setVisible(bool(rows))
            self._titles[place].setText(text.tr("Blank {number}", place + 1))
            self._titles[place].setVisible(bool(rows) and len(shown) > 1)

    def _build(self, title: QLabel) -> None:
        row = QHBoxLayout()
        row.addWidget(self.line, stretch=1)
        row.addWidget(self.button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(title)
        column.addLayout(row)
        column.addWidget(self.said)
        for name, bars in zip(self._titles, self.bars, strict=True):
            column.addWidget(name)
            column.addWidget(bars)
