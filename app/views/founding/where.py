"""The third page: from where the others reach this computer, as it finds out by itself."""

from typing import Final

from PySide6.QtWidgets import QFormLayout, QHBoxLayout, QLineEdit, QProgressBar, QPushButton

from app.commands.founding import FoundingCommand
from app.widgets.field import announce
from app.widgets.labels import card, label, sentence
from app.widgets.scrolled_page import ScrolledPage
from app.words import text
from core.api.hosting import Router, WhereView

HOST_LETTERS: Final = 253


class WherePage(ScrolledPage):
    """What was found out, and a further name by which others find this computer.

    Args:
        command: Looks.
    """

    def __init__(self, command: FoundingCommand) -> None:
        super().__init__()
        tr = text.tr
        self._command = command
        self._view: WhereView | None = None
        self._said, self._places = sentence(), sentence(tone="muted")
        self.bar = QProgressBar(textVisible=False, maximum=0)
        self.bar.setAccessibleName(tr("Asking the router…"))
        self.again = QPushButton(tr("&Look again"))
        self.again.setAutoDefault(False)
        self.also = QLineEdit(maxLength=HOST_LETTERS, placeholderText="potluck.example.org")
        self._build()
        self.again.clicked.connect(self.look)

    @property
    def said(self) -> str:
        """Who can come in, and what helps."""
        return self._said.text()

    @property
    def hosts(self) -> tuple[str, ...]:
        """Addresses for the link, the person's own first."""
        found = self._view.hosts if self._view is not None else ()
        return tuple(filter(None, dict.fromkeys((self.also.text().strip(), *found))))

    def look(self) -> None:
        """Find out; the router may take some seconds."""
        self.bar.show()
        self.again.setEnabled(False)
        self._said.setText(text.tr("Looking at this computer's addresses, and asking the router…"))
        self._places.setText("")
        self._command.where(self._take)

    def leave(self) -> None:
        """The person goes on, or back."""
        if self.bar.isVisible():
            self._command.stop()
            self._take(self._view)

    @property
    def closed(self) -> bool:
        """Whether the router opens no port by itself."""
        return self._view is not None and self._view.router is Router.CLOSED

    @property
    def looked(self) -> bool:
        """Whether something was found out."""
        return self._view is not None

    def _take(self, view: WhereView | None) -> None:
        self._view = view
        self.bar.hide()
        self.again.setEnabled(True)
        if view is None:
            self._said.setText(text.tr("It could not be found out. Name an address, or look again."))
        else:
            self._said.setText(text.tr(view.sentence))
            self._places.setText(text.tr("Addresses in the link: {hosts}", ", ".join(view.hosts)) if view.hosts else "")
        announce(self, self._said.text())

    def _build(self) -> None:
        tr = text.tr
        column = self.column
        frame, inner = card(spacing=8)
        inner.addWidget(label(tr("Who reaches this computer"), bold=True))
        for part in (self._said, self.bar, self._places):
            inner.addWidget(part)
        row = QHBoxLayout()
        row.addWidget(self.again)
        row.addStretch(1)
        inner.addLayout(row)
        column.addWidget(frame)
        frame, inner = card(spacing=8)
        inner.addWidget(label(tr("A name of its own"), bold=True))
        note = sentence(tone="muted")
        note.setText(
            tr("If a name or another address leads here, the link begins with it. Without one, leave it empty.")
        )
        inner.addWidget(note)
        form = QFormLayout()
        title = label(tr("Name or &address"))
        title.setBuddy(self.also)
        self.also.setAccessibleName(tr("Name or address"))
        form.addRow(title, self.also)
        inner.addLayout(form)
        column.addWidget(frame)
        frame, inner = card(spacing=8)
        inner.addWidget(label(tr("What runs here"), bold=True))
        note = sentence(tone="muted")
        note.setText(
            tr(
                "This computer lets the others in, and takes part. It does so as long as Potluck runs, also without "
                "this window; without it the others train on for four days, and nobody new comes in."
            )
        )
        inner.addWidget(note)
        column.addWidget(frame)
        column.addStretch(1)
