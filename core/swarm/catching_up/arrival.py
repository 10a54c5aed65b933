"""What is waited for once a trainer has come: to know who else is here."""

from typing import Final

from core.swarm.presence.beacon import Beacon
from core.swarm.presence.membership import SILENT_S
from core.swarm.words.epoch import EpochMachine, Phase

INFORMED_AFTER_S: Final = 5.0
"""Time without a word of others after which a peer goes on as if it were alone."""


class Arrival:
    """Whether a peer whose trainer has come knows who else is here, as far as there is anybody.

    Args:
        epochs: Says whether this peer is joining, and since when.
        beacon: Reads reports.
    """

    def __init__(self, epochs: EpochMachine, beacon: Beacon) -> None:
        self._epochs = epochs
        self._beacon = beacon
        self.informed = False
        """Whether enough is known to decide where to train."""
        self.again = False
        """Whether it was so for an earlier trainer, and this peer goes on reading since."""
        self._in_touch = False
        """Whether it was reading when its trainer came: after one more answer it knows what there is to know."""

    def begin(self, now: float) -> None:
        """Wait for news of the others, for a trainer has come."""
        self.informed, self._in_touch = False, self.again and now < self._beacon.answered_at + SILENT_S

    @property
    def deadline(self) -> float | None:
        """When `late` has something to say, unix seconds."""
        waits = self._epochs.phase is Phase.JOINING and not self.informed
        return self._epochs.since + INFORMED_AFTER_S if waits else None

    def answered(self, *, news: bool) -> None:
        """Others' reports were asked for; where nothing new came back, more is waited for."""
        if self._epochs.phase is Phase.JOINING and (news or self._in_touch):
            self.informed = self.again = True

    def late(self, now: float) -> bool:
        """Whether news of others has been waited for enough; true once."""
        deadline = self.deadline
        if deadline is None or now < deadline:
            return False
        self.answered(news=True)
        return True
