"""The worker's part in a round: accumulate, contribute, absorb."""

# ruff: noqa: N802, N803 - names of arrays end in their shapes

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from core.base.content import digest
from core.base.manifest import Manifest
from core.tasks.task import Evaluation, Task
from core.training.checkpoint import Checkpoints, Saved
from core.training.flat import FlatParameters
from core.training.optimizers import optimizer_of
from core.training.rules.gradients import Gradients

SPEED_MEMORY = 0.1
"""Weight of the newest batch in the smoothed speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerState:
    """What the worker has and where others may fetch it."""

    epoch: int
    lineage: bytes
    saved: Saved


class Learner:
    """A model, its optimiser and its data: everything that trains, and nothing that talks.

    Args:
        task: What to learn.
        manifest: Its numbers.
        states: Folder of the checkpoints.
        seed: This peer's order of the data.
        device: Where to compute.
        clock: Seconds that only go forward.
    """

    def __init__(
        self,
        *,
        task: Task,
        manifest: Manifest,
        states: Path,
        seed: int,
        device: str,
        clock: Callable[[], float],
    ) -> None:
        self._task = task
        self._clock = clock
        self._model = task.model(int.from_bytes(manifest.id[:8], "big")).to(device)
        self._model.train()
        self._parameters = FlatParameters(self._model)
        optimizer = optimizer_of(manifest.optimizer, self._parameters)
        self._rule = Gradients(self._parameters, optimizer)
        self.overlaps = manifest.averaging.overlaps
        """Whether it computes on while a round is averaged."""
        self._checkpoints = Checkpoints(
            states,
            manifest=manifest.id,
            parameters=self._parameters,
            state=optimizer.state,
        )
        self._seed = seed
        self._batches: Iterator[Any] | None = None
        self.samples_per_s = 0.0
        self.state = self._first_state(manifest.id)

    @property
    def numel(self) -> int:
        """Length N of the vectors that are averaged."""
        return self._parameters.numel

    @property
    def layout(self) -> tuple[int, ...]:
        """Sizes of the tensors in them, in order."""
        return tuple(span.numel for span in self._parameters.spans)

    @property
    def samples(self) -> int:
        """Samples accumulated and not averaged yet, those of a contribution that is being averaged included."""
        return self._rule.samples

    @property
    def samples_ahead(self) -> int:
        """Those of them that are for the step after the one that is being averaged."""
        return self._rule.ahead

    @property
    def dropped(self) -> int:
        """Batches dropped because their gradient was not finite, since the start."""
        return self._rule.dropped

    @property
    def damaged(self) -> list[Path]:
        """Checkpoints that could not be read at the start, where they were set aside."""
        return self._checkpoints.damaged

    @property
    def loss(self) -> float:
        """Mean training loss of `samples`, nats."""
        return self._rule.loss

    def accumulate(self) -> bool:
        """Compute one batch's gradient and add it up.

        Returns:
            Whether it counted; a gradient that is not finite does not.

        Raises:
            BadInput: there is nothing to learn from.
        """
        if self._batches is None:
            chance = digest(f"{self._seed} {self.state.epoch}".encode())
            self._batches = self._task.batches(int.from_bytes(chance[:8], "big"))
        began = self._clock()
        batch = next(self._batches)
        losses = self._task.loss(self._model, batch)
        losses.objective.backward()  # type: ignore[no-untyped-call]
        counted = self._rule.add(samples=batch.samples, loss=losses.reported.item())
        self._measure(batch.samples, self._clock() - began)
        return counted

    def contribution_N(self) -> NDArray[np.float32]:
        """The mean gradient over the accumulated samples, shape (N,)."""
        contribution: NDArray[np.float32] = self._rule.contribution_N().numpy()
        return contribution

    def hand_over(self) -> NDArray[np.float32]:
        """The contribution to a round that begins, shape (N,); where computing goes on, it is for the step after."""
        if self.overlaps:
            self._rule.set_aside()
        return self.contribution_N()

    def take_back(self) -> None:
        """The round came to nothing: what was handed over counts again, with all that came meanwhile."""
        self._rule.take_back()

    def absorb(self, mean_N: NDArray[np.float32], *, epoch: int, lineage: bytes) -> TrainerState:
        """Take one optimiser step with the averaged gradient and save the state under its new name.

        What was accumulated since the contribution was handed over is kept: it is one step stale, and no more, for the
        next contribution takes it along.

        Raises:
            WorkerProblem: the mean is not finite; nothing has changed.
            NoSpace: the disk is full; the last saved state is untouched.
        """
        self._rule.absorb(torch.from_numpy(np.array(mean_N, dtype=np.float32)), epoch - 1)
        self.state = TrainerState(epoch=epoch, lineage=lineage, saved=self._checkpoints.save(epoch, lineage))
        return self.state

    def load(self, path: Path, *, epoch: int, lineage: bytes) -> TrainerState:
        """Replace the state by that of a file, keep a copy among the checkpoints, forget what was accumulated.

        Raises:
            Damaged: the file is not that state of this collaboration; nothing has changed.
            NoSpace: the disk is full.
        """
        self._checkpoints.load(path, wanted=(epoch, lineage))
        self._rule.clear()
        self.state = TrainerState(epoch=epoch, lineage=lineage, saved=self._checkpoints.save(epoch, lineage))
        return self.state

    def evaluate(self) -> Evaluation:
        """Measure on the held-out text."""
        self._model.eval()
        try:
            return self._task.evaluate(self._model)
        finally:
            self._model.train()

    def _first_state(self, manifest_id: bytes) -> TrainerState:
        """The newest state on disk, or the beginning: epoch 0, named like the manifest."""
        found = self._checkpoints.load_newest()
        if found is None:
            return TrainerState(epoch=0, lineage=manifest_id, saved=self._checkpoints.save(0, manifest_id))
        name, saved = found
        return TrainerState(epoch=name.epoch, lineage=bytes.fromhex(name.lineage), saved=saved)

    def _measure(self, samples: int, seconds: float) -> None:
        speed = samples / max(seconds, 1e-9)
        old = self.samples_per_s
        self.samples_per_s = (
            speed if not old else math.exp((1 - SPEED_MEMORY) * math.log(old) + SPEED_MEMORY * math.log(speed))
        )
