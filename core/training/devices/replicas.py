"""Several devices that compute the gradients of one worker, each at its own pace."""

from collections.abc import Callable

from core.base.problems import BadInput
from core.tasks.task import Batch
from core.training.devices.held_replicas import HeldReplicas
from core.training.devices.replica import Replica
from core.training.devices.replica_thread import ReplicaThread, said
from core.training.rules import Rule
from core.training.samples.samples import Drawn, RowsInHand


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
    """

    def __init__(self, first: Replica, rule: Rule, rows: RowsInHand, clock: Callable[[], float]) -> None:
        self.held = HeldReplicas(first, rule, rows, clock)
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
