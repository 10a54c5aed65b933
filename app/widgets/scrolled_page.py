"""A column of a dialog that is scrolled where the dialog is low."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

SPACING = 10


class ScrolledPage(QScrollArea):
    """Is never narrower than its content, and as low as the dialog wants it."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._inner = QWidget()
        self._inner.setObjectName("page")
        self.column = QVBoxLayout(self._inner)
        """Where the page puts its parts."""
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(SPACING)
        self.setWidget(self._inner)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the content anew: its texts wrap elsewhere."""
        super().resizeEvent(event)
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Fit the content anew where it has changed."""
        done = super().eventFilter(watched, event)
        if watched is self._inner and event.type() is QEvent.Type.LayoutRequest:
            self._fit()
        return done

    def _fit(self) -> None:
        """Make the content as high as its wrapped texts are at this width: Qt would assume a narrow one."""
        bar = self.verticalScrollBar().sizeHint().width()
        self.setMinimumWidth(self.column.minimumSize().width() + bar)
        self._inner.setMinimumHeight(self.column.totalHeightForWidth(self.viewport().width()))
