"""Measures the model when the engine wants it: at once, or by flights that go beside the training."""

import sys
from collections.abc import Callable

from core.base.work import Evaluated
from core.tasks.task import Evaluation
from core.training.flights.flights import NotMeasured
from core.training.learner import Learner
from core.workers.flight_frames import FlightsUnmeasured


class Measuring:
    """Answers the engine's Evaluate.

    Args:
        learner: Has the model.
        say: Sends a frame to the engine.
        clock: Seconds that only go forward.
    """

    def __init__(
        self,
        learner: Learner,
        say: Callable[[Evaluated | FlightsUnmeasured], None],
        clock: Callable[[], float],
    ) -> None:
        self._learner = learner
        self._say = say
        self._clock = clock
        self._until = 0.0
        """When flights that measure are given up."""
        self.under_way = False
        """Whether flights measure."""

    def begin(self) -> None:
        """Measure the model; `go_on` tells what flights have measured, once for all who ask meanwhile."""
        flights = self._learner.flights
        if flights is None:
            self._tell(self._learner.evaluate())
        elif not self.under_way:
            flights.under_way.measure()
            self.under_way = True
            self._until = self._clock() + flights.patience_s

    def again(self) -> None:
        """Measure another state, which was loaded while flights measured."""
        if self.under_way:
            self.under_way = False
            self.begin()

    def go_on(self) -> None:
        """Tell what flights have measured, once they have come to their end."""
        flights = self._learner.flights
        if not self.under_way or flights is None:
            return
        found, is_over = None, self._clock() >= self._until
        try:
            found = flights.under_way.measured
        except NotMeasured:
            is_over = True
        if found is not None:
            self.under_way = False
            self._tell(found)
        elif is_over:
            self.under_way = False
            flights.under_way.stop_measuring()
            sys.stderr.write("The model was not measured: experts that it takes do not answer.\n")
            self._say(FlightsUnmeasured())

    def _tell(self, found: Evaluation) -> None:
        epoch, baselines = self._learner.state.epoch, dict(found.baselines)
        self._say(Evaluated(epoch=epoch, score=found.score, baselines=baselines, filled=found.filled))
