"""Workers that no engine drives: what a collaboration of the same workers is held against."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from core.backbone.charter import Charter
from core.base.problems import Problem
from core.base.work import Go, Hold, Progress
from core.workers.data_frames import DataAccess
from core.workers.frames import Failed, Start, ToEngine, WorkerReady
from core.workers.worker import Worker

READY_S: Final = 180.0


class LoneWorkers:
    """Workers that no engine drives; they stand still until `samples_per_s` is asked."""

    def __init__(self, workers: Sequence["_Driven"]) -> None:
        self._workers = workers

    async def samples_per_s(self, seconds: float) -> float:
        """Let all compute for so many seconds; samples of all a second.

        Raises:
            Problem: one computes nothing, or why it ended.
        """
        for worker in self._workers:
            worker.speaks.clear()
            worker.process.send(Go())
        try:
            async with asyncio.timeout(READY_S):
                for worker in self._workers:
                    await worker.speaks.wait()  # the first batch of all takes its time
        except TimeoutError as error:
            raise Problem("A worker of the measurement computes nothing.", hint="Is this computer too busy?") from error
        for worker in self._workers:
            worker.said.clear()
        await asyncio.sleep(seconds)
        for worker in self._workers:
            worker.process.send(Hold())
        return sum(worker.samples_per_s() for worker in self._workers)


class _Driven:
    """One worker, and what it said since it was last told to go."""

    def __init__(self, log: Path) -> None:
        self.process = Worker(log=log, on_frame=self._heard)
        self.ready = asyncio.Event()
        self.speaks = asyncio.Event()
        """Whether it has told of its progress, or failed, since it was last told to go."""
        self.said: list[tuple[float, int]] = []
        self.failure: Failed | None = None

    def samples_per_s(self) -> float:
        """By the first and the last word of its progress.

        Raises:
            Problem: it has said too little, or why it ended.
        """
        if self.failure is not None:
            raise Problem(self.failure.message, hint=self.failure.hint)
        if len(self.said) < 2:
            raise Problem("A worker of the measurement computes nothing.", hint="Is this computer too busy?")
        (began, first), (ended, last) = self.said[0], self.said[-1]
        return (last - first) / (ended - began)

    def _heard(self, frame: ToEngine) -> None:
        match frame:
            case WorkerReady():
                self.ready.set()
            case Progress():
                self.said.append((asyncio.get_running_loop().time(), frame.samples))
                self.speaks.set()
            case Failed():
                self.failure = frame
                self.ready.set()
                self.speaks.set()


@asynccontextmanager
async def workers_alone(charter: Charter, folder: Path, count: int) -> AsyncIterator[LoneWorkers]:
    """Start workers that no engine drives; they end with the context.

    Args:
        charter: Whose model they train.
        folder: For their files.
        count: Number of workers.
    """
    paths = [source.path for source in charter.manifest.sources if source.path]
    async with AsyncExitStack() as stack:
        driven = []
        for number in range(count):
            own = folder / f"alone-{number}"
            own.mkdir(parents=True)
            worker = _Driven(own / "worker.log")
            start = Start(
                manifest_path=str(charter.manifest_path),
                blobs_dir=str(charter.blobs),
                state_dir=str(own / "states"),
                arena_path=str(own / "arena"),
                seed=1000 + number,
                hold=True,
                data=DataAccess(folder=os.path.commonpath(paths) if paths else ""),
            )
            task = asyncio.create_task(worker.process.run(start))
            stack.push_async_callback(_ended, worker.process, task)
            driven.append(worker)
        try:
            async with asyncio.timeout(READY_S):
                for worker in driven:
                    await worker.ready.wait()
        except TimeoutError as error:
            raise Problem("The workers of the measurement do not start.", hint="Is this computer too busy?") from error
        yield LoneWorkers(driven)


async def _ended(worker: Worker[ToEngine], task: "asyncio.Task[int]") -> None:
    worker.kill()
    await task
