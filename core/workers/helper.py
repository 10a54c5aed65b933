"""Stands in for a trainer in an engine that trains nothing: it averages the others' contributions."""

import asyncio
from collections.abc import Callable

from core.api.snapshot import LossView
from core.base.problems import Problem, WorkerProblem
from core.base.work import Evaluated
from core.swarm.words import orders
from core.swarm.words.facts import Help
from core.workers import frames


class Helper:
    """Has the face of `core.workers.trainer.Trainer`, and no process.

    Args:
        room_bytes: Memory to help with, while the person contributes.
        tell: Gives the participant an event.
        changed: Called when something that people see has changed.
    """

    pid: int | None = None
    computes_on = ""
    device = ""
    loss = LossView()

    def __init__(
        self,
        *,
        room_bytes: int,
        tell: Callable[[Help], None],
        changed: Callable[[], None],
    ) -> None:
        self._room_bytes = room_bytes
        self._tell = tell
        self._changed = changed
        self._helps = False
        self.problem: Problem | None = None

    def resume(self) -> None:
        """Begin to help, since the person contributes."""
        self._switch(on=True)

    async def pause(self, *, memory_s: float = 0.0) -> None:  # noqa: ARG002 - only rounds take memory here
        """The person pauses: the round that runs is left."""
        self._switch(on=False)

    def throttle(self, limit: frames.Throttle) -> None:
        """Ignore a limit: averaging takes little, and others wait for it."""

    async def run(self) -> None:
        """Do nothing until cancelled; there is no worker."""
        await asyncio.Event().wait()

    def order(self, order: orders.TrainerOrder) -> None:
        """Ignore an order: there is no worker to carry it out."""

    async def evaluate(self) -> Evaluated:
        """Nobody is here to look at the held-out text.

        Raises:
            WorkerProblem: always.
        """
        raise WorkerProblem(
            "This computer helps with averaging and holds no model.", hint="Ask on a computer that trains."
        )

    def _switch(self, *, on: bool) -> None:
        if on is not self._helps:
            self._helps = on
            self._tell(Help(self._room_bytes if on else 0))
            self._changed()
