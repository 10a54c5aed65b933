"""What a moderator looks after: people with what they gave and how far their parts lie, and copies to go back to."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.looks.theme import Theme
from app.models.tables import people_table
from app.views.table import Panel
from app.widgets.labels import label, sentence
from app.words import moderation_text
from app.words.text import tr
from core.api.moderation import CopiesView, PeopleView

WORDS_MAX = 300


class Tending(QWidget):
    """A table of people, and a line with a button for each copy of the model.

    Args:
        theme: Colours of the table.
    """

    going_back = Signal(str, str)
    """Propose that everybody goes back to the copy with this number, for this reason."""
    pages_asked = Signal()
    """Open the moderators' pages in the browser."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        self._model = people_table(self)
        self.people = Panel(tr("People"), tr("Nobody is known here yet."), model=self._model, theme=theme)
        column.addWidget(self.people)
        self._note = sentence(tone="muted")
        column.addWidget(self._note)
        column.addWidget(label(tr("Copies of the model"), bold=True))
        self._no_copies = sentence(tone="muted")
        self._no_copies.setText(tr("No backbone has told of any yet."))
        column.addWidget(self._no_copies)
        self._copies = QGridLayout()
        self._copies.setColumnStretch(0, 1)
        column.addLayout(self._copies)
        self._shown: CopiesView | None = None
        self._chosen = 0
        self.buttons: dict[int, QPushButton] = {}
        """To go back, by the copy's number."""
        self._asked = QWidget()
        column.addWidget(self._asked)
        self._make_form()
        self.open = QPushButton(tr("Open the moderators' pages in the browser"))
        self.open.setAccessibleDescription(tr("There you answer people who ask to be let in, too."))
        self.open.setToolTip(self.open.accessibleDescription())
        self.open.clicked.connect(self.pages_asked)
        column.addWidget(self.open, alignment=Qt.AlignmentFlag.AlignLeft)

    def _make_form(self) -> None:
        """The question why, which appears once a copy is chosen."""
        form = QVBoxLayout(self._asked)
        form.setContentsMargins(0, 0, 0, 0)
        self._question = sentence()
        form.addWidget(self._question)
        line = QHBoxLayout()
        self.why = QLineEdit(maxLength=WORDS_MAX)
        self.why.setPlaceholderText(tr("Why? Everybody can read it."))
        self.why.setAccessibleName(tr("Why? Everybody can read it."))
        self.why.returnPressed.connect(self._propose)
        self.propose, cancel = QPushButton(tr("Go back")), QPushButton(tr("Cancel"))
        self.propose.clicked.connect(self._propose)
        cancel.clicked.connect(lambda _=False: self._choose(0))
        line.addWidget(self.why, stretch=1)
        line.addWidget(self.propose)
        line.addWidget(cancel)
        form.addLayout(line)
        self._asked.hide()

    def show_people(self, view: PeopleView) -> None:
        """Show who takes part."""
        self._model.follow(view.people)
        self.people.count_rows()
        self._note.setText(moderation_text.parts_note(view))

    def show_copies(self, view: CopiesView) -> None:
        """Show the copies, the last one first; what has not changed stays, with the keyboard's place in it."""
        if view == self._shown:
            return
        self._shown = view
        self.buttons.clear()
        while (item := self._copies.takeAt(0)) is not None:
            if (shown := item.widget()) is not None:
                shown.deleteLater()
        self._no_copies.setVisible(not view.copies)
        for row, one in enumerate(reversed(view.copies)):
            said = sentence()
            said.setText(moderation_text.copy_line(one))
            button = self.buttons[one.number] = QPushButton(tr("Go back…"))
            button.setAccessibleDescription(said.text())
            button.clicked.connect(lambda _=False, number=one.number: self._choose(number))
            self._copies.addWidget(said, row, 0)
            self._copies.addWidget(button, row, 1, alignment=Qt.AlignmentFlag.AlignTop)
        if self._chosen not in self.buttons:
            self._choose(0)

    def _choose(self, number: int) -> None:
        """Ask why all should go back to a copy; 0: ask nothing."""
        chosen, self._chosen = self._chosen, number
        self._asked.setVisible(bool(number))
        self.why.clear()
        if number:
            copy = next(one for one in self._shown.copies if one.number == number) if self._shown else None
            self._question.setText("" if copy is None else moderation_text.going_back(copy))
            self.why.setFocus()
        elif chosen in self.buttons:
            self.buttons[chosen].setFocus()

    def _propose(self) -> None:
        self.going_back.emit(str(self._chosen), self.why.text())
        self._choose(0)
