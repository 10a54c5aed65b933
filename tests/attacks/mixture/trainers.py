"""The trainers of a simulated town, of whom some lie, and what they learn from."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, Protocol

import numpy as np
from torch import Tensor, nn

from core.base.ids import PeerId
from core.base.mixture import ExpertNumbers
from core.engine.mixture_desk import wish_of
from core.swarm.experts.records import Mixture
from core.tasks.digits import Digits, DigitsBatch
from core.tasks.digits_cutting import CLASSES
from core.training.devices.precision import FP32
from core.training.flights.calls import AskExpert
from core.training.flights.carrier import EngineCarrier
from core.training.flights.flight import Turn
from core.training.flights.flights import Flights
from core.training.flights.passes import TrunkPasses
from core.training.samples.samples import Drawn
from core.workers import flight_frames
from tests.attacks.mixture.lies import Lies

TURN_S: Final = 0.005
"""Time that a trainer takes to move a flight on."""
PIXELS: Final = 16
ROWS: Final = 128
"""Images of a batch."""


class Home(Protocol):
    """The town, as far as trainers know it."""

    numbers: ExpertNumbers
    mixture: Mixture
    lies: Lies
    task: Digits
    trunk: nn.Module
    seed: int
    epoch: int
    lost: int
    trains: bool

    def land(self, loss: float, *, counts: bool) -> bool: ...

    def deliver(self, peer: PeerId, event: Any) -> None: ...

    def later(self, seconds: float, do: Callable[[], None]) -> None: ...


def images(rows: int, random: np.random.Generator) -> np.ndarray:
    """Rows of images, each with one of five patterns and two signs; no linear trunk tells whether these are alike."""
    pattern_P, first_P, second_P = np.random.default_rng(99).choice([-45, 45], (3, CLASSES // 2, PIXELS))
    kind_B, (one_B, other_B) = random.integers(0, CLASSES // 2, rows), random.integers(0, 2, (2, rows))
    signs_B1, others_B1 = (2 * one_B - 1)[:, None], (2 * other_B - 1)[:, None]
    middle = 128 + pattern_P[kind_B] + signs_B1 * first_P[kind_B] + others_B1 * second_P[kind_B]
    pixels = np.clip(middle + random.normal(0, 45, (rows, PIXELS)), 0, 255)
    return np.column_stack([2 * kind_B + (one_B ^ other_B), pixels]).astype(np.uint16)


class LyingCarrier(EngineCarrier):
    """Gives experts other gradients than those of its batches, and maybe more of them."""

    lie: Callable[[Tensor], Tensor] | None = None
    repeats = 1

    def ask(self, ask: AskExpert) -> None:
        if ask.gradient_rW is not None and self.lie is not None:
            ask = replace(ask, gradient_rW=self.lie(ask.gradient_rW))
            for again in range(1, self.repeats):
                super().ask(replace(ask, call=ask.call + again * 10**9))
        super().ask(ask)


class Trainer:
    """A peer that trains, and the field where its flights begin and land.

    Args:
        town: Where it lives.
        peer: Its name.
        number: Which of the trainers.
    """

    def __init__(self, town: Home, peer: PeerId, number: int) -> None:
        self.town, self.peer = town, peer
        lie = town.lies.of_trainer(number, town.seed)
        self.lies = lie is not None
        self.carrier = LyingCarrier(town.numbers, self._say)
        self.carrier.lie, self.carrier.repeats = lie, town.lies.repeats
        self.passes = TrunkPasses(town.task, town.trunk, town.numbers, FP32)
        self.flights = Flights(self.passes, self.carrier, self, most=town.numbers.flights)
        self._batches = self._drawn(np.random.default_rng((town.seed, number)))
        self._awake = False

    @property
    def epoch(self) -> int:
        return self.town.epoch

    def draw(self) -> Drawn[DigitsBatch] | None:
        return Drawn(next(self._batches), ())

    def land(self, drawn: Drawn[DigitsBatch], loss: float) -> bool:
        del drawn
        return self.town.land(loss, counts=not self.lies)

    def lose(self, drawn: Drawn[DigitsBatch]) -> None:
        self.town.lost += 1

    def take(self, frame: flight_frames.FlightNews) -> None:
        self.carrier.take(frame)
        self.wake()

    def wake(self) -> None:
        if not self._awake:
            self._awake = True
            self.town.later(TURN_S, self._turn)

    def _turn(self) -> None:
        self._awake = False
        if self.flights.turn(begin=self.town.trains) is not Turn.NOTHING:
            self.wake()

    def _say(self, frame: flight_frames.FlightWish) -> None:
        self.town.deliver(self.peer, wish_of(frame, self.town.numbers, self.town.mixture.grid))

    def _drawn(self, random: np.random.Generator) -> Iterator[DigitsBatch]:
        while True:
            yield self.town.task.batch(images(ROWS, random), np.zeros(ROWS, np.uint64))
