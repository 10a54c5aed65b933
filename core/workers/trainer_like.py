"""What an engine keeps for a collaboration: a trainer, or what stands in its place where nothing is trained."""

from typing import Protocol

from core.api.snapshot import LossView
from core.base.problems import Problem
from core.base.work import Evaluated
from core.swarm.words.orders import TrainerOrder
from core.workers.frames import Throttle


class TrainerLike(Protocol):
    """The face that `core.workers.trainer.Trainer` and `core.workers.helper.Helper` have in common."""

    problem: Problem | None
    """Why nothing is trained, if that is not the person's wish."""
    computes_on: str
    """The device that is computed on, as torch calls it; empty: not known, or nothing is computed."""
    device: str
    """What is computed on, as people call it; empty: not known, or nothing is computed."""
    loss: LossView
    """What the task's losses mean, and what this computer's last look at the held-out text gave."""

    @property
    def pid(self) -> int | None:
        """The worker's process number while it runs."""

    def resume(self) -> None:
        """The person contributes, so the trainer or helper may begin to compute."""

    async def pause(self, *, memory_s: float = 0.0) -> None:
        """The person pauses; returns when nothing is computed any more.

        Args:
            memory_s: Time for which a worker may keep its memory, to go on at once after `resume`; 0: it ends.
        """

    def throttle(self, limit: Throttle) -> None:
        """Use at most this much of the computer from now on."""

    async def run(self) -> None:
        """Do what the person wants, until cancelled."""

    def order(self, order: TrainerOrder) -> None:
        """Carry out an order of the participant."""

    async def evaluate(self) -> Evaluated:
        """Look at the held-out text.

        Raises:
            WorkerProblem: nobody is here who could.
        """
