"""The worker's part in a round: accumulate, contribute, absorb."""

# ruff: noqa: N803 - names of arrays end in their shapes

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray

from core.base.content import DIGEST_BYTES
from core.base.manifest import Manifest
from core.base.problems import WorkerProblem
from core.base.state_header import ANCESTORS_MAX, MARK_BYTES, StateHeader
from core.tasks.experts.stages import MixtureTask
from core.tasks.task import Evaluation, Task
from core.training.devices.replica import Passes, Replica
from core.training.devices.replicas import ReplicaFlights, Replicas
from core.training.flights.calls import CallCarrier
from core.training.flights.passes import TrunkPasses
from core.training.optimizers import optimizer_of
from core.training.replay import ReplayedSteps
from core.training.rules import rule_of
from core.training.samples.samples import RowsInHand, Samples
from core.training.states.bookmarks import Bookmarks
from core.training.states.checkpoint import Checkpoints, Saved
from core.training.vectors.flat import FlatParameters

TARGET_PASSES = 8
"""The passes of all devices together are at most such a part of a step's samples."""


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
        states: Folder of the checkpoints, and of their bookmarks.
        samples: Where its batches come from.
        devices: Where to compute, as torch calls them, at least one; the first holds the state.
        clock: Seconds that only go forward.
    """

    def __init__(
        self,
        *,
        task: Task,
        manifest: Manifest,
        states: Path,
        samples: Samples,
        devices: Sequence[str],
        clock: Callable[[], float],
    ) -> None:
        self.task = task
        model = partial(task.model, manifest.first_weights)
        self.model = model().to(devices[0])
        """The model on the first device."""
        self.model.train()
        self.parameters = FlatParameters(self.model)
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
        self._bookmarks = Bookmarks(states)
        self.data = samples
        """Where batches come from."""
        self.rows = RowsInHand(samples)
        """Rows of which it holds gradients."""
        self.replay = ReplayedSteps(self.rule, self._checkpoints, self.rows, self._bookmarks, samples)
        """To be followed by setting `state`."""
        newest = self._newest()
        samples.begin(task, None if newest is None else self._bookmarks.read(newest.epoch, newest.lineage))
        self._checkpoints.damaged += self._bookmarks.damaged
        self.state = newest or self._save(0, manifest.id, ancestors=b"", ledger=b"", means=b"")
        self.rule.begin(self.state.epoch)
        most = manifest.target_samples // TARGET_PASSES
        passes = Passes(
            task=task,
            model=model,
            samples=samples,
            samples_max=max(1, min(most, self.rule.batch_max or most) // len(devices)),
            precision=manifest.precision_name,
            fits=states.parent / "micro_batch.json",
            clock=clock,
        )
        self.first = Replica(passes, self.model, self.parameters, devices[0])
        """Has the parameters with which all devices compute."""
        self.replicas = Replicas(self.first, self.rule, self.rows, clock, others=devices[1:])
        """What computes gradients; while it stands still, the rule has all of them."""
        self.flights: ReplicaFlights | None = None
        """Computes them in its place where layers have experts; set before the first batch."""

    @property
    def numel(self) -> int:
        """Length N of the vectors that are averaged."""
        return self.parameters.numel

    @property
    def samples(self) -> int:
        """Samples accumulated and not averaged yet, those of a contribution that is being averaged included."""
        return self.replicas.samples

    @property
    def damaged(self) -> list[Path]:
        """Checkpoints and bookmarks that could not be read at the start, where they were set aside."""
        return self._checkpoints.damaged

    @property
    def loss(self) -> float:
        """Mean training loss of `samples`, in the task's unit."""
        return self.replicas.loss

    def accumulate(self) -> bool:
        """Compute one batch's gradient on the first device, while the others compute theirs, and give it to the rule.

        Returns:
            Whether it counted: a gradient that is not finite does not, nor one for which memory did not suffice.

        Raises:
            BadInput: there is nothing to learn from.
            WorkerProblem: memory does not suffice for a single sample.
        """
        return self.replicas.accumulate() if self.flights is None else self.flights.accumulate()

    def hand_over(self) -> NDArray[np.float32]:
        """The contribution to a round that begins, shape (N,); where computing goes on, it is for the step after."""
        self.replicas.rest()
        contribution: NDArray[np.float32] = self.rule.hand_over().numpy()
        self.rows.hand_over()
        return contribution

    def note_out(self) -> None:
        """Write down which rows are out, before others may average them: this process may be gone when they have.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        state = self.state
        state.saving.result()  # lest its own bookmark comes later
        self._bookmarks.write(state.epoch, state.lineage, self.data.bookmark(self.rows.out))

    def take_back(self) -> None:
        """The round was aborted: what was handed over counts again, with all that came meanwhile."""
        self.rule.take_back()
        self.rows.take_back()

    def absorb(
        self, mean_N: NDArray[np.float32], *, epoch: int, lineage: bytes, ledger: bytes = b"", mean_digest: bytes = b""
    ) -> TrainerState:
        """Take the collaboration's step with the averaged contribution; the new state is saved beside what follows.

        What was accumulated since the contribution was handed over is kept: it is one step stale, and no more, for the
        next contribution takes it along.

        Args:
            mean_N: The averaged contribution, shape (N,).
            epoch: Epoch of the new state.
            lineage: Lineage of the new state.
            ledger: Ledger of the new state.
            mean_digest: Root digest of the file in which others keep this mean; empty: none is kept.

        Raises:
            WorkerProblem: the mean is not finite, or what the step makes of it is not; the last saved state holds.
        """
        self.replicas.rest()
        self.rule.absorb(torch.from_numpy(np.array(mean_N, dtype=np.float32)))
        if not self._checkpoints.is_finite:
            self.state = self._newest() or self.state
            self.rule.begin(self.state.epoch)
            self.rows.drop()
            message = "Step {epoch} led to numbers that are not finite, so it was undone."
            hint = "Training goes on from the last saved state; if it happens again, the learning rate is too high."
            raise WorkerProblem(message, epoch, hint=hint)
        self.rows.absorb(keep=self.overlaps)
        ancestors = self.state.lineage[:MARK_BYTES] + self.state.ancestors
        means = (mean_digest + self.state.means if mean_digest else b"")[: DIGEST_BYTES * ANCESTORS_MAX]
        return self._save(epoch, lineage, ancestors=ancestors[: MARK_BYTES * ANCESTORS_MAX], ledger=ledger, means=means)

    def load(self, path: Path, *, epoch: int, lineage: bytes, counted: int = 0) -> TrainerState:
        """Replace the state by that of a file, keep a copy among the checkpoints, forget what was accumulated.

        Args:
            path: The file.
            epoch: Epoch that it must name.
            lineage: Lineage that it must name.
            counted: Samples that it counts for this peer, and the state before does not.

        Raises:
            Damaged: the file is not that state of this collaboration; nothing has changed.
            NoSpace: the disk is full.
        """
        self.replicas.rest()
        name = self._checkpoints.load(path, wanted=(epoch, lineage))
        self.rule.begin(epoch)
        if self.flights is not None:
            self.flights.under_way.drop()
        self.rows.forget()
        self.rows.resolve(counted)
        ancestors, means = bytes.fromhex(name.ancestors), bytes.fromhex(name.means)
        state = self._save(epoch, lineage, ancestors=ancestors, ledger=name.ledger, means=means)
        state.saving.result()
        return state

    def evaluate(self) -> Evaluation:
        """Measure the shared state on what is never learned from."""
        if self.flights is not None:
            return self.flights.evaluate()
        self.model.eval()
        try:
            with self.rule.shared(), self.first.backprop.uncompiled():
                return self.task.evaluate(self.model)
        finally:
            self.model.train()

    def _newest(self) -> TrainerState | None:
        """Load the newest state on disk; None when there is none."""
        found = self._checkpoints.load_newest()
        return None if found is None else TrainerState.of(*found)

    def _save(self, epoch: int, lineage: bytes, *, ancestors: bytes, ledger: bytes, means: bytes) -> TrainerState:
        saving = self._checkpoints.save(
            epoch,
            lineage,
            ancestors=ancestors,
            ledger=ledger,
            means=means,
            first=partial(self._bookmarks.write, epoch, lineage, self.data.bookmark()),
        )
        self.state = TrainerState(
            epoch=epoch, lineage=lineage, ancestors=ancestors, ledger=ledger, means=means, saving=saving
        )
        return self.state


def fly(learner: Learner, manifest: Manifest, carrier: CallCarrier, clock: Callable[[], float]) -> None:
    """Have a learner compute its gradients in flights, on its first device.

    Args:
        learner: It has computed none yet.
        manifest: Its collaboration, whose model has layers of experts.
        carrier: Carries calls to them.
        clock: Seconds that only go forward.
    """
    numbers, first = manifest.mixture, learner.first
    assert numbers is not None
    passes = TrunkPasses(cast("MixtureTask", learner.task), learner.model, numbers, first.backprop.precision)
    first.micro_batch.fix(min(learner.task.micro_batch, manifest.target_samples))
    learner.flights = ReplicaFlights(passes, carrier, replica=first, rule=learner.rule, rows=learner.rows, clock=clock)
