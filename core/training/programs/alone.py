"""A learner without a swarm: the baseline, the debugger, the first run; and what it takes on this machine.

    python -m core.training.programs.alone --manifest FILE --blobs DIR --states DIR [--epochs N]
    python -m core.training.programs.alone --manifest FILE --blobs DIR --states DIR --measure-s 20

prints one JSON object a line: `ready` (epoch, device, precision), `progress` (epoch, share), `epoch`
(core.training.metrics.EpochMetrics), `data` (code, arguments, retry_s, left_out: why text does not come, or which of it
is not read), `ended` (epoch: the schedule has come to its end), or `measured`; a problem is a line `problem`.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import torch

from core.base.content import digest
from core.base.manifest import Manifest, read_manifest
from core.base.problems import WorkerProblem
from core.base.signing import Ed25519Verifier
from core.system.atomic_files import make_directory
from core.system.child_process import end_with_parent
from core.system.offline import offline
from core.system.usage import peak_memory
from core.tasks import task_of
from core.tasks.task import Blobs
from core.text.order.data_pass import FIRST
from core.training.devices.devices import usable
from core.training.devices.micro_batch import samples_that_fit
from core.training.devices.replica_thread import MEANINGLESS_BATCHES_MAX
from core.training.flights.calls import LocalExperts
from core.training.learner import Learner, fly
from core.training.metrics import EpochMeter, Sink, sinks_of, write_all
from core.training.programs.child import reporting, say
from core.training.samples.streamed import StreamedSamples, reading_alone
from core.workers.data_frames import DataLeftOut, DataNews
from core.workers.frames import MetricFiles

EXPERTS: Final = "experts.safetensors"
"""File of the experts of a model that has some, beside the folder of states."""
PROGRESS_S: Final = 0.2
MEASURED_MIN: Final = 3
"""Least number of micro-batches that are timed, however long they take."""
PROFILED_BATCHES: Final = 50
"""Micro-batches of an epoch that are profiled, at most: a trace of thousands can be opened by nothing."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The program; see the module's docstring."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    chosen = _parser().parse_args(arguments)
    end_with_parent()
    return reporting(lambda: _run(chosen))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="alone", description="Train without others.")
    for name in ("manifest", "blobs", "states"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("metrics", "prometheus", "tensorboard", "profile"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--measure-s", type=float)
    return parser


def _run(chosen: argparse.Namespace) -> None:
    make_directory(chosen.states)
    offline(chosen.states.parent / "datasets")
    torch.set_num_threads(max(1, chosen.threads))
    devices = [usable(name) for name in chosen.device.split(",")]
    manifest = read_manifest(chosen.manifest.read_bytes(), Ed25519Verifier())
    places = {"lines": chosen.metrics, "prometheus": chosen.prometheus, "tensorboard": chosen.tensorboard}
    sinks = sinks_of(MetricFiles(**{name: str(path) for name, path in places.items() if path is not None}), manifest)
    task = task_of(manifest, Blobs(chosen.blobs, manifest.blobs))
    begin = reading_alone(
        manifest, manifest_path=chosen.manifest, blobs=chosen.blobs, blocks=chosen.states.parent / "blocks"
    )
    repeats = not isinstance(manifest.seed, msgspec.UnsetType)
    samples = StreamedSamples(manifest, 0, begin=begin, tell=_tell, steady=repeats)
    learner = Learner(
        task=task, manifest=manifest, states=chosen.states, samples=samples, devices=devices, clock=time.monotonic
    )
    if repeats:  # a size that follows from speed would make other sums
        fits = int(max(1, samples_that_fit(task.sample_bytes)))
        learner.first.micro_batch.fix(min(task.micro_batch, manifest.target_samples, FIRST, fits))
    experts = None
    if manifest.mixture is not None:
        experts = LocalExperts(manifest.mixture, manifest.chance, device=devices[0], clock=time.monotonic)
        experts.load(chosen.states.parent / EXPERTS)
        fly(learner, manifest, experts, time.monotonic)
    precision = learner.first.backprop.precision.name
    say("ready", epoch=learner.state.epoch, parameters=learner.numel, device=",".join(devices), precision=precision)
    alone = Alone(learner, manifest, sinks=sinks)
    if experts is not None:
        alone.keep = partial(experts.save, chosen.states.parent / EXPERTS)
    if chosen.measure_s is not None:
        alone.measure(chosen.measure_s)
    else:
        alone.train(epochs=chosen.epochs, profile=chosen.profile)


def _tell(news: DataNews) -> None:
    """Say why text does not come, and what of it is left out."""
    if news.code:
        left_out = isinstance(news, DataLeftOut)
        retry_s = 0.0 if isinstance(news, DataLeftOut) else news.retry_s
        say("data", code=news.code, arguments=news.arguments, retry_s=retry_s, left_out=left_out)


class Alone:
    """Plays the swarm for a learner: each contribution is the mean.

    Args:
        learner: What trains.
        manifest: Its collaboration.
        sinks: Where metrics go.
        clock: Seconds that only go forward.
    """

    def __init__(
        self,
        learner: Learner,
        manifest: Manifest,
        *,
        sinks: Sequence[Sink] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._learner = learner
        self._manifest = manifest
        self._sinks = sinks
        self._clock = clock
        self._meter = EpochMeter(learner, clock)
        self._said_at = clock()
        self.keep: Callable[[], None] = lambda: None
        """Keeps what is not in the state, after each step."""

    def train(self, *, epochs: int | None, profile: Path | None = None) -> None:
        """Take a number of steps of the collaboration, each from a full batch.

        Args:
            epochs: Steps; None: until the schedule ends.
            profile: A file for a trace of the first of them.

        Raises:
            WorkerProblem: the model gives numbers that are not finite.
            NoSpace: the disk is full; the last saved state is untouched.
        """
        learner, last = self._learner, None if epochs is None else self._learner.state.epoch + epochs
        while last is None or learner.state.epoch < last:
            if self._manifest.last_epoch is not None and learner.state.epoch >= self._manifest.last_epoch:
                say("ended", epoch=learner.state.epoch)
                return
            with _profiled(profile) as count:
                while learner.samples < self._manifest.target_samples:
                    self._accumulate()
                    count()
                self._step()
            profile = None
            self.keep()
            say("progress", epoch=learner.state.epoch, share=0.0)  # measuring takes a while
            due = learner.state.epoch % self._manifest.evaluate_every == 0 or learner.state.epoch == last
            evaluation = learner.evaluate() if due else None
            metrics = self._meter.epoch_ends(evaluation=evaluation)
            write_all(self._sinks, metrics)
            baselines = {} if evaluation is None else {name: one.loss for name, one in evaluation.baselines.items()}
            said = {"baselines": baselines, "loss_name": learner.task.loss_name, "guesses": learner.task.guesses}
            right = None if evaluation is None else evaluation.score.right
            say("epoch", **msgspec.to_builtins(metrics), **said, right=right)

    def measure(self, seconds: float) -> None:
        """Time micro-batches for a while, then one step, and say what they took."""
        learner, counts, samples = self._learner, 0, 0
        self._accumulate()  # builds what is built once: the shuffle buffer, the library's own plans
        began, before = self._clock(), learner.samples
        while counts < MEASURED_MIN or self._clock() - began < seconds:
            self._accumulate()
            counts += 1
            say("progress", epoch=0, share=min(1.0, max((self._clock() - began) / seconds, counts / MEASURED_MIN / 2)))
        computing_s, samples = self._clock() - began, learner.samples - before
        self._step()
        metrics = self._meter.epoch_ends()
        say(
            "measured",
            samples_per_s=samples / computing_s,
            micro_batch=samples / counts,
            step_s=metrics.step_s,
            memory_bytes=peak_memory(),
            device_bytes=torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0,
        )

    def _accumulate(self) -> None:
        learner = self._learner
        for _ in range(MEANINGLESS_BATCHES_MAX):
            if learner.accumulate():
                break
        else:
            raise WorkerProblem(
                "The model gives numbers that are not finite.", hint="The last saved state is untouched."
            )
        if self._clock() - self._said_at >= PROGRESS_S:
            self._said_at = self._clock()
            share = min(1.0, learner.samples / self._manifest.target_samples)
            say("progress", epoch=learner.state.epoch, share=share)

    def _step(self) -> None:
        learner = self._learner
        learner.replicas.rest()
        samples, loss = learner.samples, learner.loss
        mean = learner.hand_over()
        self._meter.step_begins(mean, samples=samples, loss=loss)
        lineage = digest(b"alone" + learner.state.lineage + samples.to_bytes(8, "big"))
        learner.absorb(mean, epoch=learner.state.epoch + 1, lineage=lineage).saving.result()
        self._meter.step_taken()


@contextmanager
def _profiled(path: Path | None) -> Iterator[Callable[[], None]]:
    """Write a trace of what happens inside to a file; what is given is called after each micro-batch.

    After `PROFILED_BATCHES` of them nothing more is recorded.
    """
    if path is None:
        yield lambda: None
        return
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    profiler = torch.profiler.profile(activities=activities)
    counted = [0]

    def count() -> None:
        counted[0] += 1
        if counted[0] == PROFILED_BATCHES:
            profiler.stop()

    profiler.start()
    yield count
    if counted[0] < PROFILED_BATCHES:
        profiler.stop()
    make_directory(path.parent)
    profiler.export_chrome_trace(str(path))
    say("profiled", path=str(path))


if __name__ == "__main__":
    sys.exit(main())
