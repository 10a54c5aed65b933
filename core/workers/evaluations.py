"""Looks at the held-out text that somebody waits for."""

import asyncio
import math
from typing import Final

from core.base.problems import WorkerProblem
from core.base.work import Evaluated

RESUME_HINT: Final = "Resume contributing, then try again."


class AwaitedEvaluations:
    """Requests for an evaluation that the worker has not answered yet; one answer is for all of them."""

    def __init__(self) -> None:
        self._asking: list[asyncio.Future[Evaluated]] = []

    async def answer(self) -> Evaluated:
        """Wait for the worker's next answer.

        Raises:
            WorkerProblem: the worker ended or was suspended meanwhile, or its loss is not finite.
        """
        future: asyncio.Future[Evaluated] = asyncio.get_running_loop().create_future()
        self._asking.append(future)
        return await future

    def answered(self, frame: Evaluated) -> None:
        """The worker has looked at the held-out text."""
        asking, self._asking = self._asking, []
        for future in asking:
            if future.done():
                continue
            if math.isfinite(frame.score.loss):
                future.set_result(frame)
            else:
                future.set_exception(
                    WorkerProblem("The model's loss is not a finite number.", hint="Its learning rate may be too high.")
                )

    def fail(self, problem: WorkerProblem) -> None:
        """Tell all who wait that there will be no answer, and why."""
        asking, self._asking = self._asking, []
        for future in asking:
            if not future.done():
                future.set_exception(problem)
