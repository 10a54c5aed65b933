"""The program's own flights over experts that are far away, in simulated time."""

import heapq
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from core.base.content import digest
from core.base.mixture import ExpertNumbers
from core.tasks.digits import Digits
from core.tasks.digits_cutting import CLASSES, DigitsNumbers
from core.tasks.experts.stages import MixtureTask
from core.tasks.task import Batch, Task
from core.training.devices.precision import FP32
from core.training.experts.bounds import STALE_BUCKETS
from core.training.flights.calls import AskExpert, CallNews, ExpertLapsed, LocalExperts, SeekPlaces
from core.training.flights.flight import Turn
from core.training.flights.flights import Flights
from core.training.flights.passes import TrunkPasses
from core.training.samples.samples import Drawn
from core.training.vectors.flat import FlatParameters
from tests.bench.training.digit_runs import (
    LAYERS,
    PIXELS,
    RATE,
    TOP,
    WIDTH,
    Images,
    Outcome,
    Setting,
    last_tenth,
)


def numbers_of(setting: Setting, *, layers: int = LAYERS, factor: int = 4) -> ExpertNumbers:
    each = max(2, setting.experts // layers)
    rows = max(2, int(each**0.5))
    grid = (rows, -(-each // rows))
    return ExpertNumbers(
        layers=layers,
        grid=grid,
        live=each,
        top=TOP,
        spare=1 if setting.failures else 0,
        width=WIDTH,
        factor=factor,
        step_rows=1,
        staleness=10_000,
        flights=512,
    )


class FarExperts(LocalExperts):
    """Experts that calls reach after a while, or never.

    Args:
        numbers: The mixture's.
        setting: How late they are.
        seed: Draws all chance.
    """

    def __init__(self, numbers: ExpertNumbers, setting: Setting, seed: int) -> None:
        self.now = 0.0
        super().__init__(numbers, digest(b"digits %d" % seed), device="cpu", clock=lambda: self.now)
        self._setting = setting
        self._random = Random(seed)
        self._coming: list[tuple[float, int, AskExpert]] = []
        self._late: list[CallNews] = []
        self._spare = numbers.spare
        self._hops = 2 * numbers.layers
        """Waits of one pass: each layer forward and backward."""

    def seek(self, seek: SeekPlaces) -> None:
        """Name the best places, with some to spare."""
        self.name_best(seek, count=TOP + self._spare)

    def ask(self, ask: AskExpert) -> None:
        """Let the call arrive later."""
        latency_s = self._setting.latency_s / self._hops
        delay_s = self._random.expovariate(1 / latency_s) if latency_s else 0.0
        heapq.heappush(self._coming, (self.now + delay_s, ask.call, ask))

    def heard(self) -> Iterable[CallNews]:
        """What has arrived by now."""
        while self._coming and self._coming[0][0] <= self.now:
            _, _, ask = heapq.heappop(self._coming)
            if self._random.random() < self._setting.failures:
                self._late.append(ExpertLapsed(ask.call))
            else:
                super().ask(ask)
        late, self._late = self._late, []
        return [*super().heard(), *late]

    def wait(self) -> None:
        """Let time pass until the next call arrives."""
        self.now = self._coming[0][0]


class SharedTrunk:
    """Takes a step for each so many batches (`core.training.flights.flights.Airfield`).

    Args:
        task: Makes batches.
        parameters: The trunk's.
        rows: Rows of one batch after the other.
        workers: Batches of a step.
    """

    def __init__(self, task: Task, parameters: FlatParameters, rows: Iterator[NDArray[Any]], *, workers: int) -> None:
        self.losses: list[float] = []
        self.lost = self.epoch = 0
        self._task = task
        self._parameters = parameters
        self._rows = rows
        self._workers = workers
        trunk = torch.nn.Parameter(parameters.values_N)
        trunk.grad = torch.zeros_like(parameters.values_N)
        self._trunk = trunk
        self._optimizer = torch.optim.Adam([trunk], RATE * min(4.0, workers**0.5), amsgrad=True)

    def draw(self) -> Drawn[Batch]:
        """The next batch."""
        rows = next(self._rows)
        return Drawn(self._task.batch(rows, np.zeros(len(rows), np.uint64)), ())

    def land(self, drawn: Drawn[Batch], loss: float) -> bool:
        """Add a gradient, and take the step that is due."""
        assert self._trunk.grad is not None
        self.losses.append(loss)
        self._trunk.grad += self._parameters.gradients_N / self._workers
        self._parameters.gradients_N.zero_()
        if len(self.losses) % self._workers == 0:
            self._optimizer.step()
            self._optimizer.zero_grad(set_to_none=False)
            self.epoch += 1
        return True

    def lose(self, drawn: Drawn[Batch]) -> None:
        """Count what is lost."""
        self.lost += 1


def flown(setting: Setting, images: Images, *, seed: int, batches: int) -> Outcome:
    numbers = numbers_of(setting)
    held = [[row.astype(np.uint8).tobytes().hex()] for row in images.held]
    sizes = DigitsNumbers(pixels=PIXELS, held_out=len(images.held))
    task = Digits(sizes, numbers, counts=[1] * CLASSES, held_out=held)
    return flown_task(setting, task, numbers, images.batches(seed), seed=seed, batches=batches)


def flown_task(
    setting: Setting,
    task: MixtureTask,
    numbers: ExpertNumbers,
    rows: Iterator[NDArray[Any]],
    *,
    seed: int,
    batches: int,
) -> Outcome:
    """A run of any task with experts.

    Args:
        setting: How late and how often experts answer.
        task: What is learned.
        numbers: The mixture's.
        rows: Rows of one batch after the other.
        seed: Of the model, the experts, and their lateness.
        batches: Number of batches that are to land.
    """
    trunk = task.model(seed)
    parameters = FlatParameters(trunk)
    experts = FarExperts(numbers, setting, seed)
    shared = SharedTrunk(task, parameters, rows, workers=setting.workers)
    flights = Flights(TrunkPasses(task, trunk, numbers, FP32), experts, shared, most=setting.workers)
    while len(shared.losses) < batches:
        if flights.turn() is Turn.NOTHING:
            experts.wait()
    lost = shared.lost
    flights.drop()
    flights.measure()
    while (found := flights.measured) is None:
        if flights.turn(begin=False) is Turn.NOTHING:
            experts.wait()
    stale = tuple(sum(one.stale[bucket] for one in experts.all) for bucket in range(STALE_BUCKETS))
    return Outcome(
        accuracy=found.score.right or 0.0,
        loss=found.score.loss,
        training_loss=last_tenth(shared.losses),
        lost=lost,
        stale=stale,
    )
