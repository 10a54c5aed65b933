"""Text in the sizes and tones that the window uses.  Always plain text: some of it comes from strangers."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QVBoxLayout


def sized(font: QFont, factor: float, *, bold: bool = False) -> QFont:
    """The font in another size, relative to what the person's system has."""
    made = QFont(font)
    if font.pointSizeF() > 0:
        made.setPointSizeF(font.pointSizeF() * factor)
    else:
        made.setPixelSize(round(font.pixelSize() * factor))
    if bold:
        made.setWeight(QFont.Weight.DemiBold)
    return made


def label(text: str = "", *, factor: float = 1.0, bold: bool = False, tone: str = "") -> QLabel:
    """A plain text.

    Args:
        text: At first.
        factor: Factor on the system's size.
        bold: Or not.
        tone: "", "muted" or "accent", of `resources/styles`.
    """
    made = QLabel(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setFont(sized(made.font(), factor, bold=bold))
    if tone:
        made.setProperty("tone", tone)
    return made


class _Whole(QObject):
    """Gives sentences the height that their lines need: layouts in a scroll area do not ask for it."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Look after each change of size, and before a text is drawn that does not fit."""
        if event.type() in {QEvent.Type.Resize, QEvent.Type.Paint} and isinstance(watched, QLabel):
            needed = max(0, watched.heightForWidth(watched.width()))
            if watched.height() < needed or (event.type() is QEvent.Type.Resize and watched.minimumHeight() > needed):
                watched.setMinimumHeight(needed)
        return super().eventFilter(watched, event)


def sentence(*, factor: float = 1.0, tone: str = "") -> QLabel:
    """A text that may need several lines."""
    made = label(factor=factor, tone=tone)
    made.setWordWrap(True)
    made.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
    made.installEventFilter(_Whole(made))
    return made


def value_label() -> QLabel:
    """A sentence to read and copy; Tab comes to it, since that is where a screen reader reads."""
    made = sentence()
    made.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    made.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return made


class WholeLabel(QLabel):
    """The same as a class: a text that may need several lines, and gets them."""

    def __init__(self) -> None:
        super().__init__()
        self.setWordWrap(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self.installEventFilter(_Whole(self))


class Elided(QLabel):
    """One muted line that ends in an ellipsis where space is short; its tooltip holds the whole."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("tone", "muted")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's signature
        """Draw the text with its ellipsis, when Qt asks for it."""
        painter = QPainter(self)
        line = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.contentsRect(), int(self.alignment()), line)
        painter.end()


def card(*, margin: int = 12, spacing: int = 4) -> tuple[QFrame, QVBoxLayout]:
    """A framed part of the window, and its column."""
    frame = QFrame()
    frame.setObjectName("card")
    column = QVBoxLayout(frame)
    column.setContentsMargins(margin, margin - 2, margin, margin - 2)
    column.setSpacing(spacing)
    return frame, column
