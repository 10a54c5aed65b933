"""The top of the window: the switch, what is happening and why, and the pot."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app import text
from app.intents import Intents
from app.theme import Theme
from app.widgets.icons import Picture
from app.widgets.labels import card, label, sentence
from app.widgets.switch import Switch
from core.api.snapshot import Activity, Snapshot


class Header(QWidget):
    """Shows the activity, and flips the switch."""

    def __init__(self, intents: Intents, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._intents = intents
        self._snapshot: Snapshot | None = None
        """The shown snapshot; None while no engine is connected."""
        self.switch = Switch(theme)
        self.switch.setText(text.tr("&Contribute"))  # not drawn: a mnemonic
        self.switch.setAccessibleName(text.tr("Contribute"))
        self._state = label(factor=1.7, bold=True)
        self._state.setBuddy(self.switch)
        self._sentence = sentence(factor=1.05)
        self._sentence.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._sentence.setMinimumHeight(self._sentence.fontMetrics().lineSpacing() * 2)
        self._pot = Picture("pot-starting", 4.6)
        self._build()
        self.switch.toggled.connect(intents.contribute)
        intents.changed.connect(self._follow_switch)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show the activity of a snapshot."""
        self._snapshot = snapshot
        self._follow_switch()

    def show_away(self, sentence_now: str) -> None:
        """Say why no engine is connected, and disable the switch."""
        self._snapshot = None
        self._sentence.setText(sentence_now)
        self.switch.setEnabled(False)
        self._pot.show_icon("pot-starting")

    def _follow_switch(self) -> None:
        on = self._intents.contributing
        blocked = self.switch.blockSignals(True)
        self.switch.setChecked(on)
        self.switch.blockSignals(blocked)
        self.switch.glide()
        self.switch.setEnabled(self._snapshot is not None)
        self.switch.setToolTip(text.tr("Pause (Space)") if on else text.tr("Contribute (Space)"))
        if self._snapshot is not None:
            self._say(self._snapshot, contributing=on)

    def _say(self, snapshot: Snapshot, *, contributing: bool) -> None:
        """The engine's words; until it has heard of what the person wants, that."""
        said = text.sentence(snapshot, contributing=contributing)
        self._state.setText(text.state(snapshot, contributing=contributing))
        self._sentence.setText(said)
        self.switch.setAccessibleDescription(said)
        self._pot.show_icon(pot_icon(snapshot, contributing=contributing))

    def _build(self) -> None:
        frame, column = card(margin=14)
        row = QHBoxLayout()
        row.setSpacing(16)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(self._state)
        words.addWidget(self._sentence)
        row.addWidget(self.switch, alignment=Qt.AlignmentFlag.AlignVCenter)
        row.addLayout(words, stretch=1)
        row.addWidget(self._pot, alignment=Qt.AlignmentFlag.AlignVCenter)
        column.addLayout(row)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(frame)


def pot_icon(snapshot: Snapshot, *, contributing: bool) -> str:
    """The icon of the pot for this state."""
    if snapshot.problem is not None or snapshot.activity is Activity.PROBLEM:
        return "pot-problem"
    if not contributing:
        return "pot-paused"
    starting = snapshot.activity in {Activity.STARTING, Activity.JOINING, Activity.CATCHING_UP}
    return "pot-starting" if starting else "pot-contributing"
