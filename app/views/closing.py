"""The question when the window closes."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QMessageBox, QWidget

from app import text
from app.choices import Closing


class ClosingQuestion(QObject):
    """Asks whether the engine goes on without the window."""

    answered = Signal(object)
    """Closing.KEEP or Closing.STOP; a person who cancels answers nothing."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        tr = text.tr
        self.box = QMessageBox(window)
        self.box.setWindowTitle("Potluck")
        self.box.setIcon(QMessageBox.Icon.Question)
        self.box.setText(tr("Keep contributing in the background?"))
        self.box.setInformativeText(
            tr("Your answer is remembered. You can change it in the menu Potluck, When the window closes.")
        )
        self.keep = self.box.addButton(tr("&Keep contributing"), QMessageBox.ButtonRole.AcceptRole)
        self.stop = self.box.addButton(tr("&Stop"), QMessageBox.ButtonRole.DestructiveRole)
        self.box.addButton(QMessageBox.StandardButton.Cancel)
        self.box.setDefaultButton(self.keep)
        self.box.finished.connect(self._finish)

    def ask(self) -> None:
        """Show the question, unless it is shown."""
        self.box.open()
        self.box.raise_()

    def _finish(self) -> None:
        clicked = self.box.clickedButton()
        if clicked is self.keep:
            self.answered.emit(Closing.KEEP)
        elif clicked is self.stop:
            self.answered.emit(Closing.STOP)
