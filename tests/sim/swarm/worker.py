"""A simulated worker: a small vector learns from simulated gradients, at the speed of its simulated computer.

It obeys the orders of `core.swarm.words.orders` one after the other, behind a pipe that takes its time, so orders and
answers cross as they do between real processes.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.api.score import Score
from core.base.ids import PeerId
from core.base.problems import WireProblem
from core.base.work import Collect, Collected, Evaluate, Evaluated, Go, Hold, Loaded, Progress, Release, Stepped
from core.swarm.words import orders
from core.swarm.words.answers import MeanOffered, StateOffered, TrainerAnswer, TrainerGone, TrainerReady
from core.swarm.words.states import State, StateName
from tests.sim.swarm.accumulation import BATCH, Accumulation
from tests.sim.swarm.disk import Disk, MemoryFile, ModelState, fields_of
from tests.sim.swarm.samples import Contributed, mean_gradient
from tests.sim.swarm.worker_settings import WorkerSettings, layout_of

PIPE_S = 0.001
PROGRESS_S = 0.5


@dataclass(frozen=True, slots=True)
class Holds:
    """To the checkers: a worker holds this state now."""

    state: State
    how: str
    """"ready", "stepped" or "loaded"."""


@dataclass(frozen=True, slots=True)
class Absorbed:
    """To the checkers: a worker takes this mean on top of this state."""

    before: StateName
    name: StateName
    mean: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSeat:
    """Where a worker runs.

    Attributes:
        peer: Its peer.
        answer: Gives its participant an event, with the time; returns what is to be performed.
        later: Performs a function's outputs after some seconds.
        tell: Tells the checkers.
    """

    peer: PeerId
    answer: Callable[[TrainerAnswer, float], Sequence[Any]]
    later: Callable[[float, Callable[[float], Sequence[Any]]], None]
    tell: Callable[[Any], None]


def fetched(order: Any, model: ModelState, *, disk: Disk, settings: WorkerSettings) -> ModelState | None:
    """The state in the file of a `Load`; None: it is not what it was called.

    Args:
        order: The Load.
        model: The state that is held.
        disk: Holds the file.
        settings: Parameters that all workers share.
    """
    data = disk.fetched(order.location)
    if len(data) != len(model.to_bytes(settings.padding_bytes)):
        return None
    try:
        found = ModelState.from_bytes(data, settings.parameters)
    except WireProblem:
        return None
    return found if found.name == order.name else None


def replayed(order: Any, model: ModelState, *, disk: Disk, settings: WorkerSettings) -> ModelState | None:
    """The state to which the means of a `Replay` lead; None: it is another than that of others.

    Args:
        order: The Replay.
        model: The state that is held.
        disk: Holds the means.
        settings: Parameters that all workers share.
    """
    mean = np.empty(settings.parameters, dtype=np.float32)
    for location in order.means:
        settings.mean_form.read(io.BytesIO(disk.means.at(location)).read, mean)
        model = model.stepped(order.name, mean, digest=b"")
    model = ModelState.named(order.header, model.parameters, model.momentum)
    return model if MemoryFile(model.to_bytes(settings.padding_bytes)).digest == order.digest else None


class FakeWorker:
    """One run of a worker; it ends with `kill`, and then nothing more comes from it.

    Args:
        seat: Where it runs.
        disk: Holds its checkpoints.
        speed: Samples a second.
        settings: Parameters that all workers share.
        random: Draws times.
    """

    def __init__(self, seat: WorkerSeat, *, disk: Disk, speed: float, settings: WorkerSettings, random: Random) -> None:
        self._seat = seat
        self._disk = disk
        self.speed = speed
        self._settings = settings
        self._random = random
        self._alive = True
        self._free_at = 0.0
        life = random.getrandbits(32) if settings.delayed else 0
        self._contribution = np.zeros(settings.parameters, dtype=np.float32)
        self._mean = np.zeros(settings.parameters, dtype=np.float32)
        self.model = settings.first_state()
        self.computed = Accumulation(life, speed=speed, at=self.model.name)
        self._stint = 0
        self.ready = False

    def start(self, boot_s: float) -> None:
        """Build the model, load the newest checkpoint, report ready."""
        self._after(boot_s, self._become_ready)

    def kill(self, now: float) -> Sequence[Any]:
        """End the worker at once; its memory is lost."""
        self._alive = False
        return self._seat.answer(TrainerGone(), now) if self.ready else ()

    def order(self, order: orders.TrainerOrder) -> None:
        """Put an order into the pipe."""
        self._after(PIPE_S, lambda now: self.obey(order, now))

    # --- obeying -----------------------------------------------------------------------------------------------------

    def obey(self, order: orders.TrainerOrder, now: float) -> Sequence[Any]:
        """Carry out an order, and report to the participant.

        Args:
            order: The order.
            now: Unix seconds.
        """
        step_s = BATCH / self.speed
        match order:
            case Collect() | Hold():
                work_s = step_s * self._random.random() if self.computed.training else 0.0
            case orders.Absorb() | orders.Load() | orders.Replay() | Evaluate():
                work_s = self._random.uniform(*self._settings.step_s)
            case _:
                work_s = 0.0
        begin = max(now, self._free_at)
        if isinstance(order, orders.Absorb) and self.computed.out:
            self._after(begin - now, self.computed.pause)
        self._free_at = begin + work_s
        self._after(self._free_at - now, lambda then: self._carry_out(order, then))
        return ()

    def _carry_out(self, order: orders.TrainerOrder, now: float) -> Sequence[Any]:
        match order:
            case Release():
                self.computed.take_back(now)
                self._train(now)
            case Go():
                self._train(now)
            case Hold():
                self.computed.pause(now)
            case Collect(round=round_id):
                self._collect(round_id, now)
            case orders.Absorb(record=record):
                self.absorb(record, now)
            case orders.Load() | orders.Replay():
                self._load(order, now)
            case Evaluate():
                epoch = self.model.name.epoch
                evaluated = Evaluated(epoch=epoch, score=Score(4.0 / (1 + epoch)), baselines={})
                self._after(PIPE_S, lambda then: self._seat.answer(evaluated, then))
        return ()

    def _train(self, now: float) -> None:
        if not self.computed.training:
            self.computed.train(now)
            self._stint += 1
            self._progress_later(self._stint)

    def _collect(self, round_id: bytes, now: float) -> None:
        trained = self.computed.training
        self.computed.pause(now)
        self.computed.take_back(now)
        stretches = self.computed.stretches()
        samples = sum(stretch.samples for stretch in stretches)
        if samples:
            self._contribution[:] = mean_gradient(self._seat.peer, stretches, len(self._contribution))
        self._seat.tell(Contributed(self.model.name, stretches))
        if self._settings.delayed:
            self.computed.give_out()
            if trained:
                self._train(now)
        written = Collected(round=round_id, epoch=0, samples=samples, loss=4.0 / (1 + self.model.name.epoch))
        self._after(PIPE_S, lambda then: self._seat.answer(written, then))

    def absorb(self, record: orders.RoundRecord, now: float) -> None:
        """Take an optimiser step with the mean.

        Args:
            record: Of the round.
            now: Unix seconds.
        """
        before, name = self.model, record.name
        self.computed.pause(now)
        kept = self.computed.stretches() if self.computed.out else ()
        self._seat.tell(Absorbed(before.name, name, self._mean.copy()))
        mean = MemoryFile(b"".join(self._settings.mean_form.pieces(self._mean)))
        self._disk.means.keep(mean)
        credited = [peer for peer, samples in record.credited if samples]
        self.model = before.stepped(name, self._mean, digest=mean.digest, credited=credited)
        self.computed.hold(name, kept=kept)
        samples = sum(stretch.samples for stretch in kept)
        state = self._keep("stepped")
        self._train(now)

        step = Stepped(**fields_of(state), samples=samples, loss=4.0 / (1 + before.name.epoch) if samples else 0.0)
        self._after(PIPE_S, lambda then: [*self._offer(state, then, [mean]), *self._seat.answer(step, then)])

    def _load(self, order: orders.Load | orders.Replay, now: float) -> None:
        """Go to a state that others hold; what is not what it was called changes nothing."""
        del now
        load = fetched if isinstance(order, orders.Load) else replayed
        model = load(order, self.model, disk=self._disk, settings=self._settings)
        if model is not None:
            self.model = model
            self.computed.hold(model.name)
            state = self._keep("loaded")
        else:
            state = next(kept for kept, _ in reversed(self._disk.checkpoints) if kept.name == self.model.name)
        means = self._disk.means.files

        def answer(then: float) -> Sequence[Any]:
            return [*self._offer(state, then, means), *self._seat.answer(Loaded(**fields_of(state)), then)]

        self._after(PIPE_S, answer)

    def _keep(self, how: str) -> State:
        state = self._disk.keep(self.model, self._settings.padding_bytes)
        self._disk.means.only(self.model.means, bytes_max=self._disk.checkpoints[-1][1].size_bytes)
        self._seat.tell(Holds(state, how))
        return state

    def _offer(self, state: State, now: float, means: Sequence[MemoryFile]) -> Sequence[Any]:
        """The engine opens the checkpoint and these means, and offers them to others."""
        files = [file for kept, file in self._disk.checkpoints if kept == state]
        offers: list[TrainerAnswer] = [*map(StateOffered, files), *map(MeanOffered, means)]
        return [output for offer in offers for output in self._seat.answer(offer, now)]

    def _become_ready(self, now: float) -> Sequence[Any]:
        if self._disk.checkpoints:
            state, file = self._disk.checkpoints[-1]
            self.model = ModelState.from_bytes(file.data, self._settings.parameters)
            self.computed.hold(self.model.name)
        else:
            state = self._disk.keep(self.model, self._settings.padding_bytes)
        self._seat.tell(Holds(state, "ready"))
        offered = self._offer(state, now, self._disk.means.files)
        self.ready = True
        numel = len(self._contribution)
        ready = TrainerReady(
            state=state,
            contribution=self._contribution,
            mean=self._mean,
            layout=layout_of(numel),
            residuals=self._disk.residuals,
            mean_bytes=self._settings.mean_form.bytes_max,
        )
        return [*offered, *self._seat.answer(ready, now)]

    # --- the pipe ----------------------------------------------------------------------------------------------------

    def _progress_later(self, stint: int) -> None:
        def report(now: float) -> Sequence[Any]:
            if self._stint != stint or not self.computed.training:
                return ()
            self._progress_later(stint)
            epoch, samples, ahead = self.model.name.epoch, self.computed.count(now), 0
            if self._settings.delayed:
                ahead = samples if self.computed.out else 0
                samples += self.computed.aside()
            loss = 4.0 / (1 + epoch)
            counted = Progress(epoch=epoch, samples=samples, ahead=ahead, samples_per_s=self.speed, loss=loss)
            return self._seat.answer(counted, now)

        self._after(max(PROGRESS_S, BATCH / self.speed), report)

    def _after(self, delay_s: float, action: Callable[[float], Sequence[Any] | None]) -> None:
        self._seat.later(delay_s, lambda now: (action(now) if self._alive else None) or ())
