"""Sees that the trainer answers: a hung one is told from a busy one by the time it takes, and started anew."""

import math
from typing import Final

from core.base.machine import earliest
from core.swarm.words.epoch import EpochMachine, Phase

ANSWER_S: Final = 180.0
"""A trainer that owes an answer for this long hangs."""
SLEPT_S: Final = 10.0
"""Delay of a wake-up that means that the whole computer stood still, not the trainer."""

_OWING: Final = frozenset({Phase.STEPPING, Phase.LOADING})
_IN_ROUND: Final = frozenset({Phase.OFFERED, Phase.AVERAGING})


class TrainerWatch:
    """How long the trainer has owed an answer; also the last way out of a round that never ends.

    Args:
        epochs: Says in which phase this peer is, and since when.
        round_s: A round ends by itself within this time.
    """

    def __init__(self, epochs: EpochMachine, *, round_s: float) -> None:
        self._epochs = epochs
        self._round_s = round_s
        self._said_at = -math.inf
        """When `overdue` was true last."""
        self._contribution_since: float | None = None

    def collecting(self, now: float) -> None:
        """A contribution was asked for.  It stays owed when the round is given up meanwhile."""
        if self._contribution_since is None:
            self._contribution_since = now

    def heard(self) -> None:
        """The trainer said something, or is gone."""
        self._contribution_since = None

    @property
    def deadline(self) -> float | None:
        """When the trainer, or a round, is given up unless it answers, unix seconds; None: nothing is owed."""
        owed = None if self._contribution_since is None else self._contribution_since + ANSWER_S
        since = max(self._epochs.since, self._said_at)
        if self._epochs.phase in _OWING:
            return earliest(owed, since + ANSWER_S)
        if self._epochs.phase in _IN_ROUND:
            return earliest(owed, since + self._round_s + ANSWER_S)
        return owed

    def overdue(self, now: float) -> bool:
        """Whether the trainer is to be started anew; asked again only after as long a time."""
        deadline = self.deadline
        if deadline is None or now < deadline:
            return False
        self._said_at = now
        if self._contribution_since is not None:
            self._contribution_since = now
        return now < deadline + SLEPT_S
