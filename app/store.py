"""The last snapshot, and nothing else."""

from PySide6.QtCore import QObject, Signal

from core.api.snapshot import Snapshot


class Store(QObject):
    """Holds the engine's last snapshot and says when there is a new one."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._snapshot: Snapshot | None = None

    @property
    def snapshot(self) -> Snapshot | None:
        """The last one; None before the first."""
        return self._snapshot

    def put(self, snapshot: Snapshot) -> None:
        """Replace the snapshot as a whole."""
        self._snapshot = snapshot
        self.changed.emit()
