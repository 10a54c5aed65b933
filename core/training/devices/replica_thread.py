"""A replica that computes in a thread of its own."""

# ruff: noqa: N803 - names of arrays end in their shapes

import threading
from collections.abc import Callable
from typing import Final

import torch

from core.base.problems import Problem, WorkerProblem
from core.tasks.task import Batch
from core.training.devices.duty import DutyCycle
from core.training.devices.replica import Replica
from core.training.rules.rule import GradientSum
from core.training.samples.samples import Drawn, Rows
from core.training.vectors.flat import move

MEANINGLESS_BATCHES_MAX: Final = 100
"""Gradients in a row that are not finite, after which the model, or the device, is given up."""
DATA_S: Final = 0.1
"""Time between two looks of a thread that lacks text whether it is to stop."""


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

    def move(self, device: str) -> None:
        """Have all that it holds between two passes on another device.

        Raises:
            RuntimeError: it has no room.
        """
        self.replica.parameters.move(device)
        move([self.sum.gradients_N], device)

    def begin(self, values_N: torch.Tensor) -> None:
        """Compute with these parameters from now on.

        Raises:
            RuntimeError: the device cannot be written any more.
        """
        self.replica.parameters.values_N.copy_(values_N)

    def start(self) -> None:
        """Compute in the own thread from now on, until it is stopped or fails."""
        self._stopped.clear()
        self._thread = threading.Thread(target=self._run, name=f"replica on {self.replica.device}", daemon=True)
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

    def compute(self) -> bool:
        """Compute one batch in the caller's thread; returns whether it counted."""
        return self.replica.compute(self._add)

    def _run(self) -> None:
        meaningless = 0
        try:
            while not self._stopped.wait(self.duty.rest_s):
                if not self.replica.data.wait(DATA_S):
                    continue
                self.duty.pass_begins()
                meaningless = 0 if self.compute() else meaningless + 1
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


def said(error: Exception) -> str:
    """What an exception says, as a sentence."""
    text = error.message if isinstance(error, Problem) else str(error)
    line = (text.strip() or type(error).__name__).splitlines()[0][:200]
    return line if line.endswith(".") else f"{line}."
