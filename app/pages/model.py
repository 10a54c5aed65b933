"""Model: how it learns, what it can do now, and who is here."""

import msgspec
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.commands.line_command import LineCommand
from app.commands.trying import ModelTalk
from app.engine.store import Store
from app.looks.theme import Theme
from app.models.tables import peers_table
from app.pages.page import GAP, Page
from app.views.saving import SaveRow
from app.views.sentences import Sentences
from app.views.table import Panel
from app.views.try_box import TryBox
from app.widgets.curve import Curve
from app.widgets.explained import Explained
from app.widgets.labels import Elided, card, label, sentence
from app.widgets.side_by_side import SideBySide
from app.words import data_text, model_text, page_text, text
from core.api.snapshot import CurvePoint, LossView, Snapshot

SENTENCES = 3


class ModelPage(Page):
    """The page for somebody who wants to see the model learn."""

    def __init__(self, store: Store, trying: ModelTalk, saving: LineCommand, theme: Theme) -> None:
        super().__init__(store, text.tr("Model"))
        tr = text.tr
        self.trying = TryBox(trying, theme)
        self.trying.answered.connect(lambda: self.show_whole(self.trying))
        self.saving = SaveRow(saving)
        self._collaboration = Elided()
        self.heldout = Curve(
            theme,
            tr("Mistakes on what it has never seen"),
            empty=tr("It is measured every few steps."),
            colour="warm",
        )
        self.training = Curve(theme, tr("Mistakes on what it learns from"), empty=tr("It begins with the first step."))
        self._step = label(factor=1.3, bold=True)
        self._speeds = sentence(tone="muted")
        self._data = sentence(tone="muted")
        self._guesses = sentence()
        self.details = Explained(tr("Details"))
        self.sentences = Sentences(SENTENCES, theme)
        self._model = peers_table(self)
        self.peers = Panel(tr("Who is here"), tr("Nobody yet."), model=self._model, theme=theme)
        self._build()

    @property
    def lead(self) -> str:
        """How far the model is."""
        return f"{text.full(self._step.text())} {self._guesses.text()}"

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show the curves, the figures and the peers of a snapshot."""
        collaboration = snapshot.collaboration
        meaning = collaboration.loss if collaboration is not None else LossView()
        points = snapshot.curve
        heldout = [(point.epoch, point.loss_heldout) for point in points if point.loss_heldout is not None]
        training = [(point.epoch, point.loss_training) for point in points if point.loss_training is not None]
        lowest = meaning.lowest
        level = (text.alone(lowest[0]), lowest[1]) if lowest is not None else None
        said = text.chart([CurvePoint(epoch, None, loss) for epoch, loss in heldout], meaning)
        self.heldout.show_points(heldout, level=level, said=said)
        bare = msgspec.structs.replace(meaning, baselines={})
        said = text.chart([CurvePoint(epoch, loss, None) for epoch, loss in training], bare)
        self.training.show_points(training, level=None, said=said)
        self.details.explain(model_text.details(points, meaning))
        name, has_experts = collaboration.name if collaboration is not None else "", snapshot.hosting is not None
        self.saving.show_model(name, has_experts=has_experts)
        self.trying.setVisible(not has_experts)  # they do not all live here
        self._collaboration.setText(text.collaboration(snapshot))
        self._step.setText(model_text.step(snapshot))
        self._speeds.setText(model_text.speeds(snapshot))
        self._data.setText(text.tr("Text: {flow}", data_text.flow(snapshot.data)))
        self._guesses.setText(text.guessing(meaning) or page_text.unmeasured())
        self.sentences.show_filled(meaning.filled)
        self._model.follow(snapshot.peers)
        self.peers.count_rows()

    def save(self) -> None:
        """Ask where the model goes, as its button does, and show what comes of it."""
        self.show_whole(self.saving)
        self.saving.button.click()

    def _build(self) -> None:
        curves = QHBoxLayout()
        curves.setSpacing(GAP)
        for curve in (self.heldout, self.training):
            curves.addWidget(_titled(curve), stretch=1)
        frame, column = card(margin=2 * GAP, spacing=GAP // 2)
        column.addWidget(label(text.tr("What it can do now"), bold=True))
        column.addWidget(self._guesses)
        column.addWidget(self.sentences)
        column.addSpacing(GAP)
        column.addWidget(self._step)
        column.addWidget(self._speeds)
        column.addWidget(self._data)
        column.addWidget(self.details)
        column.addStretch(1)
        asked, row = card(margin=2 * GAP, spacing=GAP)
        row.addWidget(self.trying)
        row.addWidget(self.saving)
        self.column.addWidget(self._collaboration)
        self.column.addLayout(curves, stretch=1)
        self.column.addWidget(SideBySide(frame, self.peers, spacing=GAP), stretch=1)
        self.column.addWidget(asked)


def _titled(curve: Curve) -> QWidget:
    """A curve below its title."""
    frame, column = card(margin=2 * GAP, spacing=2)
    column.addWidget(label(curve.title, bold=True))
    column.addWidget(label(text.tr("by step; lower is better"), tone="muted"))
    column.addWidget(curve, stretch=1)
    return frame
