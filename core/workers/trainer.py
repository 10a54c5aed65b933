"""The trainer: keeps a worker process alive while the person contributes, and passes on what both sides say.

Orders of the participant become frames on the pipe; frames of the worker become events for the participant
(`core.workers.interpreter`), one after the other, in the order in which the worker said them.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import msgspec

from core.api.snapshot import LossView
from core.base.manifest import Manifest
from core.base.problems import Problem, WorkerProblem
from core.swarm import orders
from core.swarm.answers import TrainerAnswer, TrainerGone
from core.system.restarts import Restarts
from core.workers import frames
from core.workers.interpreter import Interpreter, LedgerKeeper, SharedFiles
from core.workers.moves import Moves
from core.workers.worker import Worker

_LOG = logging.getLogger(__name__)
CPU = "cpu"
FATAL_CODES = frozenset({"bad_input", "not_trusted", "damaged"})
"""Problems that a restart cannot mend: the person has to."""


CRASHES_MAX = 2
"""So many workers in a row that ended before they had a model, not by what a person has to mend, are put down to the
device."""


@dataclass(frozen=True, slots=True)
class WorkerShare:
    """What a worker may use of this computer."""

    device: str
    """ "auto", "cpu", or another as torch calls it."""
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerPlace:
    """Where a worker finds and leaves its things, and how it runs."""

    manifest: Manifest
    manifest_path: Path
    blobs: Path
    states: Path
    arena: Path
    """A folder."""
    log: Path
    residuals: Path
    """The file of what a coarse codec loses; made when the codec is one."""
    means: Path
    """A folder."""
    seed: int
    share: Callable[[], WorkerShare]
    """Asked at each start of a worker."""
    last_epoch: int | None = None
    command: Sequence[str] | None = None
    """The worker program; None: this program's own."""


class Trainer:
    """Keeps a worker process alive, and carries orders and reports between it and the participant.

    Args:
        place: Paths and options of the worker.
        tell: Gives the participant an event.
        ledger: Kept along with each state.
        changed: Called when something that people see has changed.
        notice: Told in a sentence what people should know.
        random: Spreads restarts.
    """

    def __init__(
        self,
        place: TrainerPlace,
        *,
        tell: Callable[[TrainerAnswer], None],
        ledger: LedgerKeeper,
        changed: Callable[[], None],
        notice: Callable[[str], object],
        random: Random,
    ) -> None:
        self._place = place
        self._tell = tell
        self._interpreter = Interpreter(
            SharedFiles(manifest=place.manifest, arena=place.arena, residuals=place.residuals, means=place.means),
            tell=tell,
            ledger=ledger,
        )
        self._moves = Moves(self._interpreter, ledger)
        self._changed = changed
        self._notice = notice
        self._restarts = Restarts(random)
        self._worker: Worker | None = None
        self._wanted = asyncio.Event()
        self._stopped = asyncio.Event()
        self._stopped.set()
        self._asking: list[asyncio.Future[frames.Evaluated]] = []
        self._ready = False
        self._crashes = 0
        """Workers in a row that ended before they were ready."""
        self._fallen_back = False
        """Whether only the processor is used until the person wants something else."""
        self.problem: Problem | None = None
        self.device = ""
        """What the worker computes on, as people call it; empty until one has said it."""
        self.loss = LossView()
        """What the task's losses mean, and what this computer's last look at the held-out text gave."""

    @property
    def pid(self) -> int | None:
        """The worker's process number while it runs."""
        return self._worker.pid if self._worker is not None else None

    @property
    def ready(self) -> bool:
        """Whether the worker has its model and can train."""
        return self._ready

    def resume(self) -> None:
        """The person contributes: start a worker, also after a problem, and without a wait."""
        self.problem = None
        self._crashes, self._fallen_back = 0, False
        self._wanted.set()
        self._restarts.skip_wait()

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
            self._interpreter.close()

    async def _keep_running(self) -> None:
        while True:
            await self._wanted.wait()
            await self._run_once()
            if not self._wanted.is_set():
                continue
            if self.problem is not None:
                _LOG.warning("%s", self.problem.message)
                self._notice(self.problem.message)
            if self.problem is not None and self.problem.code in FATAL_CODES:
                self._wanted.clear()
                self._changed()
                continue
            await self._restarts.wait()

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
            case orders.Release(round=round_id):
                self._worker.send(frames.Release(round=round_id))
            case orders.Absorb() | orders.Load() | orders.Replay():
                self._moves.order(order, self._worker)
            case orders.Restart():
                self._worker.failure = frames.Failed(
                    code="worker", message="The training process did not answer any more.", hint="It is started again."
                )
                self._worker.kill()
            case orders.Evaluate():
                self._worker.send(frames.Evaluate())

    async def _run_once(self) -> None:
        queue: asyncio.Queue[frames.ToEngine] = asyncio.Queue()
        worker = self._worker = Worker(log=self._place.log, on_frame=queue.put_nowait, command=self._place.command)
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
            was_ready = self._ready
            self._end(worker)
        if self._wanted.is_set():
            self.problem = _problem(worker, code)
            fatal = was_ready or self.problem.code in FATAL_CODES
            self._crashes = 0 if fatal else self._crashes + 1
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
            self._tell(TrainerGone())
        self._stopped.set()
        self._changed()

    def _start(self) -> frames.Start:
        place, share = self._place, self._place.share()
        if self._crashes >= CRASHES_MAX and share.device != CPU and not self._fallen_back:
            self._fallen_back = True
            self._notice("Training ended at its start again and again; it is tried with the processor alone.")
        return frames.Start(
            manifest_path=str(place.manifest_path),
            blobs_dir=str(place.blobs),
            state_dir=str(place.states),
            arena_path=str(self._interpreter.new_arena()),
            seed=place.seed,
            device=CPU if self._fallen_back else share.device,
            threads=share.threads,
            hold=True,
            hold_at_epoch=place.last_epoch,
        )

    async def _listen(self, queue: "asyncio.Queue[frames.ToEngine]") -> None:
        """Pass on the worker's frames one by one; a problem with one of them ends this run of the worker."""
        while True:
            frame = await queue.get()
            try:
                await self._heard(frame)
            except Problem as problem:
                worker = self._worker
                assert worker is not None
                worker.failure = _failure(problem)
                worker.kill()
                return

    async def _heard(self, frame: frames.ToEngine) -> None:
        match frame:
            case frames.Computes(title=title, note=note):
                if note:
                    self._notice(note)
                self.device = title
            case frames.Stepped():
                self.problem = None
            case frames.Loaded():
                self.loss = msgspec.structs.replace(self.loss, epoch=None, score=None, filled=())
            case frames.Evaluated():
                self._evaluated(frame)
            case frames.WantsMean() if self._worker is not None:
                await self._moves.next_mean(self._worker)
        await self._interpreter.heard(frame)
        if isinstance(frame, frames.WorkerReady):
            self._ready = True
            for name in frame.set_aside:
                where = f"epoch {frame.epoch}" if frame.epoch else "the beginning"
                self._notice(f"A damaged checkpoint was set aside as {name}. Training goes on from {where}.")
            self.loss = msgspec.structs.replace(
                self.loss, name=frame.loss_name, unit=frame.loss_unit, guesses=frame.guesses
            )
            self._changed()

    def _evaluated(self, frame: frames.Evaluated) -> None:
        finite = math.isfinite(frame.score.loss)
        score, filled = (frame.score, frame.filled) if finite else (None, ())
        self.loss = msgspec.structs.replace(
            self.loss, epoch=frame.epoch, score=score, baselines=frame.baselines, filled=filled
        )
        for future in self._asking:
            if future.done():
                continue
            if finite:
                future.set_result(frame)
            else:
                future.set_exception(
                    WorkerProblem("The model's loss is not a finite number.", hint="Its learning rate may be too high.")
                )
        self._asking = []


def _failure(problem: Problem) -> frames.Failed:
    return frames.Failed(code=problem.code, message=problem.message, hint=problem.hint)


def _problem(worker: Worker, code: int) -> Problem:
    if worker.failure is not None:
        problem: Problem = WorkerProblem(worker.failure.message, hint=worker.failure.hint)
        problem.code = worker.failure.code
        return problem
    how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
    return WorkerProblem(f"The training process {how}.", hint="It is started again; the log says more.")
