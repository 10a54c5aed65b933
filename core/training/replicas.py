"""Several devices that compute the gradients of one worker, each at its own pace."""

# ruff: noqa: N803 - names of arrays end in their shapes

import copy
import sys
import threading
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Final

import torch

from core.base.problems import Problem, WorkerProblem
from core.tasks.task import Batch
from core.training.duty import DutyCycle
from core.training.flat import FlatParameters
from core.training.replica import Passes, Replica
from core.training.rules import Rule
from core.training.rules.sums import GradientSum
from core.training.samples import Drawn, Rows, RowsInHand

MEANINGLESS_BATCHES_MAX: Final = 100
"""So many gradients in a row that are not finite mean that the model, or the device, is of no use any more."""
DATA_S: Final = 0.1
"""A thread that lacks text looks so often whether it is to stop."""


class ReplicaThread:
    """A replica with a thread of its own, which adds up its gradients.  While that stands still, all is the owner's.

    Args:
        replica: Computes.
        clock: Seconds that only go forward.
    """

    def __init__(self, replica: Replica, clock: Callable[[], float]) -> None:
        self.replica = replica
        self.sum = GradientSum(torch.zeros_like(replica.parameters.values_N))
        self.rows: list[Rows] = []
        """Whose gradients are in the sum."""
        self.failure = ""
        """Why it computes no more, in a sentence; empty while it can."""
        self.duty = DutyCycle(clock)
        """How long it rests after each pass."""
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def memory(self) -> tuple[torch.Tensor, ...]:
        """All that it holds on its device between two passes."""
        return (*self.replica.parameters.memory, self.sum.gradients_N)

    def start(self, values_N: torch.Tensor) -> None:
        """Compute with these parameters from now on, until it is stopped or fails.

        Raises:
            RuntimeError: the device cannot be written any more.
        """
        self.replica.parameters.values_N.copy_(values_N)
        self._stopped.clear()
        self._thread = threading.Thread(target=self._compute, name=f"replica on {self.replica.device}", daemon=True)
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Let the pass in hand be the last."""
        self._stopped.set()

    def stop(self) -> None:
        """Wait for the end of the pass in hand."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _compute(self) -> None:
        meaningless = 0
        try:
            while not self._stopped.wait(self.duty.rest_s):
                if not self.replica.data.wait(DATA_S):
                    continue
                self.duty.pass_begins()
                meaningless = 0 if self.replica.compute(self._add) else meaningless + 1
                self.duty.pass_ends()
                if meaningless >= MEANINGLESS_BATCHES_MAX:
                    raise WorkerProblem("Its numbers are not finite.")  # noqa: TRY301 - ends like the others
        except Exception as error:  # noqa: BLE001 - whatever it is, the other devices go on
            self.failure = said(error)

    def _add(self, drawn: Drawn[Batch], loss: float) -> bool:
        counted = self.sum.add(self.replica.parameters.gradients_N, samples=drawn.batch.samples, loss=loss)
        if counted:
            self.rows.append(drawn.rows)
        return counted


class Replicas:
    """The devices of one worker.

    The first one computes in its caller's thread, the others beside it: no device waits for another.  Each of these
    starts with the first device's parameters, and adds up its gradients.  When they are to stand still, these sums are
    added to the rule's in the order of the devices, so that the result follows from what each has computed.

    Where a rule takes local steps, the others stand still after each pass of the first.

    A device that fails leaves, with a sentence in the log; that the first one fails is its caller's problem.

    Args:
        first: Has the parameters.
        rule: Gets all gradients.
        rows: Told whose gradients the rule has.
        clock: Seconds that only go forward.
    """

    def __init__(self, first: Replica, rule: Rule, rows: RowsInHand, clock: Callable[[], float]) -> None:
        self._first = first
        self._rule = rule
        self._rows = rows
        self._clock = clock
        self._others: list[ReplicaThread] = []
        self._running = False
        self.left_out: Collection[str] = ()
        """Devices, as torch calls them, that compute nothing while the others do; changed while all stand still."""
        self.left: list[str] = []
        """A sentence for each device that has left."""
        weakref.finalize(self, _stop, self._others)

    @property
    def others(self) -> Sequence[ReplicaThread]:
        """All devices except the first, in their order."""
        return tuple(self._others)

    @property
    def each(self) -> list[Replica]:
        """Of every device, the first one's first."""
        return [self._first, *(other.replica for other in self._others)]

    @property
    def beside(self) -> int:
        """Samples that the rule gets at the next rest."""
        return sum(other.sum.samples for other in self._others)

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
        loss = sum(other.sum.loss for other in self._others)
        return (self._rule.loss * self._rule.samples + loss) / (self._rule.samples + beside)

    @property
    def samples_per_s(self) -> float:
        """Smoothed speed of all devices together."""
        able = [other.replica for other in self._others if not other.failure]
        return sum(one.samples_per_s for one in (self._first, *able) if one.device not in self.left_out)

    def add(self, passes: Passes, model: torch.nn.Module, device: str) -> None:
        """Have another device compute, with a copy of the first one's model; if it cannot, it has left."""
        try:
            own = copy.deepcopy(model).to(device)
            self._others.append(ReplicaThread(Replica(passes, own, FlatParameters(own)), self._clock))
        except (RuntimeError, MemoryError) as error:  # torch has no narrower kind for what drivers say
            self._leaves(device, said(error))

    def accumulate(self) -> bool:
        """Compute one batch on the first device, and let the others compute beside it from now on.

        Where the first one is left out the others go on; but local steps are taken on the first.

        Returns:
            Whether that batch counted; True also where the first one is left out.

        Raises:
            BadInput: there is nothing to learn from.
            WorkerProblem: memory does not suffice for a single sample on the first device.
        """
        if self._first.device in self.left_out:
            if self._rule.batch_max is None:
                self._start()
            return True
        self._start()
        counted = self._first.compute(self._add)
        for replica in self.each:
            replica.keep_fit()
        return counted

    def set_share(self, percent: int) -> None:
        """From now on all devices except the first compute in this percentage of the time; they stand still."""
        for other in self._others:
            other.duty.set_share(percent)

    def rest(self) -> None:
        """Wait until no device computes; then the rule has all gradients."""
        if not self._running:
            return
        self._running = False
        for other in self._others:
            other.ask_to_stop()
        for other in self.others:
            other.stop()
            try:
                self._rule.take(other.sum)
            except RuntimeError as error:
                other.failure = other.failure or said(error)
                self._rows.give_up(other.rows)
            for rows in other.rows:
                self._rows.count(rows)
            other.rows.clear()
            if other.failure:
                self.leave(other, other.failure)

    def leave(self, other: ReplicaThread, why: str) -> None:
        """Go on without a device.

        Args:
            other: Stands still.
            why: A sentence.
        """
        self._others.remove(other)
        self._rows.give_up([drawn.rows for drawn in other.replica.data.close()])
        self._leaves(other.replica.device, why)

    def _start(self) -> None:
        if self._running:
            return
        self._running = True
        for other in self.others:
            if other.replica.device in self.left_out:
                continue
            try:
                other.start(self._first.parameters.values_N)
            except RuntimeError as error:
                self.leave(other, said(error))

    def _add(self, drawn: Drawn[Batch], loss: float) -> bool:
        if self._others and self._rule.batch_max is not None:
            began = self._clock()
            self.rest()
            self._first.idle_s += self._clock() - began
        counted = self._rule.add(samples=drawn.batch.samples, loss=loss)
        if counted:
            self._rows.count(drawn.rows)
        return counted

    def _leaves(self, device: str, why: str) -> None:
        self.left.append(f"The device {device} trains no more: {why}")
        rest = ", ".join(replica.device for replica in self.each)
        sys.stderr.write(f"{self.left[-1]} Training goes on with {rest}.\n")


def said(error: Exception) -> str:
    """What an exception says, as a sentence."""
    text = error.message if isinstance(error, Problem) else str(error)
    line = (text.strip() or type(error).__name__).splitlines()[0][:200]
    return line if line.endswith(".") else f"{line}."


def _stop(others: Sequence[ReplicaThread]) -> None:
    """Have no thread within a library's code when the program ends: that would abort it."""
    for other in others:
        other.ask_to_stop()
    for other in others:
        other.stop()
