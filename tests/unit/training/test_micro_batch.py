"""The size of a pass, on pretended machines."""

from collections.abc import Callable
from random import Random

import msgspec
import pytest

from core.base.problems import WorkerProblem
from core.training.micro_batch import AGAIN, PASS_S, TIMINGS, MicroBatch
from tests.unit.training.small import MANIFEST, Points, SmallTask, learner

CARD: Callable[[int], float] = lambda samples: 0.01 + samples / 100_000  # noqa: E731
"""A pass costs 10 ms, whatever its size, and little for each sample."""
CORE: Callable[[int], float] = lambda samples: samples / 800  # noqa: E731
SLOW: Callable[[int], float] = lambda samples: samples * 0.2  # noqa: E731


def settle(size: MicroBatch, seconds: Callable[[int], float], *, noise: float = 0.0) -> list[int]:
    """The sizes of a few hundred passes, whose batches are made two ahead."""
    random, sizes, ahead = Random(1), [], [size.size, size.size]
    for _ in range(400):
        samples = ahead.pop(0)
        ahead.append(size.size)
        sizes.append(samples)
        size.took(samples, seconds(samples) * random.uniform(1 - noise, 1 + noise))
    return sizes


@pytest.mark.parametrize(
    ("machine", "first", "most", "last"),
    [
        (CARD, 32, 10_000, 8192),  # the next one takes 2.6 times as long as a pass may
        (CARD, 32, 256, 256),
        (CARD, 4096, 64, 64),
        (CORE, 32, 10_000, 32),
        (CORE, 1, 64, 1),
        (SLOW, 8, 64, 1),
        (lambda samples: 10.0, 8, 64, 1),
    ],
)
def test_the_size_settles_where_samples_come_fastest(
    machine: Callable[[int], float], first: int, most: int, last: int
) -> None:
    for noise in (0.0, 0.03):
        found = settle(MicroBatch(first, most=most), machine, noise=noise)
        assert len(set(found[-100:])) == 1
        assert found[-1] == last
        assert machine(last) <= PASS_S or last == 1
        tried = len(set(found))
        assert found.index(last) <= (TIMINGS + 2) * tried


def test_memory_that_ran_out_bounds_the_size() -> None:
    size = MicroBatch(64, most=4096)
    size.ran_out(64)
    assert settle(size, CARD)[-1] == 32
    size.ran_out(2)
    assert size.size == 1
    with pytest.raises(WorkerProblem, match="Close other programs"):
        size.ran_out(1)


class Hungry(SmallTask):
    """Memory suffices for so many samples at once."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.passed: list[Points] = []

    def loss(self, model, batch):
        losses = super().loss(model, batch)
        if batch.samples > self.room:
            losses.objective.backward()
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")
        self.passed.append(batch)
        return losses


class Again(SmallTask):
    """The same batches once more."""

    def __init__(self, batches: list[Points]) -> None:
        self.again = batches

    def batches(self, seed, size=None):
        return iter(self.again)


def test_a_pass_without_memory_leaves_no_trace(tmp_path) -> None:
    task = Hungry(3)
    hungry = learner(tmp_path / "hungry", task=task)
    counted = [hungry.accumulate() for _ in range(40)]
    assert 0 < counted.count(False) <= 2  # of 8 samples, then of 4
    plain = learner(tmp_path / "plain", task=Again(task.passed))
    for _ in task.passed:
        plain.accumulate()
    assert hungry.samples == plain.samples
    assert (hungry.hand_over() == plain.hand_over()).all()


def test_memory_for_no_sample_is_a_sentence(tmp_path) -> None:
    starving = learner(tmp_path, task=Hungry(0))

    def train() -> None:
        for _ in range(10):
            starving.accumulate()

    with pytest.raises(WorkerProblem, match="memory does not suffice"):
        train()


def test_local_steps_are_no_larger_on_fast_machines(tmp_path) -> None:
    rule = {"name": "local", "steps": 4, "samples": 16, "optimizer": {"name": "adamw"}}
    target = {"target_samples": 4096}
    local = learner(tmp_path / "local", manifest=msgspec.structs.replace(MANIFEST, rule=rule, **target))
    plain = learner(tmp_path / "plain", manifest=msgspec.structs.replace(MANIFEST, **target))
    assert settle(local.micro_batch, CARD)[-1] == 16
    assert settle(plain.micro_batch, CARD)[-1] == 512


def test_a_slow_beginning_is_not_the_last_word() -> None:
    size = MicroBatch(32, most=4096)
    assert settle(size, SLOW)[-1] == 1
    for _ in range(AGAIN // 400 + 2):
        last = settle(size, CARD)[-1]
    assert last == 4096
