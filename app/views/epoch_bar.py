"""The progress bar of the epoch."""

from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QWidget

from app import text
from app.widgets.labels import label
from core.api.snapshot import Snapshot

STEPS = 1000


class EpochBar(QWidget):
    """Progress of the whole collaboration towards the batch that ends the epoch."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = label(bold=True)
        self._bar = QProgressBar(maximum=STEPS, textVisible=False)
        self._bar.setAccessibleName(text.tr("Progress of the epoch"))
        self._numbers = label(tone="muted")
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 0, 4, 0)
        row.setSpacing(10)
        row.addWidget(self._title)
        row.addWidget(self._bar, stretch=1)
        row.addWidget(self._numbers)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show the epoch's progress of a snapshot."""
        target = snapshot.collaboration.target_samples if snapshot.collaboration is not None else 0
        share = min(1.0, snapshot.epoch_samples / target) if target > 0 else 0.0
        self._title.setText(text.epoch_title(snapshot))
        self._bar.setValue(round(share * STEPS))
        self._numbers.setText(text.epoch_progress(snapshot.epoch_samples, target))
        self._bar.setAccessibleDescription(self._numbers.text())
