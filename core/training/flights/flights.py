"""Batches on their way through the layers of experts, and back: hundreds at once, and no thread that waits.

begin ~> layer 0 ~> ... ~> layer L-1 ~> last, its gradient ~> layer L-1 ~> ... ~> layer 0 ~> landed
          ~> experts are sought and asked forward              ~> those that have answered are asked backward
"""

from collections import Counter, deque
from collections.abc import Sequence
from itertools import count
from typing import Final, Protocol

import torch

from core.tasks.task import Batch, Evaluation
from core.training.flights.calls import (
    AskExpert,
    CallCarrier,
    CallNews,
    ExpertAnswered,
    ExpertLapsed,
    PlacesSought,
    SeekPlaces,
)
from core.training.flights.flight import Flight, Origin, Turn
from core.training.flights.passes import TrunkPasses
from core.training.samples.samples import Drawn

FLIGHTS_MIN: Final = 2
"""Number of flights that there may be in any case."""
MEASURED_LOSSES_MAX: Final = 3
"""The flight of a batch that is held out may be lost so often; then the model is not measured."""


class NotMeasured(Exception):  # noqa: N818 - nothing is wrong with this computer
    """Experts that measuring takes do not answer."""


class Airfield(Protocol):
    """The place where flights begin and land."""

    @property
    def epoch(self) -> int:
        """Steps that the trunk has taken."""

    def draw(self) -> Drawn[Batch] | None:
        """The next batch; None: there is none now."""

    def land(self, drawn: Drawn[Batch], loss: float) -> bool:
        """Take the mean gradient over a batch, which stands in the parameters; returns whether it is finite."""

    def lose(self, drawn: Drawn[Batch]) -> None:
        """Have the rows of a batch drawn again."""


class Flights:
    """The flights of one model: the one whose answers have been there longest is moved on first.

    Another one begins only where none has its answers.  So there are no more of them than it takes for one to have its
    answers always, however long they wait.  Nor are there more than come back before the trunk has taken
    two steps: a window grows with each that lands, and is halved where flights are lost for their age (additive
    increase, multiplicative decrease: Chiu, Jain 1989).

    Args:
        passes: What the model computes itself.
        carrier: Carries calls to experts.
        airfield: Where flights begin and land.
        most: Upper bound on their number.
    """

    def __init__(self, passes: TrunkPasses, carrier: CallCarrier, airfield: Airfield, *, most: int) -> None:
        self._passes = passes
        self._carrier = carrier
        self._airfield = airfield
        self._most = most
        self._window = min(FLIGHTS_MIN, float(most))
        """Number of flights that may be under way now."""
        self._lost_at = -1
        """Epoch at which flights were lost for their age; -1: none were yet."""
        self._numbers = count(1)
        self._flights: dict[int, Flight] = {}
        self._calls: dict[int, Flight] = {}
        self._ready: deque[Flight] = deque()
        self._again: deque[int] = deque()
        """Places of batches that are held out whose flights have ended on their way."""
        self._losses: Counter[int] = Counter()
        """By place of a batch that is held out: how often its flight has ended on its way."""
        self._measured: dict[int, torch.Tensor] = {}
        """By place of a batch that is held out: what came out of the last layer."""

    def __len__(self) -> int:
        return len(self._flights)

    def turn(self, *, begin: bool = True, again: bool = True) -> Turn:
        """Move a flight on, or begin another one.

        Args:
            begin: Whether one that learns may begin where none has its answers.
            again: Whether one that measures may begin there, after another one has ended on its way.
        """
        while news := list(self._carrier.heard()):
            for heard in news:
                self._hear(heard)
        if self._ready:
            flight = self._ready.popleft()
            return self._go_on(flight, Turn.OLD if self._is_old(flight) else flight.move())
        if again and self._again:
            place = self._again.popleft()
            return self._begin(self._passes.held_out[place], place)
        drawn = self._airfield.draw() if begin and len(self._flights) < int(self._window) else None
        if drawn is None:
            return Turn.NOTHING
        return self._begin(drawn.batch, drawn)

    def drop(self) -> None:
        """End all flights, those that measure included."""
        for flight in list(self._flights.values()):
            self._lose(flight)
        self.stop_measuring()

    def measure(self) -> None:
        """Have a flight begin for each batch that is held out; `measured` tells what comes of them."""
        self.stop_measuring()
        for place, batch in enumerate(self._passes.held_out):
            self._begin(batch, place)

    @property
    def measured(self) -> Evaluation | None:
        """How well the model does, once all flights that measure have come to the last layer; None: not yet.

        The trunk may have taken steps meanwhile: each stage is computed with the parameters of its time.

        Raises:
            NotMeasured: the flight of one batch was lost again and again.
        """
        if max(self._losses.values(), default=0) >= MEASURED_LOSSES_MAX:
            self.stop_measuring()
            raise NotMeasured
        if len(self._measured) < len(self._passes.held_out):
            return None
        return self._passes.measured([self._measured[place] for place in range(len(self._measured))])

    def stop_measuring(self) -> None:
        """Give up flights that measure, and what they have found."""
        for flight in [flight for flight in self._flights.values() if isinstance(flight.origin, int)]:
            self._end(flight)
        self._measured.clear()
        self._again.clear()
        self._losses.clear()

    def _is_old(self, flight: Flight) -> bool:
        """Whether a flight that learns has outlived more than one step of the trunk."""
        is_old = isinstance(flight.origin, Drawn) and not 0 <= self._airfield.epoch - flight.epoch <= 1
        if is_old and self._airfield.epoch > self._lost_at + 1:  # of those that are lost together the first
            self._window = max(FLIGHTS_MIN, self._window / 2)
            self._lost_at = self._airfield.epoch
        return is_old

    def _begin(self, batch: Batch, origin: Origin) -> Turn:
        flight = Flight(self._passes, batch, origin, epoch=self._airfield.epoch, numbers=self._numbers)
        self._flights[flight.number] = flight
        return self._go_on(flight, flight.begin())

    def _hear(self, heard: CallNews) -> None:
        match heard:
            case PlacesSought() if heard.flight in self._flights:
                flight = self._flights[heard.flight]
                self._go_on(flight, flight.sought(heard.places_RK))
            case ExpertAnswered() | ExpertLapsed() if heard.call in self._calls:
                flight = self._calls.pop(heard.call)
                if isinstance(heard, ExpertAnswered):
                    flight.take(heard)
                del flight.open[heard.call]
                if not flight.open:
                    self._ready.append(flight)

    def _go_on(self, flight: Flight, then: SeekPlaces | Sequence[AskExpert] | Turn) -> Turn:
        """Do what a flight wants next."""
        match then:
            case SeekPlaces():
                self._carrier.seek(then)
            case Turn.NOT_FINITE:
                for call in flight.suspects:
                    self._carrier.blame(call)
                self._lose(flight)
                return Turn.LOST if flight.has_asked else then
            case Turn.LOST | Turn.OLD:
                self._lose(flight)
                return then
            case Turn():
                return self._land(flight)
            case _:
                self._calls |= dict.fromkeys(flight.open, flight)
                for ask in then:
                    self._carrier.ask(ask)
                if not then:
                    self._ready.append(flight)
        return Turn.MOVED

    def _land(self, flight: Flight) -> Turn:
        if isinstance(flight.origin, int):
            self._end(flight)
            self._measured[flight.origin] = flight.last
            return Turn.MOVED
        flight.found.put(1 / flight.batch.samples)
        if not self._airfield.land(flight.origin, flight.loss):
            return self._go_on(flight, Turn.NOT_FINITE)
        self._end(flight)
        self._window = min(self._most, self._window + (1 if self._lost_at < 0 else 1 / self._window))
        return Turn.LANDED

    def _lose(self, flight: Flight) -> None:
        self._end(flight)
        if isinstance(flight.origin, Drawn):
            self._airfield.lose(flight.origin)
        else:
            self._losses[flight.origin] += 1
            if self._losses[flight.origin] < MEASURED_LOSSES_MAX:
                self._again.append(flight.origin)

    def _end(self, flight: Flight) -> None:
        del self._flights[flight.number]
        for call in flight.open:
            self._calls.pop(call, None)
        if flight in self._ready:
            self._ready.remove(flight)
        self._carrier.forget(flight.number)
