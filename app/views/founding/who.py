"""The second page: what it is called, and who may join by the first link."""

from typing import Final

from PySide6.QtWidgets import QButtonGroup, QFormLayout, QLineEdit, QRadioButton, QWidget

from app.views.inviting import DAYS, USES
from app.widgets.labels import card, label, sentence
from app.widgets.scrolled_page import ScrolledPage
from app.widgets.whole_box import WholeBox
from app.words import text

NAME_LETTERS: Final = 80
SUMMARY_LETTERS: Final = 300
STRANGERS: Final = (1000, 60)
"""Computers and days of a link that is made public."""


class WhoPage(ScrolledPage):
    """Names, and how many computers the link lets in, for how long."""

    def __init__(self) -> None:
        super().__init__()
        tr = text.tr
        self.name = QLineEdit(maxLength=NAME_LETTERS)
        self.summary = QLineEdit(maxLength=SUMMARY_LETTERS, placeholderText=tr("as the recipe says"))
        self.organiser = QLineEdit(maxLength=NAME_LETTERS, placeholderText=tr("nobody is named"))
        self.friends = QRadioButton(tr("&Friends, to whom I send the link"))
        self.strangers = QRadioButton(tr("&Anybody: I make the link public"))
        self.uses = WholeBox(unit=tr("computers"), most=100_000, zero=tr("Any number of computers"))
        self.days = WholeBox(unit=tr("days"), most=3650, zero=tr("Without an end"))
        self._group = QButtonGroup(self)
        for button in (self.friends, self.strangers):
            self._group.addButton(button)
        self._build()
        self.strangers.toggled.connect(self._suggest)
        self.friends.setChecked(True)
        self._suggest(False)

    def missing(self) -> QWidget | None:
        """The control that still has to be filled in; None: none."""
        return None if self.name.text().strip() else self.name

    def _suggest(self, public: bool) -> None:  # noqa: FBT001 - a Qt slot of `toggled(bool)`
        uses, days = STRANGERS if public else (USES, DAYS)
        self.uses.setValue(uses)
        self.days.setValue(days)

    def _build(self) -> None:
        tr = text.tr
        column = self.column
        for title, rows in (
            (
                tr("Its name"),
                (
                    (tr("It is &called"), self.name),
                    (tr("It is &good for"), self.summary),
                    (tr("Looked after b&y"), self.organiser),
                ),
            ),
            (tr("Who may join"), ((tr("The link lets &in"), self.uses), (tr("The link &lasts"), self.days))),
        ):
            frame, inner = card(spacing=8)
            inner.addWidget(label(title, bold=True))
            if rows[0][1] is self.uses:
                inner.addWidget(self.friends)
                inner.addWidget(self.strangers)
            form = QFormLayout()
            for name, control in rows:
                called = label(name)
                called.setBuddy(control)
                control.setAccessibleName(text.unmarked(name))
                form.addRow(called, control)
            inner.addLayout(form)
            if rows[0][1] is self.uses:
                note = sentence(tone="muted")
                note.setText(
                    tr("You can make further links at any time, and shut somebody out. Your own computer needs none.")
                )
                inner.addWidget(note)
            column.addWidget(frame)
        column.addStretch(1)
