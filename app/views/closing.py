"""The question when the window closes."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QMessageBox, QWidget

from app.looks.choices import Closing
from app.words import text


class ClosingQuestion(QObject):
    """Asks whether Potluck goes on without its window.

    Args:
        window: The window that closes.
        place: Where the window is found again, as a sentence.
    """

    answered = Signal(object)
    """Closing.HIDE or Closing.QUIT; a person who cancels answers nothing."""

    def __init__(self, window: QWidget, place: str) -> None:
        super().__init__(window)
        tr = text.tr
        self.box = QMessageBox(window)
        self.box.setWindowTitle("Potluck")
        self.box.setIcon(QMessageBox.Icon.NoIcon)
        self.box.setText(tr("Close the window, or quit Potluck?"))
        self.box.setInformativeText(
            tr(
                "Without its window Potluck goes on as it is. {place} "
                "When you quit, nothing is computed any more.\n\n"
                "Your answer is remembered. You can change it in the menu Potluck, When the window closes.",
                place,
            )
        )
        self.hide = self.box.addButton(tr("&Close the window"), QMessageBox.ButtonRole.AcceptRole)
        self.quit = self.box.addButton(tr("&Quit Potluck"), QMessageBox.ButtonRole.DestructiveRole)
        self.box.addButton(tr("C&ancel"), QMessageBox.ButtonRole.RejectRole)
        self.box.setDefaultButton(self.hide)
        self.box.finished.connect(self._finish)

    def ask(self) -> None:
        """Show the question, unless it is shown."""
        self.box.open()
        self.box.raise_()

    def _finish(self) -> None:
        clicked = self.box.clickedButton()
        if clicked is self.hide:
            self.answered.emit(Closing.HIDE)
        elif clicked is self.quit:
            self.answered.emit(Closing.QUIT)
