"""The worker's part in a round: accumulate, contribute, absorb."""

# ruff: noqa: N803 - names of arrays end in their shapes

import math
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from core.api.settings import CPU
from core.base.content import DIGEST_BYTES, digest
from core.base.manifest import Manifest
from core.base.problems import WorkerProblem
from core.base.state_header import ANCESTORS_MAX, MARK_BYTES, StateHeader
from core.tasks.task import Evaluation, Task
from core.training.backprop import Backprop
from core.training.checkpoint import Checkpoints, Saved
from core.training.devices import title_of
from core.training.flat import FlatParameters
from core.training.kept import KeptFits
from core.training.micro_batch import MicroBatch, lacked_memory, samples_that_fit
from core.training.optimizers import optimizer_of
from core.training.precision import precision_on
from core.training.read_ahead import ReadAhead
from core.training.replay import ReplayedSteps
from core.training.rules import rule_of

TARGET_PASSES = 8
"""A pass is at most such a part of a step's samples."""
SPEED_MEMORY = 0.1
"""Weight of the newest batch in the smoothed speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerState:
    """What the worker has and where others may fetch it."""

    epoch: int
    lineage: bytes
    ancestors: bytes
    """Marks of the states that led to it, the nearest first, as far as they are known."""
    ledger: bytes
    """Who gave what, as far as this state goes."""
    means: bytes
    """Root digests of the files of the means that led to it, the nearest first, as far as they can be kept."""
    saving: Future[Saved] = field(compare=False)
    """Done when the state lies on disk as a whole file."""

    @property
    def saved(self) -> Saved:
        """The file; waits for it.

        Raises:
            NoSpace: the disk is full; the last saved state is untouched.
        """
        return self.saving.result()

    @classmethod
    def of(cls, name: StateHeader, saved: Saved) -> "TrainerState":
        """The state of a file that lies on disk, by its header."""
        saving: Future[Saved] = Future()
        saving.set_result(saved)
        lineage, ancestors, means = (bytes.fromhex(part) for part in (name.lineage, name.ancestors, name.means))
        return cls(
            epoch=name.epoch, lineage=lineage, ancestors=ancestors, ledger=name.ledger, means=means, saving=saving
        )


class Learner:
    """A model, its optimiser, its rule and its data: everything that trains, and nothing that talks.

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
        self.task = task
        self._clock = clock
        self._model = task.model(int.from_bytes(manifest.id[:8], "big")).to(device)
        self._model.train()
        self.parameters = FlatParameters(self._model)
        optimizer = optimizer_of(manifest.optimizer, self.parameters)
        self.optimizer = optimizer
        self.rule = rule_of(manifest, self.parameters, optimizer)
        self.overlaps = manifest.averaging.overlaps
        """Whether it computes on while a round is averaged."""
        self._checkpoints = Checkpoints(
            states,
            manifest=manifest.id,
            parameters=self.parameters,
            state=optimizer.state,
            bounds=optimizer.bounds,
        )
        self.exact = optimizer.exact
        """Whether equal states and means lead to equal bits on every machine."""
        self.replay = ReplayedSteps(self.rule, self._checkpoints)
        """To be followed by setting `state`."""
        self.samples_per_s = 0.0
        self.state = self._newest() or self._save(0, manifest.id, ancestors=b"", ledger=b"", means=b"")
        self.rule.begin(self.state.epoch)
        order = digest(f"{seed} {self.state.epoch}".encode())
        most = max(1, manifest.target_samples // TARGET_PASSES)
        precision = precision_on(device, manifest.precision_name).precision
        self.backprop = Backprop(task, self._model, self.parameters, precision)
        """Computes gradients."""
        self.compiles = False
        """Whether layers shall be compiled, once it is known how many samples a pass takes."""
        self._fits = KeptFits(states.parent / "micro_batch.json", _about_fit(self.parameters, device, precision.name))
        size = self.micro_batch = MicroBatch(
            task.micro_batch,
            most=min(most, self.rule.batch_max or most),
            room=partial(samples_that_fit, task.sample_bytes) if device == CPU else lambda: math.inf,
            found=self._fits.fit,
        )
        """How many samples a pass takes on this machine."""
        self.data = ReadAhead(partial(task.batches, int.from_bytes(order[:8], "big"), size.next_size))
        """This peer's batches, made from its `start` on."""

    @property
    def numel(self) -> int:
        """Length N of the vectors that are averaged."""
        return self.parameters.numel

    @property
    def layout(self) -> tuple[int, ...]:
        """Sizes of the tensors in them, in order."""
        return tuple(span.numel for span in self.parameters.spans)

    @property
    def samples(self) -> int:
        """Samples accumulated and not averaged yet, those of a contribution that is being averaged included."""
        return self.rule.samples

    @property
    def damaged(self) -> list[Path]:
        """Checkpoints that could not be read at the start, where they were set aside."""
        return self._checkpoints.damaged

    @property
    def loss(self) -> float:
        """Mean training loss of `samples`, in the task's unit."""
        return self.rule.loss

    def accumulate(self) -> bool:
        """Compute one batch's gradient and give it to the rule.

        Returns:
            Whether it counted: a gradient that is not finite does not, nor one for which memory did not suffice.

        Raises:
            BadInput: there is nothing to learn from.
            WorkerProblem: memory does not suffice for a single sample.
        """
        began, waited_s = self._clock(), self.data.waited_s
        batch = next(self.data)
        while batch.samples > self.micro_batch.room:
            batch = next(self.data)  # made before memory ran short
        try:
            if self.micro_batch.recompute:
                self.backprop.recompute()
            counted = self.rule.add(samples=batch.samples, loss=self.backprop.run(batch))
        except (RuntimeError, MemoryError) as error:
            if not lacked_memory(error):
                raise
            self.parameters.gradients_N.zero_()
            if torch.accelerator.is_available():
                torch.accelerator.empty_cache()
            self.micro_batch.ran_out(batch.samples)
            return False
        seconds = self._clock() - began
        self.micro_batch.took(batch.samples, seconds - (self.data.waited_s - waited_s))
        if self.micro_batch.fit is not None:
            self._fits.keep(self.micro_batch.fit)
            if self.compiles:
                self.backprop.compile()
                self.compiles = False
        self._measure(batch.samples, seconds)
        return counted

    def hand_over(self) -> NDArray[np.float32]:
        """The contribution to a round that begins, shape (N,); where computing goes on, it is for the step after."""
        contribution: NDArray[np.float32] = self.rule.hand_over().numpy()
        return contribution

    def take_back(self) -> None:
        """The round was aborted: what was handed over counts again, with all that came meanwhile."""
        self.rule.take_back()

    def absorb(
        self, mean_N: NDArray[np.float32], *, epoch: int, lineage: bytes, ledger: bytes = b"", mean: bytes = b""
    ) -> TrainerState:
        """Take the collaboration's step with the averaged contribution; the new state is saved beside what follows.

        What was accumulated since the contribution was handed over is kept: it is one step stale, and no more, for the
        next contribution takes it along.

        Args:
            mean_N: The averaged contribution, shape (N,).
            epoch: Of the new state.
            lineage: Of the new state.
            ledger: Of the new state.
            mean: Root digest of the file in which others keep this mean; empty: none is kept.

        Raises:
            WorkerProblem: the mean is not finite, or what the step makes of it is not; the last saved state holds.
        """
        self.rule.absorb(torch.from_numpy(np.array(mean_N, dtype=np.float32)))
        if not self._checkpoints.is_finite:
            self.state = self._newest() or self.state
            self.rule.begin(self.state.epoch)
            raise WorkerProblem(
                f"The step to epoch {epoch} led to numbers that are not finite, so it was undone.",
                hint="Training goes on from the last saved state; if it happens again, the learning rate is too high.",
            )
        ancestors = self.state.lineage[:MARK_BYTES] + self.state.ancestors
        means = (mean + self.state.means if mean else b"")[: DIGEST_BYTES * ANCESTORS_MAX]
        return self._save(epoch, lineage, ancestors=ancestors[: MARK_BYTES * ANCESTORS_MAX], ledger=ledger, means=means)

    def load(self, path: Path, *, epoch: int, lineage: bytes) -> TrainerState:
        """Replace the state by that of a file, keep a copy among the checkpoints, forget what was accumulated.

        Raises:
            Damaged: the file is not that state of this collaboration; nothing has changed.
            NoSpace: the disk is full.
        """
        name = self._checkpoints.load(path, wanted=(epoch, lineage))
        self.rule.begin(epoch)
        ancestors, means = bytes.fromhex(name.ancestors), bytes.fromhex(name.means)
        state = self._save(epoch, lineage, ancestors=ancestors, ledger=name.ledger, means=means)
        state.saving.result()
        return state

    def evaluate(self) -> Evaluation:
        """Measure the shared state on what is never learned from."""
        self._model.eval()
        try:
            with self.rule.shared(), self.backprop.uncompiled():
                return self.task.evaluate(self._model)
        finally:
            self._model.train()

    def _newest(self) -> TrainerState | None:
        """Load the newest state on disk; None when there is none."""
        found = self._checkpoints.load_newest()
        return None if found is None else TrainerState.of(*found)

    def _save(self, epoch: int, lineage: bytes, *, ancestors: bytes, ledger: bytes, means: bytes) -> TrainerState:
        saving = self._checkpoints.save_beside(epoch, lineage, ancestors=ancestors, ledger=ledger, means=means)
        self.state = TrainerState(
            epoch=epoch, lineage=lineage, ancestors=ancestors, ledger=ledger, means=means, saving=saving
        )
        return self.state

    def _measure(self, samples: int, seconds: float) -> None:
        speed = samples / max(seconds, 1e-9)
        old = self.samples_per_s
        self.samples_per_s = (
            speed if not old else math.exp((1 - SPEED_MEMORY) * math.log(old) + SPEED_MEMORY * math.log(speed))
        )


def _about_fit(parameters: FlatParameters, device: str, precision: str) -> str:
    """What is found out about passes is about this model on this device, in this version of torch."""
    model = digest(repr(parameters.spans).encode()).hex()[:16]
    return " / ".join((title_of(device), precision, f"torch {torch.__version__}", f"model {model}"))
