"""What a peer that trains does between two steps: it speaks with its trainer, and follows rounds and newer states."""

from typing import Final

from core.averaging.plan import STAGES_MAX
from core.base.bounds import is_loss
from core.base.machine import Trace, earliest
from core.base.work import Collected, Evaluate, Evaluated, Go, Hold, Loaded, Progress, Stepped
from core.swarm.catching_up.catch_up import CatchUp
from core.swarm.catching_up.state_choice import NewerState
from core.swarm.epoch.contributing import Contributing, TrainerWatch
from core.swarm.epoch.grouping import Grouping
from core.swarm.presence.beacon import Beacon
from core.swarm.presence.membership import SILENT_S
from core.swarm.rounds.rounds import Rounds, RoundVectors
from core.swarm.words.answers import TrainerGone, TrainerNews, TrainerReady
from core.swarm.words.epoch import IN_STEP, Cue, EpochMachine, Phase
from core.swarm.words.orders import Changed, HeldoutLearned, Load, Replay, Restart, StateNotTaken, WorkNotKept
from core.swarm.words.outputs import Asked, CatchUpFailed, Committed, Formed, MeansFetched, Missed, Output, StateFetched
from core.swarm.words.settings import ParticipantSettings
from core.swarm.words.states import State

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


class TrainerSide:
    """Drives the epoch machine: orders go to the trainer, and what becomes of its work comes back.

    Args:
        settings: The collaboration's numbers.
        rounds: Average what the trainer contributes.
        beacon: Told when others should soon read something new of this peer.
        catch_up: Fetches newer states.
        grouping: Decides when to look for a group.
        trace: Counts what is odd.
    """

    def __init__(
        self,
        settings: ParticipantSettings,
        *,
        rounds: Rounds,
        beacon: Beacon,
        catch_up: CatchUp,
        grouping: Grouping,
        trace: Trace,
    ) -> None:
        self._settings = settings
        self._rounds = rounds
        self._beacon = beacon
        self._catch_up = catch_up
        self._grouping = grouping
        self._trace = trace
        self.epochs = EpochMachine()
        self.arrival = Arrival(self.epochs, beacon)
        """Is to be told what reads bring."""
        self._watch = TrainerWatch(self.epochs, round_s=STAGES_MAX * settings.averaging.round_timeout_s)
        self.contributing = Contributing(
            self.epochs,
            rounds=rounds,
            grouping=grouping,
            watch=self._watch,
            overlaps=settings.averaging.overlaps,
            trace=trace,
        )

    @property
    def deadline(self) -> float | None:
        """When `hung` or the arrival has something to say."""
        return earliest(self._watch.deadline, self.arrival.deadline)

    def hung(self, now: float) -> list[Output]:
        """Have a trainer that owes an answer for too long started anew."""
        if not self._watch.overdue(now):
            return []
        self._trace.mark(f"trainer.hangs.{self.epochs.phase.value}")
        return [Restart()]

    def consider(self, now: float) -> list[Output]:
        """With what is known now: catch up, begin to train, form a group, or go on.

        A newcomer that may have to catch up does not train before: its samples would be lost.
        """
        state, joins = self.epochs.state, self.epochs.phase is Phase.JOINING
        if state is None:
            return []
        if self.epochs.may(Cue.BEHIND):
            offer = self._catch_up.choice.best(state, now)  # from the first time on a newcomer listens
            rests = self._catch_up.rests(state, now)
            if joins and not self.arrival.informed:
                return []
            if offer is not None:
                return self._fall_behind(offer, now)
            undone = self._catch_up.branches.undone(state.name)
            if joins and not (rests and (undone or state.name.epoch == 0)):
                self.epochs.advance(Cue.INFORMED, now)
                return [Changed(), *self._carry_on(now)]
            if rests:
                return [Hold()] if undone else []
        if self.epochs.phase not in IN_STEP:
            return list(self._rounds.position(None, now=now))
        return self.contributing.consider(now)

    def answered(self, answer: TrainerNews, now: float) -> list[Output]:
        """Do what follows from the trainer's word; one that comes too late for the phase means nothing."""
        match answer:
            case TrainerReady():
                return self._ready(answer, now)
            case TrainerGone():
                return self._gone(answer, now)
            case Progress():
                return self.contributing.counted(answer, now)
            case Collected():
                return self.contributing.written(answer, now)
            case Stepped() if self.epochs.may(Cue.STEPPED):
                return self._stepped(answer, now)
            case Loaded() if self.epochs.may(Cue.LOADED):
                return self._loaded(State.of(answer), now)
            case Evaluated():
                return self._evaluated(answer, now)
        return []

    def followed(
        self, event: Asked | Formed | Missed | Committed | StateFetched | MeansFetched | CatchUpFailed, now: float
    ) -> list[Output]:
        """Do what follows from an event of rounds or of catching up; one that comes too late means nothing."""
        match event:
            case Asked():
                return self.contributing.asked(event, now)
            case Formed():
                return self.contributing.formed(now)
            case Missed() if self.epochs.may(Cue.FAILED) and self.epochs.phase in IN_STEP:
                lost = self.contributing.missed(event, now)
                self._beacon.hurry(now)
                return [*lost, *self.consider(now)]
            case Committed(record=record):
                return [record, *(self.contributing.committed(event, now) if self.epochs.may(Cue.COMMITTED) else ())]
            case StateFetched(name=name, location=location):
                self.epochs.advance(Cue.FETCHED, now)
                return [Load(location, name)]
            case MeansFetched(name=name, header=header, digest=digest, locations=locations):
                self.epochs.advance(Cue.FETCHED, now)
                return [Replay(name, header, digest, locations)]
            case CatchUpFailed(problem=problem):
                self.epochs.advance(Cue.FAILED, now)
                self._beacon.hurry(now)
                told = [] if problem is None else [StateNotTaken(problem.whole)]
                return [*told, Changed(), *self.consider(now)]
        return []

    # --- the trainer's answers ---------------------------------------------------------------------------------------

    def _ready(self, ready: TrainerReady, now: float) -> list[Output]:
        self._catch_up.branches.loaded(ready.state)
        self._catch_up.means.mean_bytes = ready.mean_bytes
        self.epochs.begin(ready.state, now)
        self.contributing.reset()
        self._rounds.serve(RoundVectors(ready.contribution, ready.mean, ready.layout, ready.residuals))
        self.arrival.begin(now)
        self._beacon.hurry(now)
        return [Evaluate()] if self._settings.evaluate_first and not self.arrival.again else []

    def _gone(self, gone: TrainerGone, now: float) -> list[Output]:
        goodbyes = self._catch_up.stop(now, loading=self.epochs.phase is Phase.LOADING and not gone.paused)
        self.epochs.advance(Cue.GONE, now)
        self.contributing.reset()
        self._beacon.hurry(now)
        return [*goodbyes, *self._rounds.position(None, now=now), Changed()]

    def _stepped(self, step: Stepped, now: float) -> list[Output]:
        self.epochs.hold(State.of(step))
        self.epochs.advance(Cue.STEPPED, now)
        if step.samples and is_loss(step.loss):
            self.contributing.pending.loss = step.loss
        return self._settled(now, samples=step.samples)

    def _loaded(self, state: State, now: float) -> list[Output]:
        held = self.epochs.state
        if self._catch_up.arrived(state.name):
            lost = held is not None and self._catch_up.branches.abandons(held.name, state.name)
            self._catch_up.branches.loaded(state, guest=True)
            self.epochs.hold(state)
            self.epochs.advance(Cue.LOADED, now)
            told = [WorkNotKept(held.name.epoch)] if held is not None and lost else []
            return [*told, *self._settled(now)]
        self._catch_up.refused(now)
        if held is None or (state.name, state.digest) != (held.name, held.digest):
            return [Restart()]  # nobody knows what the trainer holds now
        self.epochs.advance(Cue.FAILED, now)
        return [Changed(), *self.consider(now)]

    def _evaluated(self, evaluated: Evaluated, now: float) -> list[Output]:
        self._watch.heard()
        loss = evaluated.score.loss
        if not is_loss(loss):
            self._trace.mark("heldout.not_finite")
            return []
        self._rounds.heldout = (evaluated.epoch, loss)
        self._beacon.hurry(now)
        return [HeldoutLearned(evaluated.epoch, loss)]

    # --- from one state to the next ----------------------------------------------------------------------------------

    def _fall_behind(self, offer: NewerState, now: float) -> list[Output]:
        assert self.epochs.state is not None
        asks = self._catch_up.begin(offer, now, mine=self.epochs.state.name)
        self.epochs.advance(Cue.BEHIND, now)
        return [*self._rounds.position(None, now=now), Hold(), Changed(), *asks]

    def _settled(self, now: float, *, samples: int = 0) -> list[Output]:
        """A new state is in place: begin the next epoch, with what counts for it already, or end."""
        assert self.epochs.state is not None
        self.contributing.settle(samples, now)
        self._beacon.hurry(now)
        name = self.epochs.state.name
        evaluates = name.epoch % self._settings.evaluate_every == 0 and self._grouping.is_evaluator(name)
        return [Changed(), *([Evaluate()] if evaluates else ()), *self._carry_on(now)]

    def _carry_on(self, now: float) -> list[Output]:
        assert self.epochs.state is not None
        last = self._settings.last_epoch
        if last is not None and self.epochs.state.name.epoch >= last:
            self.epochs.advance(Cue.ENDED, now)
            return [Hold()]
        return [Hold() if self.contributing.assists else Go(), *self.consider(now)]
