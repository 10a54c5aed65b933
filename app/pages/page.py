"""What all pages have in common: they follow the store while they are seen, and do nothing otherwise."""

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QGraphicsOpacityEffect, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.engine.store import Store
from app.widgets.labels import label, sentence
from app.words import page_text
from core.api.snapshot import Snapshot

WIDTH_MAX = 1280
"""Upper bound on the content's width, points: longer lines are hard to read."""
GAP = 8
STALE_OPACITY = 0.55


class Page(QScrollArea):
    """A column of cards below a title, scrolled where the window is low.

    Args:
        store: Has what is shown.
        title: Stands above the cards; empty: the page has a title of its own.
    """

    needs_engine = True
    """Whether the page has nothing to show before an engine has told something."""
    needs_collaboration = True
    """Whether it has nothing to show before that engine has found its collaboration."""

    def __init__(self, store: Store, title: str = "") -> None:
        super().__init__()
        self.store = store
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(title)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._stale = sentence(tone="muted")
        self._stale.hide()
        self._body = QWidget()
        self._body.setObjectName("body")
        self._body.setMaximumWidth(WIDTH_MAX)
        self.column = QVBoxLayout(self._body)
        """Where a page puts its cards."""
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(GAP)
        inner = QWidget()
        inner.setObjectName("page")
        row = QHBoxLayout(inner)
        row.setContentsMargins(2 * GAP, GAP, 2 * GAP, GAP)
        row.addStretch(1)
        whole = QVBoxLayout()
        whole.setSpacing(GAP)
        if title:
            whole.addWidget(label(title, factor=1.5, bold=True))
        whole.addWidget(self._stale)
        whole.addWidget(self._body, stretch=1)
        row.addLayout(whole, stretch=1000)
        row.addStretch(1)
        self.setWidget(inner)
        store.changed.connect(self._follow)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show the newest snapshot; called only while the page is seen."""

    def take_focus(self) -> None:
        """The person comes here by a key: a screen reader says title and lead, and arrow keys scroll."""
        self.setAccessibleDescription(self.lead)
        self.setFocus()

    @property
    def lead(self) -> str:
        """What somebody sees first who looks at the page; empty: its title says enough."""
        return ""

    def opened(self) -> None:
        """The person has opened the page: the time to ask the engine for what snapshots do not have."""

    def show_whole(self, part: QWidget) -> None:
        """Scroll to a part that has grown, once it is laid out."""
        QTimer.singleShot(0, part, lambda: self.ensureWidgetVisible(part))

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with what happened while the page was hidden."""
        super().showEvent(event)
        self._follow()
        self.opened()

    def _follow(self) -> None:
        if not self.isVisible() or self.window().isMinimized():
            return
        snapshot = self.store.last
        if snapshot is not None:
            self.show_snapshot(snapshot)
        self._dim(since=snapshot.time if snapshot is not None and self.store.snapshot is None else None)

    def _dim(self, since: float | None) -> None:
        """What an engine said that is gone is shown paler, with the time at which it was true."""
        stale = since is not None and self.needs_engine
        if stale and since is not None:
            self._stale.setText(page_text.stale(since))
        if stale != self._stale.isHidden():
            return
        self._stale.setVisible(stale)
        effect = QGraphicsOpacityEffect(self._body, opacity=STALE_OPACITY) if stale else None
        self._body.setGraphicsEffect(effect)  # type: ignore[arg-type]  # None removes it
