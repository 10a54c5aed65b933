"""About and trust: who may let people in, what is sent, under which licence, and by which keys."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QLabel

from app import page_text, text
from app.pages.page import GAP, Page
from app.store import Store
from app.widgets.labels import card, label, sentence
from core.api.snapshot import Snapshot
from core.api.version import VERSION


class AboutPage(Page):
    """The page for somebody who wants to know what is installed here, and whom it trusts."""

    needs_engine = False

    def __init__(self, store: Store) -> None:
        super().__init__(store, text.tr("About and trust"))
        tr = text.tr
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(tr("About and trust"))
        frame, column = card(margin=2 * GAP, spacing=GAP)
        self._form = QFormLayout()
        self._form.setHorizontalSpacing(2 * GAP)
        self._form.setVerticalSpacing(GAP)
        self._form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        column.addWidget(label(tr("This collaboration"), bold=True))
        column.addLayout(self._form)
        self._values = {
            "name": self._row(tr("Name")),
            "organiser": self._row(tr("Organised by")),
            "summary": self._row(tr("What for")),
            "id": self._row(tr("Its number")),
            "peer": self._row(tr("This computer")),
        }
        self.column.addWidget(frame)
        frame, column = card(margin=2 * GAP, spacing=GAP // 2)
        for title, words in page_text.about():
            column.addWidget(label(title, bold=True))
            line = sentence(tone="muted")
            line.setText(words)
            column.addWidget(line)
            column.addSpacing(GAP)
        self.column.addWidget(frame)
        frame, column = card(margin=2 * GAP, spacing=GAP // 2)
        column.addWidget(label(page_text.version(VERSION), bold=True))
        line = sentence(tone="muted")
        line.setText(page_text.licence())
        column.addWidget(line)
        self.column.addWidget(frame)
        self.column.addStretch(1)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show what a snapshot says of the collaboration."""
        known = snapshot.collaboration
        shown = {
            "name": known.name if known is not None else "",
            "organiser": known.organiser if known is not None else "",
            "summary": known.summary if known is not None else "",
            "id": known.id if known is not None else "",
            "peer": f"{snapshot.me.name}, {snapshot.me.peer}",
        }
        for name, words in shown.items():
            self._say(name, words)

    def _say(self, name: str, words: str) -> None:
        self._values[name].setText(text.one_line(words) or text.NOTHING)

    def _row(self, title: str) -> QLabel:
        value = sentence()
        value.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        value.setAccessibleName(title)
        self._form.addRow(label(title, tone="muted"), value)
        return value
