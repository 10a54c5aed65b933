"""How a worker computes gradients: on several devices, each at its own pace; or in flights, where there are experts."""

import math
from collections.abc import Callable, Iterable
from typing import Final

from core.base.problems import BadInput, WorkerProblem
from core.tasks.task import Batch, Evaluation
from core.training.devices.held_replicas import HeldReplicas
from core.training.devices.micro_batch import samples_that_fit
from core.training.devices.replica import Replica
from core.training.devices.replica_thread import ReplicaThread, said
from core.training.flights.calls import CallCarrier
from core.training.flights.flight import Turn
from core.training.flights.flights import FLIGHTS_MIN, Flights, NotMeasured
from core.training.flights.passes import TrunkPasses
from core.training.rules import Rule
from core.training.samples.samples import Drawn, RowsInHand
from core.workers.flight_frames import FlightNews

MEASURED_S: Final = 1.0
"""Time over which the speed of flights is measured, many of which may land at once."""
SMOOTHED_S: Final = 10.0
"""Time after which a speed counts e times less."""
WAIT_S: Final = 0.05
"""Time between two looks for a batch while text lacks."""
REST_S_MAX: Final = 1.0
"""No flight begins for so long after many were lost, and for `WAIT_S` after one."""
MEASURING_S: Final = 60.0
"""Least time in which flights that measure are waited for."""
ENDS: Final = frozenset({Turn.LANDED, Turn.NOT_FINITE, Turn.LOST, Turn.OLD})


class Replicas:
    """The devices of one worker, as they compute.

    One, the lead, computes in its caller's thread, the others beside it: no device waits for another.  Each starts with
    the first device's parameters, and all others than the first add up their gradients.  When they are to stand still,
    these sums are added to the rule's in the order of the devices, so that the result follows from what each has
    computed.

    Where a rule takes local steps, the others stand still after each pass of the lead.

    Args:
        first: Has the parameters.
        rule: Gets all gradients.
        rows: Told whose gradients the rule has.
        clock: Seconds that only go forward.
        others: All other devices that are to compute.
    """

    def __init__(
        self, first: Replica, rule: Rule, rows: RowsInHand, clock: Callable[[], float], *, others: Iterable[str]
    ) -> None:
        self.held = HeldReplicas(first, rule, rows, clock, others)
        """Which devices these are."""
        self._first = first
        self._rule = rule
        self._rows = rows
        self._clock = clock
        self._running = False

    @property
    def beside(self) -> int:
        """Samples that the rule gets at the next rest."""
        return sum(other.sum.samples for other in self.held.others)

    @property
    def samples(self) -> int:
        """The rule's samples, and those that it gets at the next rest."""
        return self._rule.samples + self.beside

    @property
    def loss(self) -> float:
        """Mean loss of all these samples, in the task's unit; 0 while there are none."""
        beside = self.beside
        if not beside:
            return self._rule.loss
        loss = sum(other.sum.loss for other in self.held.others)
        return (self._rule.loss * self._rule.samples + loss) / (self._rule.samples + beside)

    @property
    def samples_per_s(self) -> float:
        """Smoothed speed of all devices together."""
        others = sum(other.replica.samples_per_s for other in self.held.others if not other.failure)
        return others + (self._first.samples_per_s if self.held.lead is self._first else 0.0)

    def accumulate(self) -> bool:
        """Compute one batch in this thread, and let the other devices compute beside it from now on.

        Returns:
            Whether that batch counted.

        Raises:
            BadInput: there is nothing to learn from.
            WorkerProblem: memory does not suffice for a single sample on the first device.
        """
        self._start()
        lead = next((other for other in self.held.others if other.replica is self.held.lead), None)
        counted = self._first.compute(self._add) if lead is None else self._led(lead)
        for replica in self.held.each:
            replica.keep_fit()
        return counted

    def rest(self) -> None:
        """Wait until no device computes; then the rule has all gradients."""
        if not self._running:
            return
        self._running = False
        for other in self.held.others:
            other.ask_to_stop()
        for other in self.held.others:
            other.stop()
            self._collect(other)
            if other.failure:
                self.held.leave(other, other.failure)

    def _collect(self, other: ReplicaThread) -> None:
        """The rule gets the gradients of a device that stands still."""
        try:
            self._rule.take(other.sum)
        except RuntimeError as error:
            other.failure = other.failure or said(error)
            self._rows.give_up(other.rows)
        for rows in other.rows:
            self._rows.count(rows)
        other.rows.clear()

    def _start(self) -> None:
        if self._running:
            return
        self._running = True
        for other in self.held.others:
            try:
                other.begin(self._first.parameters.values_N)
                if other.replica is not self.held.lead:
                    other.start()
            except RuntimeError as error:
                self.held.leave(other, said(error))

    def _add(self, drawn: Drawn[Batch], loss: float) -> bool:
        if self.held.others and self._rule.batch_max is not None:
            began = self._clock()
            self.rest()
            self._first.idle_s += self._clock() - began
        counted = self._rule.add(samples=drawn.batch.samples, loss=loss)
        if counted:
            self._rows.count(drawn.rows)
        return counted

    def _led(self, lead: ReplicaThread) -> bool:
        """Compute one batch on another device than the first, which is left out."""
        try:
            counted = lead.compute()
        except BadInput:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the other devices go on
            lead.failure, counted = said(error), True
        if self._rule.batch_max is not None:
            self.rest()
            self._rule.add(samples=0, loss=0.0)  # a batch of none, after which a local step is taken if it is due
        elif lead.failure:
            self.rest()
        return counted


class ReplicaFlights:
    """The flights of a worker, on its first device: where their batches come from, and where their gradients go.

    Args:
        passes: What the trunk computes.
        carrier: Carries calls to experts.
        replica: Has the trunk, and its batches.
        rule: Gets the gradients.
        rows: Told whose gradients the rule has, and whose are lost.
        clock: Seconds that only go forward.
    """

    def __init__(
        self,
        passes: TrunkPasses,
        carrier: CallCarrier,
        *,
        replica: Replica,
        rule: Rule,
        rows: RowsInHand,
        clock: Callable[[], float],
    ) -> None:
        self._replica = replica
        self._rule = rule
        self._rows = rows
        self._clock = clock
        self.samples_per_s = 0.0
        """Smoothed speed; rests are part of the time."""
        self._landed, self._landed_at = 0, clock()
        """Samples that have landed since then."""
        room = samples_that_fit(passes.sample_bytes) / replica.micro_batch.size
        most = min(passes.numbers.flights, max(FLIGHTS_MIN, int(room)))
        self.under_way = Flights(passes, carrier, self, most=most)
        self._carrier = carrier
        self.patience_s = max(MEASURING_S, 2 * passes.numbers.layers * passes.numbers.patience_s)
        """Time after which flights that measure are given up: where nobody lives in a layer they wait for ever."""
        self._lost, self._rests_until = 0, 0.0
        """Number of flights that were lost since one has landed; and until when none begins."""
        self.idle_s = 0.0
        """How long to wait for news, where all flights waited at the last step and no other one could begin."""

    def step(self, *, begin: bool) -> bool | None:
        """Take one turn; returns whether a gradient counts, or None: no flight has ended, or one was lost.

        Args:
            begin: Whether a flight may begin.

        Raises:
            BadInput: there is nothing to learn from.
        """
        now = self._clock()
        rested = now >= self._rests_until
        turn = self.under_way.turn(begin=begin and rested, again=rested)
        if turn is Turn.LOST:
            self._lost += 1
            self._rests_until = now + min(REST_S_MAX, WAIT_S * self._lost)
        elif turn is Turn.LANDED:
            self._lost = 0
        self.idle_s = WAIT_S if turn is Turn.NOTHING else 0.0
        return turn is Turn.LANDED if turn in {Turn.LANDED, Turn.NOT_FINITE} else None

    def hear(self, news: FlightNews) -> None:
        """The engine has told something of experts, on which flights may go on."""
        self.idle_s = 0.0
        self._carrier.take(news)

    def accumulate(self) -> bool:
        """Take turns until a flight ends, where experts answer at once; returns whether its gradient counts.

        Raises:
            BadInput: there is nothing to learn from.
        """
        while (turn := self.under_way.turn()) not in ENDS:
            if turn is Turn.NOTHING:
                self._replica.data.wait(WAIT_S)
        return turn is Turn.LANDED

    def evaluate(self) -> Evaluation:
        """Measure the trunk with its experts, where these answer at once.

        Raises:
            WorkerProblem: they do not answer.
        """
        self.under_way.measure()
        try:
            while (found := self.under_way.measured) is None:
                self.under_way.turn(begin=False)
        except NotMeasured:
            raise WorkerProblem("Too few experts answer to measure the model.") from None
        return found

    @property
    def epoch(self) -> int:
        """Steps that the trunk has taken."""
        return self._rule.epoch

    def draw(self) -> Drawn[Batch] | None:
        """The next batch, if one is there (`Airfield`)."""
        return next(self._replica.data) if self._replica.data.wait(0.0) else None

    def land(self, drawn: Drawn[Batch], loss: float) -> bool:
        """Give the rule a gradient; returns whether it counts."""
        counted = self._rule.add(samples=drawn.batch.samples, loss=loss)
        if not counted:
            return False
        self._rows.count(drawn.rows)
        now = self._clock()
        self._landed += drawn.batch.samples
        seconds = now - self._landed_at
        if seconds >= MEASURED_S:
            kept = math.exp(-seconds / SMOOTHED_S) if self.samples_per_s else 0.0
            self.samples_per_s = kept * self.samples_per_s + (1 - kept) * self._landed / seconds
            self._landed, self._landed_at = 0, now
        return True

    def lose(self, drawn: Drawn[Batch]) -> None:
        """Have the rows of a lost flight drawn again."""
        self._rows.give_up([drawn.rows])
