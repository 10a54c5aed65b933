"""The page that is shown while there is no engine, or no collaboration yet."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app import text
from app.widgets.icons import Picture
from app.widgets.labels import label, sentence
from core.api.verdict import Verdict, VerdictCode

STARTABLE: Final = frozenset(("stopped", "again", "refused"))
"""Reasons for an engine's absence that starting one may end."""
STEPS: Final = {"beginning": 0, "connecting": 1, "preparing": 2, "backbone": 2, "trainer": 2, "joining": 2}
"""How far the start is, by the verdict's reason; a verdict of another one is no start."""


class StartPage(QWidget):
    """Shows the start of an engine, step by step, or why there is none."""

    start_asked = Signal()
    join_asked = Signal()
    stop_asked = Signal()
    """End an engine that does not answer."""

    def __init__(self) -> None:
        super().__init__()
        tr = text.tr
        self._steps = (tr("Start the engine"), tr("Connect to it"), tr("Prepare the model and the text"))
        self._pot = Picture("pot-starting", 7)
        self._title = label(tr("Warming up the pot"), factor=1.8, bold=True)
        self._sentence = sentence(factor=1.05)
        self._sentence.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._bar = QProgressBar(maximum=100 * len(self._steps), textVisible=False)
        self._bar.setFixedWidth(320)
        self._bar.setAccessibleName(tr("Getting started"))
        self._names = [label(tone="muted") for _ in self._steps]
        self.start = QPushButton()
        self.may_restart = True
        """Whether an engine of another version may be ended for one of this window's."""
        self.may_stop = True
        """Whether an engine that does not answer can be ended from here."""
        self.join = QPushButton(tr("&Join with a link…"))
        self.stop = QPushButton(tr("S&top it now"))
        self.start.clicked.connect(self.start_asked)
        self.stop.clicked.connect(self.stop_asked)
        self.join.clicked.connect(self.join_asked)
        self._build()

    @property
    def words(self) -> str:
        """The sentence, as it is shown."""
        return self._sentence.text()

    def show_verdict(self, verdict: Verdict) -> None:
        """Show how far the start is, or why nothing starts."""
        starts = verdict.code in {VerdictCode.STARTING, VerdictCode.NOT_CONNECTED} and verdict.reason in STEPS
        silent = verdict.code is VerdictCode.NO_ANSWER
        self._pot.show_icon(
            "pot-starting" if starts else "pot-problem" if silent or verdict.reason == "refused" else "pot-paused"
        )
        cold = text.headline(verdict) if silent else text.tr("The pot is cold")
        self._title.setText(text.tr("Warming up the pot") if starts else cold)
        self._sentence.setText(text.sentence(verdict))
        other = verdict.reason == "version" and self.may_restart
        startable = verdict.reason in STARTABLE or other
        self.start.setText(text.tr("Re&start Potluck") if other else text.tr("&Start Potluck"))
        appears = startable and self.start.isHidden()
        self.start.setVisible(startable)
        if appears:
            self.start.setFocus()
        if silent and self.may_stop and self.stop.isHidden():
            self.stop.setFocus()
        self.stop.setVisible(silent and self.may_stop)
        self.join.setVisible(not silent)
        self._bar.setVisible(starts)
        step = STEPS.get(verdict.reason, 0)
        percent = verdict.args.get("percent", 50)
        self._bar.setValue(100 * step + (percent if isinstance(percent, int) else 50))
        self._bar.setAccessibleDescription(self._sentence.text())
        for place, name in enumerate(self._names):
            sign = "✓" if place < step else "•" if place == step else " "
            name.setText(f"{sign}  {self._steps[place]}")
            name.setVisible(starts)

    def _build(self) -> None:
        centre = Qt.AlignmentFlag.AlignHCenter
        column = QVBoxLayout(self)
        column.setSpacing(12)
        column.addStretch(2)
        column.addWidget(self._pot, alignment=centre)
        column.addWidget(self._title, alignment=centre)
        column.addWidget(self._sentence)
        column.addWidget(self._bar, alignment=centre)
        steps = QVBoxLayout()
        steps.setSpacing(4)
        for name in self._names:
            steps.addWidget(name)
        column.addLayout(_centred(steps))
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.start)
        buttons.addWidget(self.stop)
        buttons.addWidget(self.join)
        column.addLayout(_centred(buttons))
        column.addStretch(3)


def _centred(inner: QVBoxLayout | QHBoxLayout) -> QHBoxLayout:
    row = QHBoxLayout()
    row.addStretch(1)
    row.addLayout(inner)
    row.addStretch(1)
    return row
