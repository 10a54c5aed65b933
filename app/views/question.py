"""A question before something is done that cannot be taken back by the same button."""

from collections.abc import Callable

from PySide6.QtWidgets import QMessageBox, QPushButton, QWidget

from app.words import text


class Question(QMessageBox):
    """Asks; nothing is done unless the person says so.

    Args:
        words: The question.
        over: The widget that it is asked over.
        means: What is done, and what stays.
        yes: The button that does it.
        no: The button that does not, which has the focus; empty: *Cancel*.
        then: Does it.
    """

    def __init__(
        self, words: str, over: QWidget, *, means: str, yes: str, then: Callable[[], object], no: str = ""
    ) -> None:
        super().__init__(over.window())
        self.setWindowTitle("Potluck")
        self.setText(words)
        self.setInformativeText(means)
        self.yes: QPushButton = self.addButton(yes, QMessageBox.ButtonRole.DestructiveRole)
        self.setDefaultButton(self.addButton(no or text.tr("C&ancel"), QMessageBox.ButtonRole.RejectRole))
        self.yes.clicked.connect(then)
        self.finished.connect(self.deleteLater)
        self.open()
