"""A row for each graphics card of a computer that has several: what it may do, and a button that pauses it."""

from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QWidget

from app.engine.intents import Intents
from app.engine.store import Store
from app.views.snooze import is_off, several_cards
from app.widgets.labels import label, sentence
from app.words import page_text, text
from core.api.snapshot import Snapshot


class CardSwitches(QWidget):
    """Hidden where there is one card or none: that has the switch of all cards.

    Args:
        store: Has the switches.
        intents: Pause a card, or use it again.
    """

    def __init__(self, store: Store, intents: Intents) -> None:
        super().__init__()
        self._store = store
        self._intents = intents
        self.buttons: dict[str, QPushButton] = {}
        """By the names of the cards."""
        self.said: dict[str, QLabel] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setColumnStretch(1, 1)
        self.hide()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show what each card may do."""
        names = several_cards(self._store)
        if names != list(self.buttons):
            self._make(names)
        for name, button in self.buttons.items():
            off = is_off(self._store, name)
            words = page_text.card(snapshot, name)
            self.said[name].setText(words)
            button.setText(text.tr("Use it again") if off else text.tr("Pause it"))
            button.setAccessibleName(
                text.tr("Use the card {name} again", name) if off else text.tr("Pause the card {name}", name)
            )
            button.setAccessibleDescription(words)
            button.setEnabled(off or not is_off(self._store, "gpu"))
        self.setVisible(bool(names))

    def _make(self, names: list[str]) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self.buttons, self.said = {}, {}
        for row, name in enumerate(names):
            button, said = QPushButton(), sentence(tone="muted")
            button.clicked.connect(lambda _=False, card=name: self._switch(card))
            self.buttons[name], self.said[name] = button, said
            for column, widget in enumerate((label(text.tr("Graphics card {name}", name)), said, button)):
                self._grid.addWidget(widget, row, column)

    def _switch(self, card: str) -> None:
        self._intents.switch(card, on=is_off(self._store, card))
