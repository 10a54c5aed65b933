"""Sees that the trainer answers: a hung one is told from a busy one by the time it takes, and started anew."""

from typing import Final

from core.swarm.epoch import Phase

ANSWER_S: Final = 180.0
"""A trainer that owes an answer for this long hangs."""
SLEPT_S: Final = 10.0
"""A wake-up that comes so much too late means that the whole computer stood still, not the trainer."""

_OWING: Final = frozenset({Phase.STEPPING, Phase.LOADING})
_IN_ROUND: Final = frozenset({Phase.OFFERED, Phase.AVERAGING})


class TrainerWatch:
    """How long the trainer has owed an answer; also the last way out of a round that never ends.

    Args:
        round_s: A round ends by itself within this time.
    """

    def __init__(self, *, round_s: float) -> None:
        self._round_s = round_s
        self._phase = Phase.IDLE
        self._phase_since = 0.0
        self._contribution_since: float | None = None

    def saw(self, phase: Phase, now: float) -> None:
        """The participant's phase now."""
        if phase is not self._phase:
            self._phase, self._phase_since = phase, now

    def collecting(self, now: float) -> None:
        """A contribution was asked for.  It stays owed when the round is given up meanwhile."""
        if self._contribution_since is None:
            self._contribution_since = now

    def heard(self) -> None:
        """The trainer said something, or is gone."""
        self._contribution_since = None

    @property
    def deadline(self) -> float | None:
        """When patience ends, unix seconds."""
        ends = [] if self._contribution_since is None else [self._contribution_since + ANSWER_S]
        if self._phase in _OWING:
            ends.append(self._phase_since + ANSWER_S)
        elif self._phase in _IN_ROUND:
            ends.append(self._phase_since + self._round_s + ANSWER_S)
        return min(ends, default=None)

    def overdue(self, now: float) -> bool:
        """Whether the trainer is to be started anew; asked again only after as long a time."""
        deadline = self.deadline
        if deadline is None or now < deadline:
            return False
        self._phase_since = now
        if self._contribution_since is not None:
            self._contribution_since = now
        return now < deadline + SLEPT_S
