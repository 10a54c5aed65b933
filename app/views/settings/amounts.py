"""How much Potluck may take: three buttons that fill in several rules, of which the one is pressed that holds now."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.widgets.labels import label, sentence
from app.words import text
from core.api.rules import amount_of
from core.api.settings import Wish


class AmountRow(QWidget):
    """The buttons, and below them what the pressed one means."""

    chosen = Signal(str)
    """One of `core.api.rules.AMOUNTS`."""

    def __init__(self) -> None:
        super().__init__()
        tr = text.tr
        self.meaning = sentence(tone="muted")
        words = {
            "quiet": (tr("&Quiet"), tr("30 % of the time, less when it is warm; a card rests while you are there.")),
            "normal": (tr("Nor&mal"), tr("All of the time, behind your programs; a card rests while you are there.")),
            "all": (tr("All I ha&ve"), tr("All of the time, the card also while you are there.")),
        }
        self.buttons = {name: QPushButton(title) for name, (title, _) in words.items()}
        row = QHBoxLayout()
        row.setSpacing(8)
        for name, button in self.buttons.items():
            button.setAutoDefault(False)
            button.setCheckable(True)
            button.setToolTip(words[name][1])
            button.setAccessibleDescription(words[name][1])
            button.clicked.connect(lambda _=False, name=name: self.chosen.emit(name))
            row.addWidget(button, stretch=1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(label(tr("How much may it take? A button fills in the rules; Save keeps them."), bold=True))
        column.addLayout(row)
        column.addWidget(self.meaning)

    def show_rules(self, rules: Wish) -> None:
        """Press the button down whose rules these are, and none where they are of the person's own."""
        chosen = amount_of(rules)
        for name, button in self.buttons.items():
            button.setChecked(name == chosen)
        own = text.tr("Rules of your own: none of the three.")
        self.meaning.setText(self.buttons[chosen].toolTip() if chosen else own)
