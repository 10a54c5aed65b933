"""A word that a person may not know: a button that asks for it, and the answer below, which goes at the next touch."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from app.widgets.field import announce
from app.widgets.labels import sentence


class Explained(QWidget):
    """Shows its answer at the first touch, and hides it at the next.

    Args:
        question: On the button.
    """

    opened = Signal()
    """The answer stands there now."""

    def __init__(self, question: str) -> None:
        super().__init__()
        self.button = QPushButton(question)
        self.button.setAutoDefault(False)
        self.button.setProperty("look", "link")
        self._said = sentence(tone="muted")
        self._said.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(self.button, alignment=Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._said)
        self.button.clicked.connect(lambda: self._toggle(down=self._said.isHidden()))

    @property
    def words(self) -> str:
        """The answer as it is seen; empty: nobody has asked."""
        return "" if self._said.isHidden() else self._said.text()

    def explain(self, words: str) -> None:
        """This is the answer; without one nothing can be asked."""
        self._said.setText(words)
        self.button.setAccessibleDescription(words)
        self.setVisible(bool(words))

    def _toggle(self, *, down: bool) -> None:
        self._said.setVisible(down)
        if down:
            announce(self, self._said.text())
            self.opened.emit()
