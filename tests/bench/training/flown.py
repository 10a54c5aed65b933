"""The program's own flights over experts that are far away, in simulated time."""

import heapq
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from core.base.content import digest
from core.base.mixture import ExpertNumbers
from core.tasks.digits import Digits
from core.tasks.digits_numbers import CLASSES, DigitsNumbers
from core.tasks.task import Batch
from core.training.devices.precision import FP32
from core.training.experts.bounds import STALE_BUCKETS
from core.training.flights.calls import AskExpert, CallNews, ExpertLapsed, LocalExperts, SeekPlaces
from core.training.flights.flight import Turn
from core.training.flights.flights import Flights
from core.training.flights.passes import TrunkPasses
from core.training.samples.samples import Drawn
from core.training.vectors.flat import FlatParameters
from tests.bench.training.digit_runs import (
    BATCH,
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

HOPS: Final = 2 * LAYERS
"""Waits of one pass: each layer forward and backward."""


def numbers_of(setting: Setting) -> ExpertNumbers:
    each = max(2, setting.experts // LAYERS)
    rows = max(2, int(each**0.5))
    grid = (rows, -(-each // rows))
    return ExpertNumbers(
        layers=LAYERS,
        grid=grid,
        live=each,
        top=TOP,
        spare=1 if setting.failures else 0,
        width=WIDTH,
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

    def seek(self, seek: SeekPlaces) -> None:
        """Name the best places, with some to spare."""
        self.name_best(seek, count=TOP + self._spare)

    def ask(self, ask: AskExpert) -> None:
        """Let the call arrive later."""
        latency_s = self._setting.latency_s / HOPS
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

    def __init__(self, task: Digits, parameters: FlatParameters, rows: Iterator[NDArray[Any]], *, workers: int) -> None:
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
        return Drawn(self._task.batch(next(self._rows), np.zeros(BATCH, np.uint64)), ())

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
    trunk = task.model(seed)
    parameters = FlatParameters(trunk)
    experts = FarExperts(numbers, setting, seed)
    shared = SharedTrunk(task, parameters, images.batches(seed), workers=setting.workers)
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
