"""What this peer gives to rounds: what its trainer accumulates, the contribution that is out, and what comes of it."""

import math
from dataclasses import dataclass
from typing import Final

from core.base.bounds import SAMPLES_MAX, is_loss
from core.base.machine import Trace, earliest
from core.base.work import Collect, Collected, Go, Progress, Release
from core.swarm.epoch.grouping import Grouping
from core.swarm.presence.membership import GOES_ON_S
from core.swarm.rounds.rounds import Rounds
from core.swarm.words.epoch import Cue, EpochMachine, Phase
from core.swarm.words.orders import Absorb, Changed, RoundLost
from core.swarm.words.outputs import Asked, Committed, Missed, Output

ANSWER_S: Final = 180.0
"""A trainer that owes an answer for this long hangs."""
SLEPT_S: Final = 10.0
"""Delay of a wake-up that means that the whole computer stood still, not the trainer."""

_OWING: Final = frozenset({Phase.STEPPING, Phase.LOADING})
_OUT: Final = frozenset({Phase.OFFERED, Phase.AVERAGING})
"""Phases in which a contribution is out: what is computed meanwhile is for the step after."""


REFUSED_MAX: Final = 3
"""Rounds in a row that took nothing of this peer's, after which it stops to compute."""
TRY_AGAIN: Final = 10
"""Rounds without this peer's gradients, after which it computes for one more, to see what its plan says."""
ALONE_S: Final = 15.0
"""Longer than it takes to hear of everybody's step."""


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
        if self._epochs.phase in _OUT:
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


class Assisting:
    """Counts the rounds whose plan wanted none of our contribution (c_i = 0 in S000 appendix B)."""

    def __init__(self) -> None:
        self._refused = 0
        self._rested = 0
        self._alone_since: float | None = None
        self.active = False
        """Whether to compute nothing for now."""

    def ended(self, *, samples: int, gives: bool) -> None:
        """A round was committed.

        Args:
            samples: What we had for it.
            gives: Whether its plan took any of it.
        """
        if not samples:
            self._rested += self.active
            if self._rested >= TRY_AGAIN:
                self._pause(refused=REFUSED_MAX - 1)
        elif gives:
            self._pause(refused=0)
        else:
            self._refused += 1
            self.active = self._refused >= REFUSED_MAX

    def alone(self, *, others: bool, now: float) -> bool:
        """Whether to compute again, because nobody has computed anything that we could average for too long.

        Args:
            others: Whether somebody computes at our state.
            now: Unix seconds.
        """
        if others or not self.active or self._alone_since is None:
            self._alone_since = None if others or not self.active else now
        elif now - self._alone_since >= ALONE_S:
            self._pause(refused=0)
            return True
        return False

    def _pause(self, *, refused: int) -> None:
        self._refused, self._rested, self._alone_since, self.active = refused, 0, None, False


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


class Contributing:
    """Follows a contribution from the call for it to the step, or back to the trainer.

    Args:
        epochs: The phase and the state.
        rounds: Average what is contributed.
        grouping: Decides when to look for a group.
        watch: Sees that the trainer answers.
        overlaps: Whether the trainer computes on while a round is averaged.
        trace: Counts contributions that are not usable.
    """

    def __init__(
        self,
        epochs: EpochMachine,
        *,
        rounds: Rounds,
        grouping: Grouping,
        watch: TrainerWatch,
        overlaps: bool,
        trace: Trace,
    ) -> None:
        self._epochs = epochs
        self._rounds = rounds
        self._grouping = grouping
        self._watch = watch
        self._overlaps = overlaps
        self._trace = trace
        self._assisting = Assisting()
        self._round = b""
        """The round for which the trainer was asked last."""
        self.pending = Pending()

    @property
    def assists(self) -> bool:
        """Whether the trainer computes nothing for now, because no plan wants any of this peer's contribution."""
        return self._assisting.active

    @property
    def samples_per_s(self) -> float:
        """Its speed that others may count on."""
        return 0.0 if self.assists else self.pending.samples_per_s

    def samples(self, now: float) -> int:
        """What is accumulated by now; while a contribution is out, what was at the trainer's last word."""
        counts = self._epochs.phase is Phase.TRAINING and not self.assists
        return min(int(self.pending.by_now(now)), SAMPLES_MAX) if counts else self.pending.samples

    def reset(self) -> None:
        """The trainer is another one, or gone: nothing is accumulated."""
        self._watch.heard()
        self.pending = Pending()

    def consider(self, now: float) -> list[Output]:
        """Form a group if the target batch is reached, or go on."""
        assert self._epochs.state is not None
        mine, training = self._epochs.state.name, self._epochs.phase is Phase.TRAINING
        if training and self._assisting.alone(others=self._grouping.others_per_s(mine, now) > 0, now=now):
            return [Changed(), Go()]
        samples = self.pending.by_now(now)
        return self._grouping.consider(mine, samples=samples, speed=self.samples_per_s, training=training, now=now)

    def counted(self, counted: Progress, now: float) -> list[Output]:
        """The trainer says how far it is; what it says of another epoch comes too late."""
        state = self._epochs.state
        if state is None or state.name.epoch != counted.epoch:
            return []
        self._watch.heard()
        self.pending.count(counted, self._epochs.phase, now)
        return [Changed()]

    def asked(self, asked: Asked, now: float) -> list[Output]:
        """A leader calls for the contribution."""
        if not self._epochs.may(Cue.WANTED):
            return list(self._rounds.position(None, now=now))
        self._epochs.advance(Cue.WANTED, now)
        self._watch.collecting(now)
        self._round = asked.round
        return [Changed(), Collect(round=asked.round)]

    def written(self, written: Collected, now: float) -> list[Output]:
        """Offer the contribution to the group; one whose loss others would not accept counts as one without samples."""
        self._watch.heard()
        samples, loss = written.samples, written.loss
        if not is_loss(loss):
            self._trace.mark("contribution.not_finite")
            samples, loss = 0, 0.0
        if self._epochs.phase is not Phase.COLLECTING or written.round != self._round:
            return []  # a late answer to a round that is over
        self._epochs.advance(Cue.COLLECTED, now)
        self.pending.contribute(samples)
        speed = self.samples_per_s
        self._rounds.samples_per_s = speed if math.isfinite(speed) else 0.0
        return list(self._rounds.offer(samples=samples, loss=loss, now=now))

    def formed(self, now: float) -> list[Output]:
        """The group's plan is here: this peer averages, or leaves a round that comes too late for it."""
        if not self._epochs.may(Cue.PLANNED):
            return list(self._rounds.leave(now))
        self._epochs.advance(Cue.PLANNED, now)
        return [Changed()]

    def missed(self, missed: Missed, now: float) -> list[Output]:
        """The round failed, or there was no group: the trainer goes on with all that it had."""
        if missed.samples is not None and self._epochs.state is not None:
            speed = self._grouping.others_per_s(self._epochs.state.name, now) + self.pending.samples_per_s
            self._grouping.fell_short(missed.samples, speed, now)
        self._epochs.advance(Cue.FAILED, now)
        self.pending.give_back()
        return [RoundLost(missed.reason), Release(round=self._round)]

    def committed(self, committed: Committed, now: float) -> list[Output]:
        """The mean is there: the trainer takes the step."""
        self._epochs.advance(Cue.COMMITTED, now)
        self._assisting.ended(samples=self.pending.samples, gives=committed.gives)
        if self._overlaps:
            self.pending.take()
        mine = self._epochs.state
        agreement = None if mine is None else self._grouping.agreement(mine)
        return [Absorb(self._round, committed.record, agreement=agreement, untaken=committed.untaken)]

    def settle(self, samples: int, now: float) -> None:
        """A new state is in place; `samples` count for its step already."""
        self.pending.settle(samples, now)
        self._grouping.settle()
