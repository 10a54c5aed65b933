"""Try the model: a text with blanks, what the model puts there, and how sure it is; also that of an earlier step."""

import re
from collections.abc import Iterator
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPushButton, QSlider, QVBoxLayout, QWidget

from app.commands.trying import TEXT_LETTERS_MAX, ModelAnswer, ModelTalk
from app.looks.theme import Theme
from app.widgets.bars import Bars
from app.widgets.chips import Chip, Chips
from app.widgets.field import announce
from app.widgets.labels import label, sentence
from app.words import text
from core.api.sentence import later

BLANKS: Final = 3
"""Number of blanks whose words are shown with bars."""
EXAMPLE: Final = later("This function returns the ___ of a file.")
BLANK: Final = re.compile(r"_{2,}|\[MASK\]")
"""As in `core.base.tasks`, which a window does not load."""
COPIED_MS: Final = 3000


class TryBox(QWidget):
    """A line to write in, a button, and the answer below; of which step, says a slider over those that are kept.

    Args:
        talk: Answers.
        theme: The colours.
    """

    answered = Signal()

    def __init__(self, talk: ModelTalk, theme: Theme) -> None:
        super().__init__()
        tr = text.tr
        self._talk = talk
        self._asked = ""
        self._steps: tuple[int, ...] = ()
        self.line = QLineEdit(tr(EXAMPLE))
        self.line.setMaxLength(TEXT_LETTERS_MAX)
        self.line.setAccessibleName(tr("Text for the model"))
        self.line.setPlaceholderText(tr("Write a sentence, with ___ for a word that is missing"))
        self.button = QPushButton(tr("&Ask the model"))
        self.heading = label(bold=True)
        self.said = sentence(factor=1.1)
        self.said.setAccessibleName(tr("What the model says"))
        self.chips = Chips(theme)
        self.copy = QPushButton(tr("Cop&y"))
        self.copy.setAccessibleName(tr("Copy the model's answer"))
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setTracking(False)
        self.slider.setPageStep(1)
        self.slider.setAccessibleName(tr("Step of the model that is asked"))
        self._at = label(tone="muted")
        self._titles = [label(bold=True) for _ in range(BLANKS)]
        self.bars = [Bars(theme, tr("Words for blank {number}", n + 1)) for n in range(BLANKS)]
        title = label(tr("Try it"), bold=True)
        title.setBuddy(self.line)
        self._build(title)
        self._forget()
        self._show_steps(())
        self.line.installEventFilter(self)
        self.line.textEdited.connect(self._load)
        self.line.returnPressed.connect(self.ask)
        self.button.clicked.connect(self.ask)
        self.copy.clicked.connect(self._copy)
        self.slider.valueChanged.connect(self._choose)

    @property
    def words(self) -> str:
        """The model's answer as it is shown, or why there is none."""
        return self.chips.words if not self.chips.isHidden() else self.said.text()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Have the model loaded when the line is clicked, as when somebody writes there; Tab alone passes by."""
        if watched is self.line and event.type() is QEvent.Type.MouseButtonPress:
            self._load()
        return super().eventFilter(watched, event)

    def _load(self) -> None:
        if not self._talk.runs:
            self._talk.ask("", lambda answer: self._show_steps(answer.steps))

    def ask(self) -> None:
        """Ask the newest model about what stands in the line."""
        if not self.line.text().strip():
            self._say(text.tr("Write a sentence first, with ___ for a word that is missing."))
            return
        self._asked = self.line.text()
        self._ask(None)

    def _ask(self, step: int | None) -> None:
        if self.button.hasFocus():
            self.line.setFocus()  # a button that is greyed out would hand it to the next one, which saves the model
        self.button.setEnabled(False)
        self._say(
            text.tr("The model on this computer is asked…")
            if self._talk.runs
            else text.tr("The newest model on this computer is loaded: this takes some seconds…")
        )
        self._talk.ask(self._asked, self._answered, step=step)

    def _answered(self, answer: ModelAnswer) -> None:
        self.button.setEnabled(True)
        self._show_steps(answer.steps, at=answer.epoch)
        problem = answer.problem
        if problem is not None:
            self._say(text.problem(problem))
            return
        self._forget()
        self.heading.setText(text.tr("Step {step}", text.count(answer.epoch)))
        self.heading.show()
        self.chips.show_parts(_parts(self._asked, answer))
        for part in (self.chips, self.copy):
            part.show()
        self._show_bars([[(text.plain(one.text), one.probability) for one in blank] for blank in answer.blanks])
        announce(self.chips, self.words)
        self.answered.emit()

    def _choose(self, place: int) -> None:
        """The person has moved the slider."""
        if place < len(self._steps) and self.button.isEnabled():
            self._asked = self._asked or self.line.text()
            self._ask(self._steps[place] if place < len(self._steps) - 1 else None)

    def _show_steps(self, steps: tuple[int, ...], *, at: int | None = None) -> None:
        """Give the slider a stop for each step that is kept; one alone leaves nothing to choose."""
        known = steps or self._steps
        self._steps = tuple(sorted({*known, at})) if at and known else known  # a step may have gone since it answered
        several = len(self._steps) > 1
        at = at if at in self._steps else (self._steps or (0,))[-1]
        blocked = self.slider.blockSignals(True)
        self.slider.setRange(0, max(0, len(self._steps) - 1))
        self.slider.setValue(self._steps.index(at) if at in self._steps else 0)
        self.slider.blockSignals(blocked)
        kept = ", ".join(text.count(step) for step in self._steps)
        self._at.setText(text.tr("after step {step}", text.count(at)))
        self.slider.setToolTip(text.tr("The model is kept after these steps: {steps}", kept))
        self.slider.setAccessibleDescription(f"{self._at.text()}. {self.slider.toolTip()}")
        for part in (self.slider, self._at):
            part.setVisible(several)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(f"{self.heading.text()}: {self.words}")
        self.copy.setText(text.tr("Copied"))
        announce(self.copy, self.copy.text())
        QTimer.singleShot(COPIED_MS, self.copy, lambda: self.copy.setText(text.tr("Cop&y")))

    def _say(self, words: str) -> None:
        self._forget()
        self.said.setText(words)
        self.said.show()
        announce(self, words)

    def _forget(self) -> None:
        for part in (self.said, self.heading, self.chips, self.copy):
            part.hide()
        self._show_bars([])

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
        steps = QHBoxLayout()
        steps.addWidget(self.slider, stretch=1)
        steps.addWidget(self._at)
        above = QHBoxLayout()
        above.addWidget(self.heading, stretch=1)
        above.addWidget(self.copy)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(title)
        column.addLayout(row)
        column.addLayout(steps)
        column.addLayout(above)
        column.addWidget(self.said)
        column.addWidget(self.chips)
        for name, bars in zip(self._titles, self.bars, strict=True):
            column.addWidget(name)
            column.addWidget(bars)


def _parts(asked: str, answer: ModelAnswer) -> Iterator[str | Chip]:
    """The asked text with the model's words in its blanks, or with what the model wrote behind it."""
    if answer.event == "continued":
        yield f"{asked}{answer.text}"
        return
    plain = BLANK.split(asked)
    if len(plain) != len(answer.blanks) + 1 or not all(answer.blanks):
        yield answer.text
        return
    for before, guesses in zip(plain, answer.blanks, strict=False):
        yield before
        yield Chip(guesses[0].text, guesses[0].text)
    yield plain[-1]
