"""One collaboration of this computer: what it trains, whether it is served, what I gave, and what I can do."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from app.widgets.labels import label, sentence
from app.words import collaboration_text, text
from core.api.hosting import BackboneState, JoinedView
from core.api.turns import WhyNot
from core.api.verdict import Verdict


class CollaborationCard(QFrame):
    """A card with buttons, for the collaboration of one id.

    Args:
        view: The collaboration as it is known now.
    """

    serve_asked = Signal(object)
    """Carries its JoinedView, as the other signals do."""
    invite_asked = Signal(object)
    leave_asked = Signal(object)
    host_asked = Signal(object)

    def __init__(self, view: JoinedView) -> None:
        super().__init__()
        self.setObjectName("card")
        tr = text.tr
        self.view = view
        self._name = sentence(factor=1.15)
        self._name.setFont(label(factor=1.15, bold=True).font())
        self._headline = label(bold=True)
        self._summary, self._state = sentence(), sentence()
        self._given, self._notes = sentence(tone="muted"), sentence(tone="muted")
        self.serve, self.invite = QPushButton(tr("Serve this")), QPushButton(tr("Invite somebody…"))
        self.host, self.leave = QPushButton(), QPushButton(tr("Leave…"))
        for button, signal in (
            (self.serve, self.serve_asked),
            (self.invite, self.invite_asked),
            (self.host, self.host_asked),
            (self.leave, self.leave_asked),
        ):
            button.clicked.connect(lambda _=False, asked=signal: asked.emit(self.view))
        self._build()

    @property
    def words(self) -> tuple[str, ...]:
        """What is shown: name, headline, state, what for, what was given, and notes."""
        lines = (self._name, self._headline, self._state, self._summary, self._given, self._notes)
        return tuple(line.text() for line in lines)

    def show_view(self, view: JoinedView, verdict: Verdict, *, first: str, others: bool) -> None:
        """Show what is known now.

        Args:
            view: The collaboration.
            verdict: What Potluck is doing.
            first: Name of the one that is served, or comes first.
            others: Whether there are others, so that one can be chosen.
        """
        self.view = view
        headline, state = collaboration_text.state(view, verdict, first=first)
        texts = {
            self._name: text.one_line(text.tr(view.name)),
            self._headline: headline,
            self._state: state,
            self._summary: text.one_line(text.tr(view.summary)),
            self._given: collaboration_text.given(view),
            self._notes: collaboration_text.notes(view),
        }
        for line, words in texts.items():
            line.setText(words)
            line.setVisible(bool(words))
        self._headline.setProperty("tone", "accent" if view.served else "muted")
        self._headline.style().polish(self._headline)
        self.setAccessibleName(texts[self._name])
        self.setAccessibleDescription(f"{headline}. {state}")
        over = view.why_not is WhyNot.ENDED
        runs = view.backbone is not BackboneState.OFF
        self.host.setText(text.tr("Stop its backbone…") if runs else text.tr("Start its backbone"))
        shown = {
            self.serve: not view.served and not over and (others or not view.joined or view.refusal is not None),
            self.invite: view.joined and not view.closed and not view.alone,
            self.host: view.joined and view.backbone is not None,
            self.leave: view.joined and not view.alone,
        }
        for button, visible in shown.items():
            button.setVisible(visible)
            button.setAccessibleName(f"{button.text()} {texts[self._name]}")

    def enable(self, *, on: bool) -> None:
        """Let the person press a button, or wait for what the last one does."""
        for button in self.buttons:
            button.setEnabled(on)

    @property
    def buttons(self) -> tuple[QPushButton, ...]:
        """All of them, shown or not, in the order of the Tab key."""
        return self.serve, self.invite, self.host, self.leave

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setSizeConstraint(QVBoxLayout.SizeConstraint.SetMinimumSize)
        column.setContentsMargins(16, 14, 16, 14)
        column.setSpacing(4)
        head = QHBoxLayout()
        head.addWidget(self._name, stretch=1)
        head.addWidget(self._headline)
        column.addLayout(head)
        for line in (self._summary, self._state, self._given, self._notes):
            column.addWidget(line)
        column.addSpacing(6)
        row = QHBoxLayout()
        row.setSpacing(8)
        for button in self.buttons:
            row.addWidget(button)
        row.addStretch(1)
        column.addLayout(row)
