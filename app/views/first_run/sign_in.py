"""The page that shows where and with which code to sign in, while the program waits for that."""

import contextlib

import msgspec
from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPushButton

from app.widgets.field import announce
from app.widgets.labels import card, label, sentence
from app.widgets.scrolled_page import ScrolledPage
from app.widgets.shown_link import QrCode
from app.words import text

CODE_FACTOR = 2.2
QR_POINTS = 200


class SignInCodes(msgspec.Struct, frozen=True):
    """What the command prints before it waits."""

    address: str
    complete: str
    """The address with the code in it."""
    user_code: str
    seconds: float
    """For how long it is waited."""


class SignInPage(ScrolledPage):
    """An address and a code, by hand, with this computer's browser, or with a telephone."""

    came = Signal()
    """The codes are here."""
    waits = Signal(str)
    """For how long it is waited, as a sentence."""

    def __init__(self) -> None:
        super().__init__()
        tr = text.tr
        self.setAccessibleName(tr("Sign in"))
        self._complete = ""
        self.where, self.code = sentence(), label(factor=CODE_FACTOR, bold=True)
        self.code.setAccessibleName(tr("Code"))
        for shown in (self.where, self.code):
            shown.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
        self.open = QPushButton(tr("Open the b&rowser"))
        self.copy = QPushButton(tr("C&opy the code"))
        self.qr = QrCode()
        self.qr.setAccessibleName(tr("QR code of the address, with the code"))
        self.qr.setFixedSize(QR_POINTS, QR_POINTS)
        compare = sentence(tone="muted")
        compare.setText(tr("The browser shows the code as well: compare them before you let this computer in."))
        elsewhere = sentence(tone="muted")
        elsewhere.setText(tr("Or read this with a telephone, and sign in there."))
        frame, column = card()
        buttons = QHBoxLayout()
        for button in (self.open, self.copy):
            button.setAutoDefault(False)
            buttons.addWidget(button)
        buttons.addStretch(1)
        for part in (self.where, self.code, compare):
            column.addWidget(part)
        column.addLayout(buttons)
        column.addSpacing(8)
        column.addWidget(elsewhere)
        column.addWidget(self.qr)
        self.column.addWidget(frame)
        self.column.addStretch(1)
        self.open.clicked.connect(self._open)
        self.copy.clicked.connect(self._copy)

    def hear(self, line: bytes) -> None:
        """Show where to sign in, and the code, if this is the command's line about that."""
        with contextlib.suppress(msgspec.DecodeError):
            self._show(msgspec.json.decode(line, type=SignInCodes))

    def _show(self, codes: SignInCodes) -> None:
        self._complete = codes.complete
        self.where.setText(text.tr("Sign in at {site} with this code:", text.plain(codes.address)))
        self.code.setText(text.plain(codes.user_code))
        self.copy.setText(text.tr("C&opy the code"))
        self.qr.show_text(codes.complete)
        self.came.emit()
        self.waits.emit(text.tr("Waiting until you have signed in, for {minutes} min…", round(codes.seconds / 60)))
        self.open.setFocus()
        announce(self, f"{self.where.text()} {self.code.text()}")

    def _open(self) -> None:
        QDesktopServices.openUrl(QUrl(self._complete))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.code.text())
        self.copy.setText(text.tr("&Copied"))
        announce(self.copy, text.tr("The code is copied."))
