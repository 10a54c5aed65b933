"""What an epoch of a trainer came to, in numbers, and the files in which others read them."""

# ruff: noqa: N803 - names of arrays end in their shapes

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from core.base.manifest import Manifest
from core.base.problems import BadInput
from core.base.schedule import learning_rate
from core.system.atomic_files import append_synced, make_directory, write_atomic
from core.tasks.task import Evaluation
from core.training.learner import Learner
from core.training.vectors.noise_scale import NoiseScale, SquaredNorm
from core.workers.frames import MetricFiles, RoundMetrics

READABLE: Final = 0o644
"""Mode of a file that a monitoring program of another user reads."""


class EpochMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """One epoch.  Losses are in the task's unit, None: not measured in this epoch."""

    epoch: int
    """Optimiser steps so far, this one included."""
    samples: int
    seconds: float
    loss: float
    """Mean over the epoch's training samples."""
    loss_heldout: float | None
    order_heldout: float | None = None
    """Share of the held-out samples whose order was told right, where the task has one."""
    learning_rate: float
    gradient_norm: float
    """Euclidean norm of the contribution with which the step was taken."""
    clipped: float
    """The share of that norm that was cut off before the step, by its limit or as a spike."""
    samples_per_s: float
    """Speed over the whole epoch, waiting and the step included."""
    tokens_per_s: float | None
    """None: the task's samples have no tokens."""
    data_wait_s: float
    """For how long computing waited for batches, on the first of several devices."""
    step_s: float
    """For how long the optimiser's step kept this computer from computing; alone its checkpoint is part of that."""
    dropped: int
    """Batches whose gradient was not finite."""
    noise_scale: float | None = None
    """Samples at which a mean gradient is half noise (`core.training.vectors.noise_scale`); None: not known yet."""
    averaging_s: float | None = None
    """Duration of the round; this and what follows is None without a swarm."""
    peers: int | None = None
    """Whose samples were in the round's mean."""
    states_alike: int | None = None
    """Number of other peers that reported the same bits for the state before the step."""
    states_heard: int | None = None
    """Number of other peers that reported any; those of them that are not alike have drifted, or are damaged."""


HELP: Final = {
    "epoch": "Optimiser steps so far",
    "samples": "Samples of the last epoch",
    "seconds": "Duration of the last epoch",
    "loss": "Training loss of the last epoch",
    "loss_heldout": "Loss on held-out data, when it was last measured",
    "order_heldout": "Share of held-out samples whose order was told right, when it was last measured",
    "learning_rate": "Learning rate of the last step",
    "gradient_norm": "Euclidean norm of the last averaged contribution",
    "clipped": "Share of that norm that was cut off",
    "samples_per_s": "Samples per second in the last epoch",
    "tokens_per_s": "Tokens per second in the last epoch",
    "data_wait_s": "Seconds of the last epoch in which computing waited for data",
    "step_s": "Seconds in which the last optimiser step kept this computer from computing",
    "dropped": "Batches of the last epoch whose gradient was not finite",
    "noise_scale": "Samples at which a mean gradient is half noise",
    "averaging_s": "Seconds of the last round",
    "peers": "Peers whose samples were in the last mean",
    "states_alike": "Other peers that reported the same bits of the state before the last step",
    "states_heard": "Other peers that reported any bits of that state",
}
"""What each number is, for Prometheus."""


class EpochMeter:
    """Measures the epochs of a learner.

    Args:
        learner: What trains.
        clock: Seconds that only go forward.
    """

    def __init__(self, learner: Learner, clock: Callable[[], float]) -> None:
        self._learner = learner
        self._clock = clock
        self._noise = NoiseScale()
        self._began = clock()
        self._step_began = self._step_s = 0.0
        self._waited, self._dropped = learner.first.data.waited_s, learner.rule.dropped
        self._samples, self._loss, self._norm, self._rate = 0, 0.0, 0.0, 0.0

    @property
    def learning_rate(self) -> float:
        """Learning rate of the next step; 0: the schedule has ended."""
        return learning_rate(self._learner.optimizer.numbers, self._learner.state.epoch)

    def step_begins(self, mean_N: NDArray[np.float32], *, samples: int, loss: float) -> None:
        """The next step is to be taken with this mean.

        Args:
            mean_N: The contribution, before the optimiser sees it.
            samples: Those behind it.
            loss: Their mean loss.
        """
        squared = float(np.einsum("i,i->", mean_N, mean_N, dtype=np.float64))
        self._norm = math.sqrt(squared)
        if (single := self._learner.rule.single) is not None:
            self._noise.add(single, SquaredNorm(squared, samples))
        self._samples, self._loss = samples, loss
        self._rate = self.learning_rate
        self._step_began = self._clock()

    def step_taken(self) -> None:
        """The step was taken, and computing may go on."""
        self._step_s = self._clock() - self._step_began

    def epoch_ends(self, *, evaluation: Evaluation | None = None, averaged: RoundMetrics | None = None) -> EpochMetrics:
        """The epoch's numbers; the next one begins.

        Args:
            evaluation: Evaluation of the new state, where it was measured.
            averaged: The round's, where there was one.
        """
        learner, now = self._learner, self._clock()
        seconds, tokens = now - self._began, learner.task.sample_tokens
        speed = self._samples / max(seconds, 1e-9)
        metrics = EpochMetrics(
            epoch=learner.state.epoch,
            samples=self._samples,
            seconds=seconds,
            loss=self._loss,
            loss_heldout=None if evaluation is None else evaluation.score.loss,
            order_heldout=None if evaluation is None else evaluation.order_right,
            learning_rate=self._rate,
            gradient_norm=self._norm,
            clipped=learner.optimizer.clipping.clipped,
            samples_per_s=speed,
            tokens_per_s=speed * tokens if tokens else None,
            data_wait_s=learner.first.data.waited_s - self._waited,
            step_s=self._step_s,
            dropped=learner.rule.dropped - self._dropped,
            noise_scale=self._noise.samples,
            averaging_s=averaged.seconds if averaged is not None else None,
            peers=averaged.peers if averaged is not None else None,
            states_alike=averaged.states_alike if averaged is not None else None,
            states_heard=averaged.states_heard if averaged is not None else None,
        )
        self._began, self._waited, self._dropped = now, learner.first.data.waited_s, learner.rule.dropped
        return metrics


class Sink(Protocol):
    """A place to which the metrics of each epoch go."""

    def write(self, metrics: EpochMetrics) -> None:
        """Keep the numbers of one epoch.

        Raises:
            NoSpace: the disk is full.
        """


class JsonLines:
    """A file with one JSON object for each epoch, which only grows."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, metrics: EpochMetrics) -> None:
        """Append a line."""
        append_synced(self._path, msgspec.json.encode(metrics) + b"\n")


class PrometheusFile:
    """The newest epoch as text for the textfile collector of Prometheus' node exporter; each write replaces the file.

    Args:
        path: Ends in ".prom", for the collector reads no others.
        collaboration: The manifest's id in hex, the label of every number.

    Raises:
        BadInput: the file has another end.
    """

    def __init__(self, path: Path, collaboration: str) -> None:
        if path.suffix != ".prom":
            message = "The file {name} would not be read: Prometheus' node exporter reads files that end in .prom."
            raise BadInput(message, path.name, path.stem, hint="Call it {stem}.prom.")
        self._path = path
        self._label = f'{{collaboration="{collaboration}"}}'
        self._measured: dict[str, float | None] = {}
        """What is not measured in each epoch, when it last was."""

    def write(self, metrics: EpochMetrics) -> None:
        """Replace the file."""
        numbers = msgspec.structs.asdict(metrics)
        if metrics.loss_heldout is not None:
            self._measured = {name: numbers[name] for name in ("loss_heldout", "order_heldout")}
        numbers |= self._measured
        lines = []
        for name, number in numbers.items():
            if number is not None:
                called = f"potluck_{name}"
                lines += [
                    f"# HELP {called} {HELP[name]}.",
                    f"# TYPE {called} gauge",
                    f"{called}{self._label} {number!r}",
                ]
        write_atomic(self._path, ("\n".join(lines) + "\n").encode(), mode=READABLE)


class TensorBoard:
    """Scalars by epoch in a folder that TensorBoard reads.

    Raises:
        BadInput: the package tensorboard is not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 - optional
        except ImportError as error:
            raise BadInput(
                "Writing for TensorBoard needs the package tensorboard, which is not installed.",
                hint="Install it with: pip install tensorboard",
            ) from error
        make_directory(folder)
        self._writer: Any = SummaryWriter(str(folder))

    def write(self, metrics: EpochMetrics) -> None:
        """Add a point to each curve."""
        for name, number in msgspec.structs.asdict(metrics).items():
            if number is not None and name != "epoch":
                self._writer.add_scalar(name, number, metrics.epoch)
        self._writer.flush()


def sinks_of(files: MetricFiles, manifest: Manifest) -> list[Sink]:
    """What writes to the files that are named.

    Args:
        files: Where.
        manifest: Manifest of the collaboration.

    Raises:
        BadInput: one cannot be written.
    """
    sinks: list[Sink] = []
    if files.lines:
        sinks.append(JsonLines(Path(files.lines)))
    if files.prometheus:
        sinks.append(PrometheusFile(Path(files.prometheus), manifest.id.hex()))
    if files.tensorboard:
        sinks.append(TensorBoard(Path(files.tensorboard)))
    return sinks


def write_all(sinks: Sequence[Sink], metrics: EpochMetrics) -> None:
    """Give the numbers of an epoch to each sink."""
    for sink in sinks:
        sink.write(metrics)
