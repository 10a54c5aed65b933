"""What a link leads to: the collaboration, what it takes on this computer, and an estimate."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFormLayout, QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.widgets.labels import card, label, value_label
from app.words import link_look, text
from core.api.look import LinkLook

MARGIN = 8


class LookPage(QScrollArea):
    """Two cards, scrolled where the window is low."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(text.tr("The collaboration and this computer"))
        self._values: dict[str, QLabel] = {}

    @property
    def facts(self) -> dict[str, str]:
        """What is shown, by name; empty: nothing yet."""
        return {name: value.text() for name, value in self._values.items()}

    def show_look(self, look: LinkLook | None) -> None:
        """Show what a link leads to; None: nothing is known."""
        self._values = {}
        inner = QWidget()
        inner.setObjectName("page")
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, MARGIN, 0)
        if look is not None:
            facts, here = link_look.facts(look), link_look.here(look)
            width = max(self.fontMetrics().horizontalAdvance(row) for _, row, _ in (*facts, *here))
            column.addWidget(self._card(text.tr("The collaboration"), facts, width))
            column.addWidget(self._card(text.tr("On this computer"), here, width))
        column.addStretch(1)
        self.setWidget(inner)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the page anew: the texts wrap elsewhere."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Make the content as high as its wrapped texts are at this width: Qt would assume a narrow one."""
        inner = self.widget()
        layout = inner.layout() if inner is not None else None
        if inner is not None and layout is not None:
            inner.setMinimumHeight(max(0, layout.totalHeightForWidth(self.viewport().width())))

    def _card(self, title: str, rows: Sequence[tuple[str, str, str]], width: int) -> QFrame:
        """Names of `width` points, each beside its value."""
        frame, column = card()
        column.addWidget(label(title, bold=True))
        form = QFormLayout()
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        form.setHorizontalSpacing(2 * MARGIN)
        for name, row, words in rows:
            value = self._values[name] = value_label()
            value.setText(words)
            value.setAccessibleName(f"{row}: {words}")  # of labels only the name is said
            called = label(row, tone="muted")
            called.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            called.setMinimumWidth(width)
            form.addRow(called, value)
        column.addLayout(form)
        return frame
