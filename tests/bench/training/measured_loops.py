"""Loops that train a model in turns, measured: the worker's own, and a plain one of torch."""

import time
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final, Protocol

import torch

from core.base.content import digest
from core.base.manifest import Manifest
from core.reading.frames import BeginReading
from core.system.usage import peak_memory
from core.tasks.task import Task
from core.training.devices.precision import precision_on
from core.training.learner import Learner
from core.training.samples.read_ahead import AHEAD_MAX
from core.training.samples.streamed import StreamedSamples, reading_alone
from core.workers.arena import Arena
from tests.bench.training.batches import batches_of
from tests.bench.training.loop_turns import LoopOrder, TurnTaken

SEED: Final = 0
READY_BATCHES: Final = 64
FIRST_S: Final = 60.0
"""A reader may take so long until the first rows are there."""
SEARCH_S: Final = 10.0
"""Time for which the worker may look for the best number of samples of a pass."""
LEARNING_RATE: Final = 1e-4


class Loop(Protocol):
    """A loop that can be measured."""

    micro_batch: int
    """Samples of a pass."""
    parameters: int
    """Numbers that are learned."""

    def turn(self, seconds: float, step_batches: int) -> TurnTaken:
        """Train for about so long.

        Args:
            seconds: Of the turn; at least one pass is made.
            step_batches: Passes that make one step of the optimiser.
        """


class Measured:
    """What has happened since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        """Wall-clock seconds since this was made."""
        return time.perf_counter() - self._wall

    def taken(self, samples: int, *, waited_s: float = 0.0, step_s: float | None = None) -> TurnTaken:
        """The turn that ends now.

        Args:
            samples: That were learned from.
            waited_s: How long for batches.
            step_s: Mean of the optimiser's steps.
        """
        return TurnTaken(
            samples=samples,
            wall_s=self.seconds,
            cpu_s=time.process_time() - self._cpu,
            waited_s=waited_s,
            step_s=step_s,
            memory_bytes=peak_memory(),
            device_bytes=torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0,
        )


class WorkerLoop:
    """The worker's own loop, from the text to the checkpoint, as if it were alone: its contribution is the mean.

    Args:
        task: What is learned.
        manifest: Of the task.
        order: Where, and on what.
    """

    def __init__(self, task: Task, manifest: Manifest, order: LoopOrder) -> None:
        folder = Path(order.folder)
        self._learner = Learner(
            task=task,
            manifest=manifest,
            states=folder / "states",
            samples=StreamedSamples(manifest, SEED, begin=reading_for(manifest, order)),
            devices=[order.device],
            clock=time.perf_counter,
        )
        self._arena = Arena.create(folder / "arena", self._learner.numel)
        self._batches = 0
        """Passes since the last step."""
        size = self._learner.first.micro_batch
        if order.micro_batch is None:
            self._search()
        else:
            size.fix(order.micro_batch)
        self._learner.first.data.wait(FIRST_S)  # a turn measures training, not how a reader starts
        self.micro_batch = size.size
        self.parameters = self._learner.numel

    def turn(self, seconds: float, step_batches: int) -> TurnTaken:
        """Train for about so long; see `Loop.turn`."""
        learner, samples, steps = self._learner, 0, list[float]()
        learner.state.saving.result()  # of the last turn's
        waited_s, began = learner.first.data.waited_s, Measured()
        while not samples or began.seconds < seconds:
            before = learner.samples
            learner.accumulate()
            samples += learner.samples - before
            self._batches += 1
            if self._batches >= step_batches:
                steps.append(self._step())
        step_s = sum(steps) / len(steps) if steps else None
        return began.taken(samples, waited_s=learner.first.data.waited_s - waited_s, step_s=step_s)

    def _search(self) -> None:
        """Let it find the best number of samples of a pass, and use up the batches of other sizes."""
        learner, began = self._learner, Measured()
        while learner.first.micro_batch.fit is None and began.seconds < SEARCH_S:
            learner.accumulate()
        learner.first.micro_batch.fix(learner.first.micro_batch.size)
        for _ in range(AHEAD_MAX + 1 if learner.first.micro_batch.size > 1 else 0):
            learner.accumulate()

    def _step(self) -> float:
        """Take one step, as a round has it; how long computing stood still, seconds."""
        learner = self._learner
        learner.state.saving.result()  # a step usually takes longer than saving the state before it
        began = time.perf_counter()
        contribution_N, mean_N = self._arena.slot("contribution"), self._arena.slot("mean")
        contribution_N[:] = learner.hand_over()
        mean_N[:] = contribution_N
        lineage = digest(b"yardstick" + learner.state.lineage)
        learner.absorb(mean_N, epoch=learner.state.epoch + 1, lineage=lineage)
        self._batches = 0
        return time.perf_counter() - began


class PlainLoop:
    """What a user of PyTorch writes, with the losses added up as everybody does who shows them.

    Args:
        task: What is learned.
        manifest: Of the task.
        order: Where, and on what.
    """

    def __init__(self, task: Task, manifest: Manifest, order: LoopOrder) -> None:
        self.micro_batch = order.micro_batch or task.micro_batch
        self._task = task
        self._device = torch.device(order.device)
        self._precision = precision_on(order.device, manifest.precision_name).precision
        self._scaler = torch.amp.GradScaler(self._device.type, enabled=self._precision.half is torch.float16)
        self._model = task.model(SEED).to(self._device)
        self._model.train()
        self.parameters = sum(each.numel() for each in self._model.parameters())
        self._optimizer = torch.optim.AdamW(self._model.parameters(), LEARNING_RATE)
        self._ready = cycle(ready_batches(task, manifest, order, self.micro_batch))
        self._batches = 0
        self._total = 0.0

    def turn(self, seconds: float, step_batches: int) -> TurnTaken:
        """Train for about so long; see `Loop.turn`."""
        samples, began = 0, Measured()
        while not samples or began.seconds < seconds:
            batch = next(self._ready)
            with self._precision.computing(self._device):
                losses = self._task.loss(self._model, batch)
            self._scaler.scale(losses.objective / step_batches).backward()  # type: ignore[no-untyped-call]
            self._total += losses.reported.item()
            samples += batch.samples
            self._batches += 1
            if self._batches >= step_batches:
                self._step()
        return began.taken(samples)

    def _step(self) -> None:
        self._scaler.unscale_(self._optimizer)
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        self._scaler.step(self._optimizer)
        self._scaler.update()
        self._optimizer.zero_grad()
        self._batches = 0


def ready_batches(task: Task, manifest: Manifest, order: LoopOrder, micro_batch: int) -> Sequence[Any]:
    """Batches for loops that read no text themselves."""
    with batches_of(manifest, task, reading_for(manifest, order), seed=SEED, size=micro_batch) as batches:
        return list(islice(batches, READY_BATCHES))


def reading_for(manifest: Manifest, order: LoopOrder) -> BeginReading:
    """What a loop's reader is told first."""
    blocks = Path(order.folder) / "blocks"
    return reading_alone(manifest, manifest_path=Path(order.manifest_path), blobs=Path(order.blobs_dir), blocks=blocks)
