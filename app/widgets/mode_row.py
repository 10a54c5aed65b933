"""A switch of three places: always, by the rules, never."""

from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QRadioButton, QWidget

from app.words import text
from core.api.modes import UseMode


class ModeRow(QWidget):
    """Three buttons of which one is chosen.

    Args:
        name: What is switched, for screen readers.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        tr = text.tr
        words = {UseMode.ALWAYS: tr("Always"), UseMode.RULES: tr("By the rules"), UseMode.NEVER: tr("Never")}
        self.buttons = {mode: QRadioButton(said) for mode, said in words.items()}
        self._group = QButtonGroup(self)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(14)
        for mode, button in self.buttons.items():
            button.setAccessibleName(f"{name}: {words[mode]}")
            self._group.addButton(button)
            row.addWidget(button)
        row.addStretch(1)
        self.show_mode(UseMode.RULES)
        self.setFocusProxy(self.buttons[UseMode.ALWAYS])

    @property
    def mode(self) -> UseMode:
        """The place that is chosen."""
        return next(mode for mode, button in self.buttons.items() if button.isChecked())

    def show_mode(self, mode: UseMode) -> None:
        """Choose a place."""
        self.buttons[mode].setChecked(True)
