"""The top of the window: the switch, what is happening and why, and the pot."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app import text
from app.intents import Intents
from app.store import Store
from app.theme import Theme
from app.widgets.icons import Picture
from app.widgets.labels import card, label, sentence
from app.widgets.switch import Switch
from core.api.verdict import VerdictCode

POTS: Final[Mapping[VerdictCode, str]] = MappingProxyType(
    {
        VerdictCode.CONTRIBUTING: "pot-contributing",
        VerdictCode.RESTING: "pot-paused",
        VerdictCode.PAUSED: "pot-paused",
        VerdictCode.STARTING: "pot-starting",
        VerdictCode.NOT_CONNECTED: "pot-problem",
        VerdictCode.PROBLEM: "pot-problem",
    }
)


class Header(QWidget):
    """Shows the verdict, and flips the switch."""

    def __init__(self, store: Store, intents: Intents, theme: Theme) -> None:
        super().__init__()
        self._store = store
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
        store.changed.connect(self._follow)
        self._follow()

    @property
    def words(self) -> tuple[str, str]:
        """Headline and sentence, as they are shown."""
        return self._state.text(), self._sentence.text()

    def _follow(self) -> None:
        on, verdict = self._store.contributing, self._store.verdict
        blocked = self.switch.blockSignals(True)
        self.switch.setChecked(on)
        self.switch.blockSignals(blocked)
        self.switch.glide()
        self.switch.setEnabled(self._store.snapshot is not None)
        self.switch.setToolTip(text.tr("Pause (Space)") if on else text.tr("Contribute (Space)"))
        self.switch.setAccessibleDescription(text.sentence(verdict))
        self._state.setText(text.headline(verdict))
        self._sentence.setText(text.sentence(verdict))
        self._pot.show_icon(POTS[verdict.code])

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
