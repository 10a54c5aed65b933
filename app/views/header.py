"""The top of Home: the switch, what is happening, and why."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.engine.intents import Intents
from app.engine.store import Store
from app.looks.theme import Theme
from app.widgets.labels import label, sentence
from app.widgets.switch import Switch
from app.words import page_text, text


class Header(QWidget):
    """Shows the verdict, and flips the switch."""

    def __init__(self, store: Store, intents: Intents, theme: Theme) -> None:
        super().__init__()
        self._store = store
        self.switch = Switch(theme)
        self.switch.setText(text.tr("&Contribute"))  # not drawn: a mnemonic
        self.switch.setAccessibleName(text.tr("Contribute"))
        self._state = label(factor=2.0, bold=True)
        self._state.setBuddy(self.switch)
        self._sentence = sentence(factor=1.1)
        self._sentence.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._sentence.setMinimumHeight(self._sentence.fontMetrics().lineSpacing() * 2)
        self._build()
        self.switch.toggled.connect(intents.contribute)
        store.changed.connect(self._follow)
        self._follow()

    @property
    def words(self) -> tuple[str, str]:
        """Headline and sentence, as they are shown."""
        return self._state.text(), self._sentence.text()

    def _follow(self) -> None:
        verdict, steers = self._store.verdict, self._store.steers
        on = self._store.contributing and steers
        blocked = self.switch.blockSignals(True)
        self.switch.setChecked(on)
        self.switch.blockSignals(blocked)
        self.switch.glide()
        self.switch.setEnabled(steers)
        self.switch.setToolTip(text.tr("Pause (Space)") if on else text.tr("Contribute (Space)"))
        other = self._state.text() != text.headline(verdict)
        if other or not self.switch.hasFocus():  # a screen reader says each new description of what has the focus
            self.switch.setAccessibleDescription(page_text.reason(verdict))
        self._state.setText(text.headline(verdict))
        self._sentence.setText(page_text.reason(verdict))

    def _build(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(16)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._state)
        words.addWidget(self._sentence)
        row.addWidget(self.switch, alignment=Qt.AlignmentFlag.AlignVCenter)
        row.addLayout(words, stretch=1)
