"""Stands in for a trainer in an engine that trains nothing: it averages the others' contributions."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from core.api.snapshot import LossView
from core.base.problems import Problem, WorkerProblem
from core.swarm import orders
from core.swarm.participant import Participant
from core.workers import frames


class Helper:
    """Has the face of `core.workers.trainer.Trainer`, and no process.

    Args:
        participant: Helps while the person contributes.
        room_bytes: Memory for that.
        perform: Does what the participant returns.
        changed: Told when something that people see has changed.
        now: Unix seconds.
    """

    pid: int | None = None
    ready = False
    loss = LossView()

    def __init__(
        self,
        *,
        participant: Participant,
        room_bytes: int,
        perform: Callable[[Sequence[Any]], None],
        changed: Callable[[], None],
        now: Callable[[], float],
    ) -> None:
        self._participant = participant
        self._room_bytes = room_bytes
        self._perform = perform
        self._changed = changed
        self._now = now
        self.problem: Problem | None = None

    def resume(self) -> None:
        """Begin to help, since the person contributes."""
        if not self._participant.standby.helping:
            self._perform(self._participant.help(self._room_bytes, self._now()))
            self._changed()

    async def pause(self) -> None:
        """The person pauses: the round that runs is left."""
        if self._participant.standby.helping:
            self._perform(self._participant.help(0, self._now()))
            self._changed()

    async def run(self) -> None:
        """Do nothing until cancelled; there is no worker."""
        await asyncio.Event().wait()

    def order(self, order: orders.TrainerOrder) -> None:
        """Ignore an order: there is no worker to carry it out."""

    async def evaluate(self) -> frames.Evaluated:
        """Nobody is here to look at the held-out text.

        Raises:
            WorkerProblem: always.
        """
        raise WorkerProblem(
            "This computer helps with averaging and holds no model.", hint="Ask on a computer that trains."
        )
