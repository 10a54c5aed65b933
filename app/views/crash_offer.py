"""What happened when Potluck met a mistake in itself: offered at the next start, as a text that its person can send."""

from pathlib import Path

from PySide6.QtCore import QSize, QUrl
from PySide6.QtGui import QDesktopServices, QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from app.looks.choices import Choices
from app.widgets.field import announce
from app.widgets.labels import sentence
from app.words import text
from core.api.crash_report import folder_of, read_report, reports

SIZE_FIRST = QSize(720, 460)


class CrashOffer(QFrame):
    """A line above the page with two buttons; hidden where nothing has happened that the person has not seen.

    Args:
        home: Where the reports lie.
        choices: Remember which the person has seen.
    """

    def __init__(self, home: Path, choices: Choices) -> None:
        super().__init__()
        tr = text.tr
        self.setObjectName("card")
        self._home = home
        self._choices = choices
        self._said = sentence()
        self._said.setText(
            tr("Potluck met a mistake in itself. What happened is a text on this computer; nothing was sent.")
        )
        self.show_it = QPushButton(tr("Show &what happened"))
        self.dismiss = QPushButton(tr("Dismiss"))
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 8, 12, 8)
        row.setSpacing(12)
        row.addWidget(self._said, stretch=1)
        row.addWidget(self.show_it)
        row.addWidget(self.dismiss)
        self.show_it.clicked.connect(self._open)
        self.dismiss.clicked.connect(self._put_away)
        self.hide()

    def look(self, _link: str = "") -> None:
        """Offer the newest report, unless the person has seen it."""
        newest = self._newest()
        new = newest is not None and newest.name > self._choices.crash_seen
        if new and self.isHidden():
            announce(self, self._said.text())
        self.setVisible(new)

    def _newest(self) -> Path | None:
        return next(reversed(reports(self._home)), None)

    def _open(self) -> None:
        newest = self._newest()
        self._put_away()
        if newest is not None:
            CrashDialog(read_report(newest), folder_of(self._home), self.window()).open()

    def _put_away(self) -> None:
        newest = self._newest()
        if newest is not None:
            self._choices.crash_seen = newest.name
        self.hide()


class CrashDialog(QDialog):
    """A report as a text, to be read, copied and sent by its person.

    Args:
        words: The report.
        folder: Where it lies.
        parent: The window.
    """

    def __init__(self, words: str, folder: Path, parent: QWidget) -> None:
        super().__init__(parent)
        tr = text.tr
        self.setWindowTitle(text.title(tr("What happened")))
        self.resize(SIZE_FIRST)
        said = sentence()
        said.setText(
            tr(
                "Send this text to those who make Potluck, if you want it mended: they do not have it. "
                "Your folders and links are left out of it."
            )
        )
        self.text = QPlainTextEdit(words)
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName(tr("Report"))
        self.text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.copy = QPushButton(tr("&Copy the text"))
        self.folder = QPushButton(tr("O&pen the folder"))
        self.shut = QPushButton(tr("C&lose"))
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 14)
        column.setSpacing(10)
        column.addWidget(said)
        column.addWidget(self.text, stretch=1)
        row = QHBoxLayout()
        row.addWidget(self.copy)
        row.addWidget(self.folder)
        row.addStretch(1)
        row.addWidget(self.shut)
        column.addLayout(row)
        self.shut.setDefault(True)
        self.copy.clicked.connect(self._copy)
        self.folder.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))))
        self.shut.clicked.connect(self.accept)
        self.finished.connect(self.deleteLater)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())
        self.copy.setText(text.tr("Copied"))
        announce(self.copy, self.copy.text())
