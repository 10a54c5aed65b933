"""The page that is shown while the engine starts."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from app import text
from app.widgets.icons import Picture
from app.widgets.labels import label, sentence


class StartPage(QWidget):
    """Shows the start of an engine, step by step."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        tr = text.tr
        self._steps = (
            (
                tr("Start the engine"),
                tr("Starting the engine: the part of Potluck that trains and talks to the others."),
            ),
            (tr("Connect to it"), tr("The engine is starting; this window connects to it in a moment.")),
            (tr("Prepare the model and the text"), tr("The engine prepares the model and the text.")),
        )
        self._pot = Picture("pot-starting", 7)
        self._title = label(tr("Warming up the pot"), factor=1.8, bold=True)
        self._sentence = sentence(factor=1.05)
        self._sentence.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._bar = QProgressBar(maximum=2 * len(self._steps), textVisible=False)
        self._bar.setFixedWidth(320)
        self._bar.setAccessibleName(tr("Getting started"))
        self._names = [label(tone="muted") for _ in self._steps]
        self._build()
        self.show_step(0)

    def show_step(self, step: int, said: str = "") -> None:
        """Show how far it is.

        Args:
            step: 0 starts the engine, 1 connects, 2 waits for the engine's preparations.
            said: The engine's own sentence about it, if it has one.
        """
        self._pot.show_icon("pot-starting")
        self._title.setText(text.tr("Warming up the pot"))
        self._sentence.setText(said or self._steps[step][1])
        self._bar.setVisible(True)
        self._bar.setValue(2 * step + 1)  # half way through the step
        self._bar.setAccessibleDescription(self._sentence.text())
        for place, name in enumerate(self._names):
            sign = "✓" if place < step else "•" if place == step else " "
            name.setText(f"{sign}  {self._steps[place][0]}")
            name.setVisible(True)

    def show_stopped(self) -> None:
        """It does not get started; the banner says why."""
        self._pot.show_icon("pot-problem")
        self._title.setText(text.tr("The pot is cold"))
        self._sentence.setText(text.tr("Potluck is not running."))
        self._bar.setVisible(False)
        for name in self._names:
            name.setVisible(False)

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
        row = QHBoxLayout()
        row.addStretch(1)
        row.addLayout(steps)
        row.addStretch(1)
        column.addLayout(row)
        column.addStretch(3)
