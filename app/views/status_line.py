"""The last line of the window: the connection, the company, the traffic, and what just happened."""

from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app import text
from app.link import LinkState
from app.widgets.icons import Picture
from app.widgets.labels import Elided, label
from core.api.snapshot import Notice, Snapshot


class StatusLine(QFrame):
    """One line in small."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("status")
        self._icon = Picture("disconnected", 1.0)
        self._words = label(tone="muted")
        self._news = Elided(tone="muted")
        row = QHBoxLayout(self)
        row.setContentsMargins(6, 0, 6, 0)
        row.setSpacing(6)
        row.addWidget(self._icon)
        row.addWidget(self._words)
        row.addSpacing(12)
        row.addWidget(self._news, stretch=1)

    @property
    def words(self) -> str:
        """As shown."""
        return self._words.text()

    def show_link(self, state: LinkState, snapshot: Snapshot | None) -> None:
        """Say whether the engine can be reached, and how many are here."""
        connected = state is LinkState.CONNECTED
        self._icon.show_icon("connected" if connected else "disconnected")
        parts = [text.link(state)]
        if connected and snapshot is not None:
            parts += [text.here(snapshot), text.traffic(snapshot)]
        self._words.setText("  ·  ".join(parts))
        self.setAccessibleName(text.tr("Status: {words}").format(words=", ".join(parts)))

    def show_news(self, notice: Notice) -> None:
        """Say what just happened."""
        self.tell(notice.text)

    def tell(self, words: str) -> None:
        """Say something of the window's own."""
        self._news.setText(text.one_line(words))
        self._news.setToolTip(text.tooltip(words))
