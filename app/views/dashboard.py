"""The main page, once there is a collaboration."""

from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from app import text
from app.intents import Intents
from app.store import Store
from app.theme import Theme
from app.views.epoch_bar import EpochBar
from app.views.figures import Figures
from app.views.guesses import Guesses
from app.views.header import Header
from app.views.people import People
from app.widgets.labels import Elided, card, label
from app.widgets.loss_curve import LossCurve
from core.api.snapshot import LossView, Snapshot


class Dashboard(QWidget):
    """Shows snapshots in all its panels."""

    def __init__(self, store: Store, intents: Intents, theme: Theme) -> None:
        super().__init__()
        self.header = Header(store, intents, theme)
        self.figures = Figures()
        self.epoch_bar = EpochBar()
        self.curve = LossCurve(theme)
        self.people = People(theme)
        self._collaboration = Elided(tone="muted")
        self.guesses = Guesses()
        self._build()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show a snapshot in all panels."""
        self.figures.show_snapshot(snapshot)
        self.epoch_bar.show_snapshot(snapshot)
        collaboration = snapshot.collaboration
        meaning = collaboration.loss if collaboration else LossView()
        self.curve.show_points(snapshot.curve, meaning)
        self.guesses.show_meaning(meaning)
        self.people.show_snapshot(snapshot)
        self._collaboration.setText(text.collaboration(snapshot))

    def _build(self) -> None:
        frame, column = card(margin=12)
        column.addWidget(label(text.tr("Shared loss"), bold=True))
        column.addWidget(self._collaboration)
        column.addWidget(self.curve, stretch=1)
        column.addWidget(self.guesses)
        lower = QGridLayout()
        lower.setSpacing(8)
        lower.addWidget(frame, 0, 0)
        lower.addWidget(self.people, 0, 1)
        lower.setColumnStretch(0, 10)
        lower.setColumnStretch(1, 9)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(8)
        whole.addWidget(self.header)
        whole.addWidget(self.figures)
        whole.addWidget(self.epoch_bar)
        whole.addLayout(lower, stretch=1)
