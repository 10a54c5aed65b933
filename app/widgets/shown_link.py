"""A link to hand on: as words that can be copied, and as a QR code."""

import segno
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.widgets.field import announce
from app.words import text

QUIET = 4
"""Width of the white edge that a reader needs (ISO/IEC 18004, 9.1), modules."""


class QrCode(QWidget):
    """Draws a text as a QR code, black on white in every theme, as large as whole pixels allow."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[bytes] = []
        self.setAccessibleName(text.tr("QR code of the link"))
        self.setMinimumSize(QSize(160, 160))

    def show_text(self, words: str) -> None:
        """Draw these words; empty: nothing."""
        code = segno.make(words, micro=False, error="m") if words else None
        self._rows = [bytes(row) for row in code.matrix] if code is not None else []
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's signature
        """Draw the code, when Qt asks for it."""
        count = len(self._rows) + 2 * QUIET
        scale = self.devicePixelRatioF()
        module = int(min(self.width(), self.height()) * scale) // count
        if not self._rows or not module:
            return
        painter = QPainter(self)
        painter.scale(1 / scale, 1 / scale)
        left, top = (int(side * scale - module * count) // 2 for side in (self.width(), self.height()))
        painter.fillRect(QRect(left, top, module * count, module * count), Qt.GlobalColor.white)
        for down, row in enumerate(self._rows, QUIET):
            for right, dark in enumerate(row, QUIET):
                if dark:
                    place = QRect(left + right * module, top + down * module, module, module)
                    painter.fillRect(place, Qt.GlobalColor.black)
        painter.end()


class ShownLink(QWidget):
    """The link in a field, *Copy*, and the QR code below."""

    def __init__(self) -> None:
        super().__init__()
        tr = text.tr
        self.field = QLineEdit(readOnly=True)
        self.field.setAccessibleName(tr("Link to hand on"))
        self.copy = QPushButton(tr("&Copy"))
        self.copy.setAutoDefault(False)
        self.code = QrCode()
        row = QHBoxLayout()
        row.addWidget(self.field, stretch=1)
        row.addWidget(self.copy)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(row)
        column.addWidget(self.code, stretch=1)
        self.copy.clicked.connect(self._copy)

    def show_link(self, link: str) -> None:
        """Show a link, whose beginning is seen."""
        self.field.setText(link)
        self.field.setCursorPosition(0)
        self.copy.setText(text.tr("&Copy"))
        self.code.show_text(link)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.field.text())
        self.copy.setText(text.tr("&Copied"))
        announce(self.copy, text.tr("The link is copied."))
