"""One batch on its way through the layers of experts, and back.

Kept is what goes into each layer and what was answered; all else is computed again on the way back (Learning@home,
section 3.3).  A row for which nobody answers ends the flight.  An expert that does not answer backward counts as a
constant.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

from collections.abc import Iterator, Sequence
from enum import Enum, auto

import torch

from core.experts.queue import CallKind
from core.tasks.task import Batch
from core.training.flights.calls import AskExpert, ExpertAnswered, SeekPlaces
from core.training.flights.passes import NONE, Answer, Passed, TrunkPasses
from core.training.samples.samples import Drawn

Origin = Drawn[Batch] | int
"""Where a flight's batch is from: from what is learned; or the place of one that is held out, which is measured."""


class Turn(Enum):
    """What a turn has come to."""

    NOTHING = auto()
    """All flights wait, and no other one can begin."""
    MOVED = auto()
    """A flight has begun, or moved on."""
    LANDED = auto()
    """A flight's gradient was added, or what it measures is known."""
    NOT_FINITE = auto()
    """What the trunk makes of a batch is not finite, before any expert was asked."""
    LOST = auto()
    """A flight has ended on its way: nobody has answered for some of its rows, or what follows is not finite."""
    OLD = auto()
    """A flight has ended on its way, since the trunk has taken too many steps."""


class Flight:
    """A batch under way.

    Args:
        passes: What the trunk computes.
        batch: What it carries.
        origin: Where the batch is from.
        epoch: Steps that the trunk had taken when it began.
        numbers: Gives numbers that no other flight and call has.
    """

    def __init__(
        self, passes: TrunkPasses, batch: Batch, origin: Origin, *, epoch: int, numbers: Iterator[int]
    ) -> None:
        self.number = next(numbers)
        self.origin = origin
        self.batch = batch
        self.epoch = epoch
        self.open: dict[int, AskExpert] = {}
        """Calls that have no answer yet."""
        self.has_asked = False
        """Whether any expert was asked for it."""
        self.suspects: list[int] = []
        """Calls whose answers were larger than honest ones are."""
        self.loss = 0.0
        self.last = torch.empty(0)
        """What comes out of the last layer, where it measures."""
        self.found = passes.gradient()
        """The trunk's gradient of the sum of the samples' losses, as far as it has come back."""
        self._passes = passes
        self._numbers = numbers
        self._answers: list[Answer] = []
        """Those of the stage in hand."""
        self._layers: list[Passed] = []
        """Those that it has passed on its way there, and not yet on its way back."""
        self._backward = False
        self._gradient = self._gradient_RW = torch.empty(0)
        """Gradients of what goes into the layer in hand, without what its experts add; and of its rows, by these."""

    def begin(self) -> SeekPlaces | Turn:
        """Compute the first stage, and ask for experts of the first layer."""
        return self._enter(self._passes.first(self.batch))

    def sought(self, places_RK: torch.Tensor) -> Sequence[AskExpert]:
        """The calls for the layer in hand, to the experts that were found."""
        passed = self._layers[-1]
        passed.places_RK = places_RK
        passed.answers_RKW = passed.rows_RW.new_zeros((*places_RK.shape, passed.rows_RW.shape[1]))
        passed.answered_RK = torch.zeros(places_RK.shape, dtype=torch.bool, device=passed.rows_RW.device)
        return self._ask(CallKind.FORWARD, places_RK)

    def take(self, answered: ExpertAnswered) -> None:
        """Take an answer to an open call; one that does not fit, or is not finite, counts as none."""
        ask, found_rW = self.open[answered.call], answered.found_rW
        if found_rW.shape == ask.x_rW.shape and bool(found_rW.isfinite().all().item()):
            self._answers.append((ask, found_rW))
            self._layers[-1].versions[ask.place] = answered.version

    def move(self) -> SeekPlaces | Sequence[AskExpert] | Turn:
        """Compute the stage for which the answers are here; returns what comes next, or how the flight has ended."""
        passes, passed, layer = self._passes, self._layers[-1], len(self._layers) - 1
        self._put_answers(passed, layer)
        if self._backward:
            gradient = self._gradient + passes.back_rows(layer, passed.x, self._gradient_RW, self.found)
            self._layers.pop()
            if self._layers:
                return self._back(gradient)
            passes.back_first(self.batch, gradient, self.found)
            return Turn.LANDED
        if not passed.settle(passes.numbers.top):
            return Turn.LOST
        x = passes.onward(layer, passed)
        if layer + 1 < passes.numbers.layers:
            return self._enter(x)
        if isinstance(self.origin, int):
            self.last = x
            return Turn.LANDED
        self._backward = True
        self.loss, gradient = passes.last(x, self.batch, self.found)
        return self._back(gradient)

    def _put_answers(self, passed: Passed, layer: int) -> None:
        answers, suspects = self._passes.bounds[layer].bounded(self._answers)
        self._answers = []
        self.suspects += suspects
        for ask, found_rW in answers:
            if self._backward:
                self._gradient_RW[ask.rows_r] += found_rW
            else:
                column_r = (passed.places_RK[ask.rows_r] == ask.place).int().argmax(1)
                passed.answers_RKW[ask.rows_r, column_r] = found_rW
                passed.answered_RK[ask.rows_r, column_r] = True

    def _enter(self, x: torch.Tensor) -> SeekPlaces | Turn:
        rows_RW, scores_RG = self._passes.offer(len(self._layers), x)
        if not _is_finite(rows_RW, scores_RG):
            return Turn.NOT_FINITE
        nothing = torch.empty(0)
        self._layers.append(Passed(x, rows_RW, nothing, nothing, nothing))
        return SeekPlaces(self.number, len(self._layers) - 1, scores_RG)

    def _back(self, gradient: torch.Tensor) -> Sequence[AskExpert] | Turn:
        passed = self._layers[-1]
        self._gradient, gradients_RKW = self._passes.back(len(self._layers) - 1, passed, gradient, self.found)
        if not _is_finite(gradients_RKW):
            return Turn.NOT_FINITE
        self._gradient_RW = torch.zeros_like(passed.rows_RW)
        answered_RK = passed.answered_RK.to(passed.places_RK.device)
        return self._ask(CallKind.BACKWARD, passed.places_RK.masked_fill(~answered_RK, NONE), gradients_RKW)

    def _ask(
        self, kind: CallKind, places_RK: torch.Tensor, gradients_RKW: torch.Tensor | None = None
    ) -> Sequence[AskExpert]:
        """Have each of some places compute its rows."""
        passed, asks = self._layers[-1], []
        self.has_asked = True
        for place in torch.unique(places_RK).tolist():
            if place != NONE:
                rows_r, column_r = (places_RK == place).nonzero(as_tuple=True)
                ask = AskExpert(
                    call=next(self._numbers),
                    flight=self.number,
                    layer=len(self._layers) - 1,
                    place=place,
                    kind=kind,
                    rows_r=rows_r,
                    x_rW=passed.rows_RW[rows_r],
                    gradient_rW=None if gradients_RKW is None else gradients_RKW[rows_r, column_r],
                    seen=passed.versions.get(place, 0),
                )
                asks.append(ask)
        self.open = {ask.call: ask for ask in asks}
        return asks


def _is_finite(*tensors: torch.Tensor) -> bool:
    return all(bool(tensor.isfinite().all().item()) for tensor in tensors)
