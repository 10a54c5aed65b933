"""What the trainer has accumulated for the next step, and how much of it is out in a round."""

from dataclasses import dataclass
from typing import Final

from core.base.bounds import is_loss
from core.base.work import Progress
from core.swarm.presence.membership import GOES_ON_S
from core.swarm.words.epoch import Phase

_OUT: Final = frozenset({Phase.OFFERED, Phase.AVERAGING})
"""Phases in which a contribution is out: what is computed meanwhile is for the step after."""


@dataclass(slots=True)
class Pending:
    """Samples that no step has taken up.

    Attributes:
        samples: For the next step.
        ahead: Computed after the contribution to the round that is on, for the step after; given back if it fails.
        samples_per_s: The trainer's speed.
        loss: Mean training loss, nats.
        at: When the trainer said so, unix seconds; it has gone on since.
    """

    samples: int = 0
    ahead: int = 0
    samples_per_s: float = 0.0
    loss: float = 0.0
    at: float = 0.0

    def by_now(self, now: float) -> float:
        """How many samples it will have by now; its speed counts no longer than until its next word is due."""
        return self.samples + self.samples_per_s * min(max(0.0, now - self.at), GOES_ON_S)

    def count(self, counted: Progress, phase: Phase, now: float) -> None:
        """Take in what the trainer says; what it says in `phase` of a round's samples is set apart."""
        self.samples, self.ahead = counted.samples, 0
        if phase in _OUT:
            self.samples, self.ahead = counted.samples - counted.ahead, counted.ahead
        elif phase is Phase.STEPPING:
            self.samples = counted.ahead
        self.samples_per_s, self.at = counted.samples_per_s, now
        if is_loss(counted.loss):
            self.loss = counted.loss

    def contribute(self, samples: int) -> None:
        """A contribution of these samples is out in a round."""
        self.samples, self.ahead = samples, 0

    def give_back(self) -> None:
        """The round failed: all samples count for its step again."""
        self.samples, self.ahead = self.samples + self.ahead, 0

    def take(self) -> None:
        """The round was committed while the trainer computed on: what came meanwhile counts for the next step."""
        self.samples, self.ahead = self.ahead, 0

    def settle(self, samples: int, now: float) -> None:
        """A new state is in place; `samples` count for its step already."""
        self.samples, self.ahead, self.at = samples, 0, now
