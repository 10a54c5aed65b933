"""The page that is shown while there is no engine, or no collaboration yet: the verdict, and what a person can do."""

from typing import Final

from PySide6.QtCore import QDateTime, Qt, QTimer, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QGraphicsColorizeEffect, QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.widgets.icons import Picture
from app.widgets.labels import label, sentence
from app.words import text
from core.api.verdict import Verdict, VerdictCode, next_try

STARTABLE: Final = frozenset(("stopped", "again", "refused"))
"""Reasons for an engine's absence that starting one may end."""
STEPS: Final = {"beginning": 0, "connecting": 1, "preparing": 2, "trainer": 2, "joining": 2}
"""How far the start is, by the verdict's reason; a verdict with another reason is not about a start."""
BACKBONE: Final = "backbone"
"""The reason of a verdict: the computer that the link leads to does not answer, and is asked again and again."""
COUNT_MS: Final = 1000


class StartPage(QWidget):
    """Shows the start of an engine, step by step, or why there is none."""

    start_asked = Signal()
    join_asked = Signal()
    stop_asked = Signal()
    """End an engine that does not answer."""
    try_asked = Signal()
    """Ask the backbone now."""
    check_asked = Signal()
    """Look whether this computer is the cause."""
    alone_asked = Signal()
    """Train alone."""

    def __init__(self) -> None:
        super().__init__()
        tr = text.tr
        self._steps = (tr("Start the engine"), tr("Connect to it"), tr("Prepare the model and the text"))
        self._pot = Picture("pot-starting", 7)
        self._grey = QGraphicsColorizeEffect(self._pot, color=QColor(Qt.GlobalColor.gray))
        self._pot.setGraphicsEffect(self._grey)
        self._title = label(factor=1.8, bold=True)
        self._sentence = sentence(factor=1.05)
        self._sentence.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._next = label(tone="muted")
        self._bar = QProgressBar(textVisible=False)
        self._bar.setFixedWidth(320)
        self._bar.setAccessibleName(tr("Getting started"))
        self._names = [label(tone="muted") for _ in self._steps]
        self.may_restart = True
        """Whether an engine of another version may be ended for one of this window's."""
        self.may_stop = True
        """Whether an engine that does not answer can be ended from here."""
        self.start = QPushButton()
        self.stop = QPushButton(tr("S&top it now"))
        self.try_now = QPushButton(tr("&Try now"))
        self.check = QPushButton(tr("Check this &computer"))
        self.alone = QPushButton(tr("Try a&lone"))
        self.join = QPushButton()
        self._verdict: Verdict | None = None
        self._count = QTimer(self, interval=COUNT_MS)
        self._count.timeout.connect(self._show_next)
        for button, asked in (
            (self.start, self.start_asked),
            (self.stop, self.stop_asked),
            (self.try_now, self.try_asked),
            (self.check, self.check_asked),
            (self.alone, self.alone_asked),
            (self.join, self.join_asked),
        ):
            button.clicked.connect(asked)
            button.hide()  # a verdict shows its own: all side by side are wider than a small window
        self._build()

    @property
    def words(self) -> str:
        """The sentence, as it is shown."""
        return self._sentence.text()

    @property
    def title(self) -> str:
        """The headline, as it is shown."""
        return self._title.text()

    @property
    def next_try(self) -> str:
        """What is shown of the moment at which the others are looked for again."""
        return self._next.text()

    def show_verdict(self, verdict: Verdict) -> None:
        """Show how far the start is, or why nothing starts."""
        self._verdict = verdict
        code, reason = verdict.code, verdict.reason
        prepares = code in {VerdictCode.STARTING, VerdictCode.NOT_CONNECTED} and reason in STEPS
        problem = code in {VerdictCode.PROBLEM, VerdictCode.NO_ANSWER} or reason == "refused"
        self._pot.show_icon("pot-starting" if prepares else "pot-problem" if problem else "pot-paused")
        self._grey.setEnabled(code is VerdictCode.NOT_CONNECTED and not (prepares or problem))
        self._title.setText(text.tr("Warming up the pot") if prepares else text.headline(verdict))
        self._sentence.setText(text.sentence(verdict))
        self._show_buttons(verdict)
        self._show_start(verdict, prepares=prepares)
        self._show_next()

    def _show_buttons(self, verdict: Verdict) -> None:
        waits, left = verdict.reason == BACKBONE, verdict.reason == "left"
        other = verdict.reason == "version" and self.may_restart
        self.start.setText(text.tr("Re&start Potluck") if other else text.tr("&Start Potluck"))
        joins = text.tr("&Another collaboration…") if waits else text.tr("&Join with a link…")
        self.join.setText(text.tr("&Join another…") if left else joins)
        shown = {
            self.start: verdict.reason in STARTABLE or other,
            self.stop: verdict.code is VerdictCode.NO_ANSWER and self.may_stop,
            self.try_now: waits,
            self.check: waits,
            self.alone: left,
            self.join: verdict.code is not VerdictCode.NO_ANSWER,
        }
        for button, visible in shown.items():
            appears = visible and button.isHidden()
            button.setVisible(visible)
            if appears and button not in {self.check, self.join}:
                button.setFocus()

    def _show_start(self, verdict: Verdict, *, prepares: bool) -> None:
        """The bar is about the present step; where nobody knows how far that is, it runs to and fro."""
        percent = verdict.args.get("percent")
        self._bar.setVisible(prepares)
        self._bar.setRange(0, 100 if isinstance(percent, int) or not prepares else 0)
        self._bar.setValue(percent if isinstance(percent, int) else 0)
        self._bar.setAccessibleDescription(self._sentence.text())
        step = STEPS.get(verdict.reason, 0)
        for place, name in enumerate(self._names):
            sign = "✓" if place < step else "•" if place == step else " "
            name.setText(f"{sign}  {self._steps[place]}")
            name.setVisible(prepares)

    def _show_next(self) -> None:
        """Count down to the next look, while somebody sees it."""
        now = QDateTime.currentMSecsSinceEpoch() / 1000
        said = next_try(self._verdict, now).told(text.tr) if self._verdict is not None else ""
        self._next.setText(said)
        self._next.setVisible(bool(said))
        if bool(said) != self._count.isActive():
            self._count.start() if said else self._count.stop()

    def _build(self) -> None:
        centre = Qt.AlignmentFlag.AlignHCenter
        column = QVBoxLayout(self)
        column.setSpacing(12)
        column.addStretch(2)
        column.addWidget(self._pot, alignment=centre)
        column.addWidget(self._title, alignment=centre)
        column.addWidget(self._sentence)
        column.addWidget(self._next, alignment=centre)
        column.addWidget(self._bar, alignment=centre)
        steps = QVBoxLayout()
        steps.setSpacing(4)
        for name in self._names:
            steps.addWidget(name)
        column.addLayout(_centred(steps))
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for button in (self.start, self.stop, self.try_now, self.check, self.alone, self.join):
            buttons.addWidget(button)
        column.addLayout(_centred(buttons))
        column.addStretch(3)


def _centred(inner: QVBoxLayout | QHBoxLayout) -> QHBoxLayout:
    row = QHBoxLayout()
    row.addStretch(1)
    row.addLayout(inner)
    row.addStretch(1)
    return row
