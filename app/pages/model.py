"""Model: how it learns, what it can do now, and who is here."""

from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app import data_text, page_text, text
from app.line_command import LineCommand
from app.models.tables import peers_table
from app.pages.page import GAP, Page
from app.store import Store
from app.theme import Theme
from app.views.sentences import Sentences
from app.views.table import Panel
from app.views.try_box import TryBox
from app.widgets.curve import Curve
from app.widgets.labels import Elided, card, label, sentence
from core.api.snapshot import LossView, Snapshot

SENTENCES = 3


class ModelPage(Page):
    """The page for somebody who wants to see the model learn."""

    def __init__(self, store: Store, command: LineCommand, theme: Theme) -> None:
        super().__init__(store, text.tr("Model"))
        tr = text.tr
        self.trying = TryBox(command, theme)
        self.trying.answered.connect(lambda: self.show_whole(self.trying))
        self._collaboration = Elided(tone="muted")
        self.heldout = Curve(theme, tr("Errors on text that it has never seen"), colour="warm")
        self.training = Curve(theme, tr("Errors on text that it learns from"))
        self._units = [label(tone="muted"), label(tone="muted")]
        self._step = label(factor=1.3, bold=True)
        self._speeds = sentence(tone="muted")
        self._data = sentence(tone="muted")
        self._guesses = sentence()
        self.sentences = Sentences(SENTENCES)
        self._model = peers_table(self)
        self.peers = Panel(tr("Who is here"), tr("Nobody yet."), model=self._model, theme=theme)
        self._build()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show the curves, the figures and the peers of a snapshot."""
        collaboration = snapshot.collaboration
        meaning = collaboration.loss if collaboration is not None else LossView()
        points = snapshot.curve
        heldout = [(point.epoch, point.loss_heldout) for point in points if point.loss_heldout is not None]
        training = [(point.epoch, point.loss_training) for point in points if point.loss_training is not None]
        said = text.chart(points, meaning)
        lowest = meaning.lowest
        level = (text.baseline(*lowest, meaning.unit), lowest[1]) if lowest is not None else None
        self.heldout.show_points(heldout, level=level, said=said)
        self.training.show_points(training, level=None, said=said)
        for unit in self._units:
            unit.setText(page_text.axis(meaning))
        self._collaboration.setText(text.collaboration(snapshot))
        self._step.setText(page_text.step(snapshot))
        self._speeds.setText(page_text.speeds(snapshot))
        self._data.setText(text.tr("Text: {flow}").format(flow=data_text.flow(snapshot.data)))
        self._guesses.setText(text.guessing(meaning) or text.tr("Nobody has looked at what it can do yet."))
        self.sentences.show_filled(meaning.filled)
        self._model.follow(snapshot.peers)
        self.peers.count_rows()

    def _build(self) -> None:
        grid = QGridLayout()
        grid.setSpacing(GAP)
        grid.addWidget(_titled(self.heldout, self._units[0]), 0, 0)
        grid.addWidget(_titled(self.training, self._units[1]), 0, 1)
        frame, column = card(margin=2 * GAP, spacing=GAP // 2)
        column.addWidget(label(text.tr("What it can do now"), bold=True))
        column.addWidget(self._guesses)
        column.addWidget(self.sentences)
        column.addSpacing(GAP)
        column.addWidget(self._step)
        column.addWidget(self._speeds)
        column.addWidget(self._data)
        column.addStretch(1)
        grid.addWidget(frame, 1, 0)
        grid.addWidget(self.peers, 1, 1)
        asked, row = card(margin=2 * GAP, spacing=GAP)
        row.addWidget(self.trying)
        grid.addWidget(asked, 2, 0, 1, 2)
        for place in (0, 1):
            grid.setColumnStretch(place, 1)
            grid.setRowStretch(place, 1)
        self.column.addWidget(self._collaboration)
        self.column.addLayout(grid, stretch=1)


def _titled(curve: Curve, unit: QLabel) -> QWidget:
    """A curve below its title."""
    frame, column = card(margin=2 * GAP, spacing=2)
    column.addWidget(label(curve.accessibleName(), bold=True))
    column.addWidget(unit)
    column.addWidget(curve, stretch=1)
    return frame
