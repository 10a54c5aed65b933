"""A dialog of pages that follow each other, with a title above, what is under way below, and the buttons."""

from collections.abc import Mapping

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QDialog, QHBoxLayout, QProgressBar, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from app.widgets.field import announce
from app.widgets.labels import label, sentence
from app.words import text

SIZE_FIRST = QSize(680, 640)
SCREEN_SHARE = 0.95


class PagesDialog(QDialog):
    """Holds the pages; what leads from one to the next is the matter of those who derive from it.

    Args:
        titles: The titles of the pages, in their order.
        parent: The window.
    """

    def __init__(self, titles: Mapping[QWidget, str], parent: QWidget) -> None:
        super().__init__(parent)
        self._titles = titles
        self._title = sentence(factor=1.4)
        self._title.setFont(label(factor=1.4, bold=True).font())
        self.pages = QStackedWidget()
        self._said = sentence(tone="muted")
        self.bar = QProgressBar(textVisible=False)
        self.bar.hide()
        self.back = QPushButton(text.tr("&Back"))
        self.yes = QPushButton()
        self.no = QPushButton()
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(self._title)
        for page in titles:
            self.pages.addWidget(page)
        column.addWidget(self.pages, stretch=1)
        column.addWidget(self._said)
        column.addWidget(self.bar)
        buttons = QHBoxLayout()
        buttons.addWidget(self.no)
        buttons.addStretch(1)
        buttons.addWidget(self.back)
        buttons.addWidget(self.yes)
        column.addLayout(buttons)
        for button in (self.no, self.back):
            button.setAutoDefault(False)
        self.resize(SIZE_FIRST.boundedTo(self.screen().availableSize() * SCREEN_SHARE))

    def turn_to(self, page: QWidget) -> None:
        """Show a page with its title."""
        other = self.pages.currentWidget() is not page
        self.pages.setCurrentWidget(page)
        self._title.setText(self._titles[page])
        if other and self.isVisible():
            announce(self, self._titles[page])
        self.yes.setDefault(True)

    def say(self, words: str) -> None:
        """Say what is under way, or in the way; empty: nothing is."""
        fresh = words not in {"", self._said.text()}
        self._said.setText(words)
        self._said.setVisible(bool(words))
        if fresh and self.isVisible():
            announce(self, words)
