"""What becomes of the chunks that a plan did not ask for: measured where the optimum is known, and with a small GPT.

    python -m tests.ablations.carried [gpt]

Eight peers of equal speed; two give all, six a quarter of each contribution, and which quarter turns as in the program.
The quadratic has 512 curvatures from 0.01 to 1 and noise of 1 a sample; printed is its loss above the optimum's, mean
over the last third of 1,000 steps.  The GPT is `small-gpt` with one layer, eight peers of 4 samples a step; printed is
its held-out loss.  `carried` is the program's own class; the rows below it are what it was chosen from.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

import resources
from core.averaging.allreduce.share_map import gives_chunk
from core.base.content import digest
from core.base.data_source import DataSource
from core.base.manifest import Manifest
from core.base.work import Untaken
from core.storage.recipes import open_recipe
from core.tasks import module_of, task_of
from core.tasks.task import Blobs
from core.tasks.text import text_of
from core.training.carried import Carried
from core.training.optimizers import optimizer_of
from core.training.vectors.flat import FlatParameters
from tests.unit.training.given_samples import text_batches

Vector = NDArray[np.float32]
GIFTS: Final = (256, 256, 64, 64, 64, 64, 64, 64)
WHOLE: Final = (256,) * 8
SEEDS: Final = 3
SAMPLES: Final = 4
"""Samples of a peer in a step."""


class Round:
    """The means of eight peers' gradients, step after step.

    Args:
        way: What becomes of what was not given.
        portions: Of the peers, in 256ths.
        numel: Numbers in the vector.
        chunk: Numbers in a chunk.
    """

    def __init__(self, way: str, portions: tuple[int, ...], *, numel: int, chunk: int) -> None:
        self._way, self._portions, self._chunk, self._epoch = way, portions, chunk, 0
        self._chunks = range(-(-numel // chunk))
        self._carried = [Carried() for _ in portions]
        self._owed = np.zeros((len(portions), numel), dtype=np.float32)
        self._old = np.zeros((len(portions), numel), dtype=np.float32)
        """Number of contributions in what is owed."""

    def mean(self, gradients: list[Vector]) -> Vector:
        """The mean that a round makes of these, each a peer's mean over as many samples."""
        total, weight = np.zeros_like(gradients[0]), np.zeros_like(gradients[0])
        for peer, (gradient, portion) in enumerate(zip(gradients, self._portions, strict=True)):
            kept = [not gives_chunk(self._epoch, peer, number, portion) for number in self._chunks]
            untaken = Untaken.of(kept, chunk_numel=self._chunk)
            given = ~untaken.mask(gradient.size)
            part = gradient.copy()
            weighs = given.astype(np.float32)
            if self._way == "carried":
                self._carried[peer].add_to(part, samples=SAMPLES)
                self._carried[peer].keep(part, samples=SAMPLES, untaken=untaken)
            elif self._way != "thrown away":
                part += self._owed[peer]
                self._owed[peer] = np.where(given, 0, part)
                count = self._old[peer] + 1
                self._old[peer] = np.where(given, 0, count)
                if self._way == "sum, over all samples":
                    weighs = np.ones_like(weighs)
                elif self._way == "all old samples, their own weight":
                    weighs *= count
                elif self._way == "all old samples, the same weight":
                    part /= count
            total += np.where(given, part, 0)
            weight += weighs
        self._epoch += 1
        return total / weight


WAYS: Final = (
    "thrown away",
    "carried",
    "all old samples, the same weight",
    "all old samples, their own weight",
    "sum, over all samples",
    "sum, over the givers' samples",
)


def excess(way: str, portions: tuple[int, ...], *, rate: float, delayed: bool, seed: int) -> float:
    """Loss of the quadratic above its optimum, by gradient descent with momentum 0.9."""
    chance, size, steps = np.random.default_rng(seed), 512, 1000
    curvatures = chance.permutation(np.geomspace(0.01, 1, size)).astype(np.float32)
    at = before = chance.standard_normal(size).astype(np.float32)
    momentum, averaged, losses = np.zeros(size, dtype=np.float32), Round(way, portions, numel=size, chunk=1), []
    for _ in range(steps):
        stands, before = (before if delayed else at), at
        noise = chance.standard_normal((len(portions), size)).astype(np.float32) / np.float32(SAMPLES**0.5)
        momentum = np.float32(0.9) * momentum + averaged.mean(list(curvatures * stands + noise))
        at = at - np.float32(rate) * momentum
        with np.errstate(over="ignore"):  # some ways diverge
            losses.append(float(0.5 * (curvatures * at * at).mean()))
    return mean(losses[steps * 2 // 3 :])


def small_gpt(folder: Path) -> Callable[..., float]:
    """A function that trains a GPT of one layer in eight peers, and returns its held-out loss."""
    recipe = open_recipe(resources.file("recipes", "small-gpt.toml"))
    prepared = module_of("gpt").prepare({}, text_of((DataSource(),)), folder, progress=lambda *_: None)
    names = {name: digest(path.read_bytes()).hex() for name, path in prepared.blobs.items()}
    for name, path in prepared.blobs.items():
        (folder / names[name]).write_bytes(path.read_bytes())
    numbers = prepared.numbers | recipe.model | {"length": 32, "layers": 1, "held_out": 256}

    def trained(way: str, portions: tuple[int, ...], *, rate: float, steps: int, seed: int) -> float:
        optimizer = recipe.epochs_optimizer | {"learning_rate": rate}
        manifest = Manifest(
            name="t", organiser="t", task="gpt", numbers=numbers, blobs=names, optimizer=optimizer, authority="00" * 32
        )
        task = task_of(manifest, Blobs(folder, names))
        model = task.model(seed)
        flat = FlatParameters(model)
        step, averaged = optimizer_of(optimizer, flat), Round(way, portions, numel=flat.numel, chunk=512)
        streams = [
            text_batches(manifest, Blobs(folder, names), 100 * seed + peer, SAMPLES) for peer in range(len(portions))
        ]

        def gradients() -> Iterator[Vector]:
            for stream in streams:
                flat.gradients_N.zero_()
                task.loss(model, next(stream)).objective.backward()
                yield flat.gradients_N.numpy().copy()

        for epoch in range(steps):
            step.step(torch.from_numpy(averaged.mean(list(gradients()))), taken=epoch, epoch=epoch)
        return task.evaluate(model.eval()).score.loss

    return trained


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Print a row for each way, and one in which everybody gives all."""
    rows = [("everybody gives all", "thrown away", WHOLE), *((way, way, GIFTS) for way in WAYS)]
    if sys.argv[1:] == ["gpt"]:
        torch.set_num_threads(1)
        with tempfile.TemporaryDirectory() as folder:
            trained = small_gpt(Path(folder))
            for name, way, portions in rows:
                for rate, steps in ((0.0015, 300), (0.006, 200)):
                    found = [trained(way, portions, rate=rate, steps=steps, seed=seed) for seed in range(SEEDS)]
                    spread = f"{min(found):.3f}..{max(found):.3f}"
                    say(f"{name}: rate {rate}, {steps} steps: {mean(found):.3f} ({spread})")
        return
    for name, way, portions in rows:
        for rate, delayed in ((0.01, False), (0.01, True), (0.05, False), (0.05, True)):
            found = mean(excess(way, portions, rate=rate, delayed=delayed, seed=seed) for seed in range(SEEDS))
            say(f"{name}: rate {rate}, {'delayed' if delayed else 'in turn'}: {found:.5f}")


if __name__ == "__main__":
    main()
