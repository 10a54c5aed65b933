"""Who decides in a collaboration, and what waits for this person's signature."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from app.widgets.labels import label, sentence
from app.words import moderation_text
from app.words.text import tr
from core.api.moderation import ModerationView


class Moderators(QWidget):
    """Sentences, and a button for each proposal that can be signed here."""

    signing = Signal(str)
    """The person agrees to the proposal with this id."""

    drilled = Signal()
    """The person answers that they can still sign."""

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(label(tr("Who decides"), bold=True))
        self._who, self._also = sentence(), sentence(tone="muted")
        column.addWidget(self._who)
        column.addWidget(self._also)
        self.answer = QPushButton(tr("Sign: I am here"))
        """Answers a drill."""
        self.answer.hide()
        self.answer.clicked.connect(self.drilled.emit)
        column.addWidget(self.answer, alignment=Qt.AlignmentFlag.AlignLeft)
        self._proposals = QVBoxLayout()
        column.addLayout(self._proposals)
        self._shown: ModerationView | None = None
        self.buttons: dict[str, QPushButton] = {}
        """To sign, by proposal."""

    def show_view(self, view: ModerationView) -> None:
        """Show who decides and what waits; what has not changed stays as it is, with the keyboard's place in it."""
        if view == self._shown:
            return
        self._shown = view
        self._who.setText(moderation_text.who_decides(view))
        words = moderation_text.also(view)
        self._also.setText(words)
        self._also.setVisible(bool(words))
        self.answer.setVisible(view.drill is not None and view.drill.waits_here)
        while (item := self._proposals.takeAt(0)) is not None:
            if (shown := item.widget()) is not None:
                shown.deleteLater()
        self.buttons.clear()
        for one in view.proposals:
            said = sentence()
            said.setText(moderation_text.proposal(one))
            self._proposals.addWidget(said)
            if view.moderates and not one.signed_here:
                button = self.buttons[one.id] = QPushButton(tr("Sign"))
                button.setAccessibleDescription(said.text())
                button.clicked.connect(lambda _=False, chosen=one.id: self.signing.emit(chosen))
                self._proposals.addWidget(button, alignment=Qt.AlignmentFlag.AlignLeft)
