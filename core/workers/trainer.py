"""The trainer: keeps a worker process alive while the person contributes, and interprets for the participant.

Orders of the participant become frames on the pipe; frames of the worker become method calls of the participant, one
after the other, in the order in which the worker said them.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from core.api.snapshot import LossView
from core.averaging.codecs import FEEDBACK
from core.base.problems import Problem, WorkerProblem
from core.swarm import orders
from core.swarm.participant import Participant
from core.swarm.states import State, StateName
from core.system.atomic_files import make_directory
from core.workers import frames
from core.workers.arena import Arena
from core.workers.residual import ResidualFile, ResidualShape
from core.workers.state_files import DiskStateFile
from core.workers.worker import Worker

RESTART_MIN_S = 1.0
RESTART_MAX_S = 120.0
FATAL_CODES = frozenset({"bad_input", "no_space", "not_trusted", "damaged"})
"""Problems that a restart cannot mend: the person has to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerPlace:
    """Where a worker finds and leaves its things, and how it runs."""

    manifest: Path
    blobs: Path
    states: Path
    arena: Path
    """A folder."""
    log: Path
    residuals: Path
    """The file of what a coarse codec loses; made when the codec is one."""
    seed: int
    threads: int
    device: str
    last_epoch: int | None = None


class Trainer:
    """Keeps a worker process alive, and carries orders and reports between it and the participant.

    Args:
        participant: The swarm's member that the worker trains for.
        perform: Performs the participant's outputs (the host).
        ledger: The ledger as bytes, to be given to newcomers along with the state.
        changed: Called when something that people see has changed.
        now: The engine's clock, Unix seconds.
        command: The worker program; by default this program's own.
    """

    def __init__(  # noqa: PLR0913 - a seam between two processes needs both sides' names
        self,
        *,
        participant: Participant,
        place: TrainerPlace,
        perform: Callable[[Sequence[Any]], None],
        ledger: Callable[[], bytes],
        changed: Callable[[], None],
        now: Callable[[], float],
        random: Random,
        command: Sequence[str] | None = None,
    ) -> None:
        self._participant = participant
        self._place = place
        self._perform = perform
        self._ledger = ledger
        self._changed = changed
        self._now = now
        self._random = random
        self._command = command
        self._worker: Worker | None = None
        self._arena: Arena | None = None
        self._arena_path = place.arena
        self._residuals: ResidualFile | None = None
        self._wanted = asyncio.Event()
        self._stopped = asyncio.Event()
        self._stopped.set()
        self._asking: list[asyncio.Future[frames.Evaluated]] = []
        self._ready = False
        self.problem: Problem | None = None
        self.loss = LossView()
        """What the task's losses mean, and the newest baselines."""

    @property
    def pid(self) -> int | None:
        """The worker's process number while it runs."""
        return self._worker.pid if self._worker is not None else None

    @property
    def ready(self) -> bool:
        """Whether the worker has its model and can train."""
        return self._ready

    def resume(self) -> None:
        """The person contributes: start a worker, also after a problem."""
        self.problem = None
        self._wanted.set()

    async def pause(self) -> None:
        """The person pauses: the worker ends now; returns when it is gone."""
        self._wanted.clear()
        if self._worker is not None:
            self._worker.kill()
        await self._stopped.wait()

    async def evaluate(self) -> frames.Evaluated:
        """Have the worker look at the held-out text.

        Raises:
            WorkerProblem: no worker runs, or it ended meanwhile.
        """
        if self._worker is None or not self._ready:
            raise WorkerProblem("No training process runs.", hint="Resume contributing, then try again.")
        future: asyncio.Future[frames.Evaluated] = asyncio.get_running_loop().create_future()
        self._asking.append(future)
        self._worker.send(frames.Evaluate())
        return await future

    async def run(self) -> None:
        """Keep a worker running whenever one is wanted, until cancelled."""
        try:
            await self._keep_running()
        finally:
            if self._residuals is not None:
                self._residuals.close()

    async def _keep_running(self) -> None:
        delay_s = RESTART_MIN_S
        while True:
            await self._wanted.wait()
            started = self._now()
            await self._run_once()
            if not self._wanted.is_set():
                delay_s = RESTART_MIN_S
                continue
            if self.problem is not None and self.problem.code in FATAL_CODES:
                self._wanted.clear()
                self._changed()
                continue
            if self._now() - started > RESTART_MAX_S:
                delay_s = RESTART_MIN_S
            await asyncio.sleep(delay_s * self._random.uniform(0.5, 1.5))
            delay_s = min(2 * delay_s, RESTART_MAX_S)

    def order(self, order: orders.TrainerOrder) -> None:
        """Carry out an order of the participant."""
        if self._worker is None:
            return
        match order:
            case orders.Go():
                self._worker.send(frames.Go())
            case orders.Hold():
                self._worker.send(frames.Hold())
            case orders.Collect(round=round_id):
                self._worker.send(frames.Collect(round=round_id))
            case orders.Absorb(round=round_id, name=name):
                self._worker.send(frames.Absorb(round=round_id, epoch=name.epoch, lineage=name.lineage))
            case orders.Release(round=round_id):
                self._worker.send(frames.Release(round=round_id))
            case orders.Load(location=location, name=name):
                self._worker.send(frames.Load(path=location, epoch=name.epoch, lineage=name.lineage))
            case orders.Restart():
                self._worker.failure = frames.Failed(
                    code="worker", message="The training process did not answer any more.", hint="It is started again."
                )
                self._worker.kill()
            case orders.Evaluate():
                self._worker.send(frames.Evaluate())

    async def _run_once(self) -> None:
        queue: asyncio.Queue[frames.ToEngine] = asyncio.Queue()
        worker = self._worker = Worker(log=self._place.log, on_frame=queue.put_nowait, command=self._command)
        self._stopped.clear()
        self._changed()
        try:
            async with asyncio.TaskGroup() as group:
                reader = group.create_task(self._listen(queue))
                try:
                    code = await worker.run(self._start())
                except Problem as problem:
                    worker.failure = _failure(problem)
                    code = 0
                reader.cancel()
        finally:
            self._end(worker)
        if self._wanted.is_set():
            self.problem = _problem(worker, code)
            self._changed()

    def _end(self, worker: Worker) -> None:
        assert worker.pid is None
        self._worker = None
        for future in self._asking:
            if not future.done():
                future.set_exception(WorkerProblem("The training process ended.", hint="Try again."))
        self._asking = []
        if self._ready:
            self._ready = False
            self._perform(self._participant.trainer_gone(self._now()))
        self._stopped.set()
        self._changed()

    def _new_arena(self) -> Path:
        """A file of its own for each run: a round that goes on may still hold the last one's."""
        folder = self._place.arena
        make_directory(folder)
        for old in folder.iterdir():
            with contextlib.suppress(OSError):  # Windows: still mapped; the next run gets it
                old.unlink()
        return folder / secrets.token_hex(4)

    def _start(self) -> frames.Start:
        place = self._place
        self._arena_path = self._new_arena()
        return frames.Start(
            manifest_path=str(place.manifest),
            blobs_dir=str(place.blobs),
            state_dir=str(place.states),
            arena_path=str(self._arena_path),
            seed=place.seed,
            device=place.device,
            threads=place.threads,
            hold=True,
            hold_at_epoch=place.last_epoch,
        )

    async def _listen(self, queue: "asyncio.Queue[frames.ToEngine]") -> None:
        """Pass on the worker's frames one by one; a problem with one of them ends this run of the worker."""
        while True:
            frame = await queue.get()
            try:
                self._perform(await self._heard(frame))
            except Problem as problem:
                worker = self._worker
                assert worker is not None
                worker.failure = _failure(problem)
                worker.kill()
                return

    async def _heard(self, frame: frames.ToEngine) -> Sequence[Any]:
        participant = self._participant
        match frame:
            case frames.WorkerReady():
                return await self._became_ready(frame)
            case frames.Progress() if participant.epochs.state is not None:
                if frame.epoch != participant.epochs.state.name.epoch:
                    return []
                return participant.progressed(
                    samples=frame.samples,
                    ahead=frame.ahead,
                    samples_per_s=frame.samples_per_s,
                    loss=frame.loss,
                    now=self._now(),
                )
            case frames.Collected():
                return participant.collected(frame.round, samples=frame.samples, loss=frame.loss, now=self._now())
            case frames.Stepped():
                self.problem = None
                state = await self._offered(frame)
                return participant.stepped(state, self._now(), samples=frame.samples, loss=frame.loss)
            case frames.Loaded():
                return participant.loaded(await self._offered(frame), self._now())
            case frames.Evaluated():
                return self._evaluated(frame)
        return []

    async def _became_ready(self, frame: frames.WorkerReady) -> Sequence[Any]:
        arena = self._arena = Arena(self._arena_path, frame.numel)
        state = await self._offered(frame)
        residuals = await self._kept_residuals(frame.numel)
        self._ready = True
        self.loss = LossView(frame.loss_name, frame.loss_unit, self.loss.baselines)
        self._changed()
        return self._participant.trainer_ready(
            state,
            contribution=arena.slot("contribution"),
            mean=arena.slot("mean"),
            now=self._now(),
            layout=frame.layout,
            residuals=residuals,
        )

    async def _kept_residuals(self, numel: int) -> ResidualFile | None:
        """The file of residuals, opened by the first worker and kept for the others: a round may outlive a worker."""
        settings = self._participant.settings
        if settings.averaging.codec in FEEDBACK and self._residuals is None:
            averaging = settings.averaging
            shape = ResidualShape(
                manifest=settings.run, codec=averaging.codec, numel=numel, chunk_numel=averaging.chunk_numel
            )
            self._residuals = await asyncio.to_thread(ResidualFile, self._place.residuals, shape)
        return self._residuals

    def _evaluated(self, frame: frames.Evaluated) -> Sequence[Any]:
        self.loss = msgspec.structs.replace(self.loss, baselines=frame.baselines)
        for future in self._asking:
            if not future.done():
                future.set_result(frame)
        self._asking = []
        return self._participant.evaluated(frame.epoch, frame.loss, self._now())

    async def _offered(self, frame: frames.StateFrame) -> State:
        """Open the checkpoint, check it against the worker's digest, offer it to others."""
        file = await asyncio.to_thread(DiskStateFile, Path(frame.checkpoint), frame.digest)
        self._participant.offer_state(file, self._ledger())
        return State(StateName(frame.epoch, frame.lineage), frame.digest, frame.checkpoint)


def _failure(problem: Problem) -> frames.Failed:
    return frames.Failed(code=problem.code, message=problem.message, hint=problem.hint)


def _problem(worker: Worker, code: int) -> Problem:
    if worker.failure is not None:
        problem: Problem = WorkerProblem(worker.failure.message, hint=worker.failure.hint)
        problem.code = worker.failure.code
        return problem
    how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
    return WorkerProblem(f"The training process {how}.", hint="It is started again; the log says more.")
