"""Four unequal workers against one process with the same batches: transformers' ALBERT and torch's AdamW.

In float32 the same sum in another order is another sum, and each step makes of that a little more: of the parameters'
norm the two are apart by 6e-7 to 1e-6 after one step, 7e-5 after 50, 4e-4 after 200; with delayed updates by 5e-5 and
1.5e-4, when the process's gradients are one step stale as well, and by 0.7 when they are not.

Of what they are apart after one step nine tenths and more are the 32 numbers of one bias: what is added to all keys
changes no attention, so its gradient is zero, and rounding makes 3e-10 of that.  AdamW divides by that and 1e-8.
"""

import os
from dataclasses import replace as changed
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from msgspec.structs import replace

from core.averaging.aggregators import AGGREGATORS
from core.base.content import digest
from core.base.manifest import AveragingNumbers, Manifest
from core.tasks import task_of
from core.tasks.albert.masking import MaskedBatch
from core.tasks.albert.task import Albert
from core.tasks.task import Blobs, Losses
from core.training.learner import Learner
from tests.bench.training.big_batch import BigBatch
from tests.small_task import small_data, small_task
from tests.unit.training.given_samples import GivenSamples, text_batches
from tests.unit.training.small import ticking

IDLE = "network.albert.encoder.albert_layer_groups.0.albert_layers.0.attention.key.bias"
EPSILON = 1e-8
"""AdamW's."""
APART = 8 * 2**-24
"""After the first step all others are apart by a few roundings of their norm: 0.8e-7 to 2.1e-7 with four texts."""
STEPS = 200 if os.environ.get("POTLUCK_LONG") else 40
BATCHES = (1, 1, 2, 5)
"""How many batches each worker brings to a step: speeds differ by five times."""
SIZES = (3, 8, 4, 1)
"""Samples of a batch, by worker."""
TOLERANCE = 1e-3 if os.environ.get("POTLUCK_LONG") else 2e-4
OPTIMIZER = {"name": "adamw", "learning_rate": 0.003, "beta2": 0.98, "warmup_epochs": 10, "total_epochs": 1000}
FIRST_RATE = 0.003 / 10


class Recorded:
    """A task with a machine's own size of batches, which writes down what was learned from."""

    def __init__(self, task: Albert, size: int) -> None:
        self._task = task
        self.micro_batch = size
        self.taken: list[MaskedBatch] = []

    def loss(self, model: torch.nn.Module, batch: MaskedBatch) -> Losses:
        self.taken.append(batch)
        return self._task.loss(model, batch)

    def __getattr__(self, name: str) -> object:
        return getattr(self._task, name)


def union(batches: list[MaskedBatch]) -> MaskedBatch:
    """All samples as one batch."""
    starts = np.cumsum([0, *(batch.pieces_BT.size for batch in batches)])
    moved = [changed(batch, places_M=batch.places_M + start) for batch, start in zip(batches, starts, strict=False)]
    fields = ("pieces_BT", "types_BT", "present_BT", "swapped_B", "places_M", "words_M")
    return MaskedBatch(*(np.concatenate([getattr(batch, name) for batch in moved]) for name in fields))


def compute(peers: list[Learner], tasks: list[Recorded]) -> MaskedBatch:
    for peer, count in zip(peers, BATCHES, strict=True):
        for _ in range(count):
            assert peer.accumulate()
    all_of_them = union([batch for task in tasks for batch in task.taken])
    for task in tasks:
        task.taken.clear()
    return all_of_them


def manifest_of(folder: Path, *, delayed: bool) -> tuple[Manifest, Albert]:
    prepared = small_task(folder)
    blobs = {name: digest(path.read_bytes()).hex() for name, path in prepared.blobs.items()}
    for name, path in prepared.blobs.items():
        path.rename(folder / blobs[name])
    made = Manifest(
        name="t", organiser="t", task="albert", numbers=prepared.numbers, blobs=blobs, authority="00" * 32,
        data=small_data(prepared), optimizer=OPTIMIZER, target_samples=128,
    )  # fmt: skip
    if delayed:
        made = replace(made, averaging=AveragingNumbers(delayed=True))
    task = task_of(made, Blobs(folder, blobs))
    assert isinstance(task, Albert)
    return made, task


def difference(peer: Learner, loop: BigBatch, task: Albert) -> torch.Tensor:
    """Between the parameters of a worker and of the loop, in parts of their norm."""
    plain = dict(loop.network.named_parameters())
    plain["predictions.bias"] = plain["predictions.bias"] - task.log_frequencies_V
    names = [span.name.removeprefix("network.") for span in peer.parameters.spans]
    expected_N = torch.cat([plain[name].detach().flatten() for name in names])
    return (peer.parameters.values_N - expected_N) / expected_N.norm()


def check_first_step(peer: Learner, loop: BigBatch, task: Albert, mean_N: np.ndarray) -> None:
    """Roundings set all numbers apart, and the idle ones as far as AdamW's first step, g / (|g| + 1e-8), tells."""
    (idle,) = (span for span in peer.parameters.spans if span.name == IDLE)
    apart_N = difference(peer, loop, task)
    idle_apart = float(idle.of(apart_N).norm())
    idle.of(apart_N).zero_()
    assert float(apart_N.norm()) < APART
    gradient = dict(loop.network.named_parameters())[IDLE.removeprefix("network.")].grad
    assert gradient is not None
    noise = float((idle.of(torch.from_numpy(mean_N)).abs() + gradient.abs()).norm())
    assert noise < 2**-24 * np.linalg.norm(mean_N)
    assert idle_apart <= FIRST_RATE * noise / EPSILON / float(peer.parameters.values_N.norm())


@pytest.mark.parametrize("delayed", [False, True])
def test_unequal_workers_equal_one_process_with_their_batches(tmp_path: Path, *, delayed: bool) -> None:
    manifest, task = manifest_of(tmp_path / "task", delayed=delayed)
    loop = BigBatch(task, manifest)
    fresh = BigBatch(task, replace(manifest, averaging=AveragingNumbers()))
    tasks, blobs = [Recorded(task, size) for size in SIZES], Blobs(tmp_path / "task", manifest.blobs)
    peers = [
        Learner(
            task=one,
            manifest=manifest,
            states=tmp_path / str(n),
            samples=GivenSamples(n, partial(text_batches, manifest, blobs, size=one.micro_batch)),
            devices=["cpu"],
            clock=ticking(),
        )
        for n, one in enumerate(tasks)
    ]
    mean = AGGREGATORS["mean"]()
    found = []
    if delayed:
        batch = compute(peers, tasks)
        loop.step(batch)  # only computes a gradient: it is one step stale from here on
        fresh.step(batch)
    for step in range(1, STEPS + 1):
        if not delayed:
            loop.step(compute(peers, tasks))
        samples = [peer.samples for peer in peers]
        parts = [peer.hand_over().copy() for peer in peers]
        if delayed:
            batch = compute(peers, tasks)
            loop.step(batch)
            fresh.step(batch)
        mean_N = np.empty_like(parts[0])
        mean.aggregate([count / sum(samples) for count in samples], parts, mean_N)
        for peer in peers:
            peer.absorb(mean_N, epoch=step, lineage=digest(bytes([step % 256])))
        assert loop.taken == step
        if step in {1, STEPS // 2, STEPS}:
            found.append([float(difference(peers[0], other, task).norm()) for other in (loop, fresh)])
        if step == 1:
            check_first_step(peers[0], loop, task, mean_N)
    assert max(apart for apart, _ in found) < TOLERANCE
    assert not delayed or found[-1][1] > 10 * TOLERANCE
    assert len({peer.state.saved.digest for peer in peers}) == 1
