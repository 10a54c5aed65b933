"""What the window knows: the last snapshot, why there is none, and a wish that the engine has not heard of yet."""

from PySide6.QtCore import QObject, Signal

from core.api import verdict as verdicts
from core.api.snapshot import COUNTERS_S, Snapshot
from core.api.verdict import Verdict


class Store(QObject):
    """Holds what all views show, and says when it is something else."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._snapshot: Snapshot | None = None
        self.last: Snapshot | None = None
        """The last one of any engine, which may be gone by now; None: there was none."""
        self._absence = verdicts.not_connected("connecting")
        self._wanted: bool | None = None
        self._told_at = 0.0

    @property
    def snapshot(self) -> Snapshot | None:
        """The last one of the engine that is connected; None: there is none yet, or no engine."""
        return self._snapshot

    @property
    def verdict(self) -> Verdict:
        """What Potluck is doing; while the engine has not confirmed where the switch stands, that it is changing."""
        if self._snapshot is None:
            return verdicts.decide(absence=self._absence)
        if self.contributing == self._snapshot.contributing:
            return self._snapshot.verdict
        return verdicts.changing(contributing=self.contributing)

    @property
    def contributing(self) -> bool:
        """Where the switch stands: as the person last put it, until the engine's word on that is in."""
        if self._wanted is not None:
            return self._wanted
        return self._snapshot is not None and self._snapshot.contributing

    @property
    def steers(self) -> bool:
        """Whether the switch changes anything: an engine is connected, and its collaboration lets it take part."""
        return self._snapshot is not None and self._snapshot.verdict.reason != verdicts.SHUT_OUT

    def put(self, snapshot: Snapshot) -> None:
        """Replace the snapshot as a whole.  Where only counters ran on, views hear of it once in a few seconds."""
        news = self._wanted is not None or not snapshot.says_the_same(self._snapshot)
        self._snapshot = self.last = snapshot
        if snapshot.contributing == self._wanted:
            self._wanted = None
        if news or abs(snapshot.time - self._told_at) >= COUNTERS_S:
            self._told_at = snapshot.time
            self.changed.emit()

    def miss(self, absence: Verdict) -> None:
        """No engine is connected: what the last one said is true no longer."""
        if self._snapshot is not None or absence != self._absence:
            self._snapshot, self._absence = None, absence
            self.changed.emit()

    def want(self, contributing: bool | None) -> None:  # noqa: FBT001 - where the switch stands
        """The person has put the switch there; None: the engine's word counts again."""
        if contributing is not self._wanted:
            self._wanted = contributing
            self.changed.emit()
