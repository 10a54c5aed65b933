"""The size of a pass, on pretended machines."""

from collections.abc import Callable
from itertools import count
from random import Random

import msgspec
import pytest
import torch

from core.base.problems import WorkerProblem
from core.training.devices.micro_batch import AGAIN_S, PASS_S, TIMINGS, BatchFit, MicroBatch
from tests.unit.training.small import MANIFEST, Points, SmallTask, learner

CARD: Callable[[int], float] = lambda samples: 0.013 + samples / 100_000  # noqa: E731
"""A pass costs 13 ms, whatever its size, and little for each sample."""
CORE: Callable[[int], float] = lambda samples: samples / 800  # noqa: E731
FLAT: Callable[[int], float] = lambda samples: max(samples, 16) / 700  # noqa: E731
"""Fewer than 16 samples take as long as 16; more come no faster."""
SMOOTH: Callable[[int], float] = lambda samples: 0.008 + samples / 700  # noqa: E731
SLOW: Callable[[int], float] = lambda samples: samples * 0.2  # noqa: E731


def settle(size: MicroBatch, seconds: Callable[[int], float], *, noise: float = 0.0) -> list[int]:
    """The sizes of a few hundred passes, whose batches are made two ahead."""
    random, sizes, ahead = Random(1), [], [size.next_size(), size.next_size()]
    for _ in range(400):
        samples = ahead.pop(0)
        ahead.append(size.next_size())
        sizes.append(samples)
        size.took(samples, seconds(samples) * random.uniform(1 - noise, 1 + noise))
    return sizes


@pytest.mark.parametrize(
    ("machine", "first", "most", "last"),
    [
        (CARD, 32, 10_000, 8192),  # twice as many come hardly faster
        (CARD, 32, 256, 256),
        (CARD, 4096, 64, 64),
        (CORE, 32, 10_000, 1),  # more samples at once come no faster
        (CORE, 1, 64, 1),
        (FLAT, 32, 10_000, 16),  # half as many come as fast, and a round waits half as long for them
        (FLAT, 9, 10_000, 18),
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
        assert found.index(last) <= (2 * TIMINGS + 2) * tried


def test_the_size_stays_small_while_a_computer_wakes_up() -> None:
    """At its start it reads text as well, and each pass takes a little less time than the one before."""
    passes = count(1)
    waking = settle(MicroBatch(32, most=10_000), lambda samples: FLAT(samples) * (1 + 100 / (next(passes) + 30)))
    assert waking[-1] == 16


def test_the_size_grows_while_a_computer_becomes_busy() -> None:
    """Each pass takes a little more time than the one before; sizes that take turns suffer alike."""
    passes = count(1)
    tiring = settle(MicroBatch(4, most=32), lambda samples: SMOOTH(samples) * min(10, 1 + next(passes) / 140))
    assert tiring[-1] == 32


class Shared:
    """A processor on which others compute, too: runs of some milliseconds, with waits between them."""

    def __init__(self, *, others: int, seed: int) -> None:
        self.others, self.random = others, Random(seed)
        self.run_s = self.random.expovariate(1 / RUN_S)

    def seconds(self, work_s: float) -> float:
        """How long it takes until so much work is done."""
        took_s = work_s
        while work_s > self.run_s:
            work_s -= self.run_s
            self.run_s = self.random.expovariate(1 / RUN_S)
            took_s += self.random.expovariate(1 / RUN_S / self.others) if self.others else 0.0
        self.run_s -= work_s
        return took_s


RUN_S = 0.006


@pytest.mark.parametrize("others", [0, 2, 6, 14])
@pytest.mark.parametrize(("machine", "last"), [(FLAT, 16), (SMOOTH, 32)])
def test_a_busy_processor_does_not_change_the_size(machine: Callable[[int], float], last: int, others: int) -> None:
    """By duration, a third of these settled at 8 samples or fewer, and one in ten at a single one."""
    for seed in range(20):
        size, shared = MicroBatch(32, most=512), Shared(others=others, seed=seed)
        while size.fit is None:
            samples = size.next_size()
            work_s = machine(samples) * shared.random.uniform(0.98, 1.02)
            size.took(samples, shared.seconds(work_s), work_s)
        assert size.size == last


def test_halves_are_compared_with_the_best_size() -> None:
    """Each costs 8 % more than the one before: five of them were taken, a third of the speed."""
    machine = {2**n: 2**n * 0.002 * 1.08 ** (5 - n) for n in range(6)}
    size = MicroBatch(32, most=32)
    assert settle(size, lambda samples: machine[samples])[-1] == 16


def test_memory_that_ran_out_bounds_the_size() -> None:
    size = MicroBatch(64, most=64)
    assert settle(size, CARD)[-1] == 64
    size.ran_out(64)
    assert settle(size, CARD)[-1] == 32
    size.ran_out(2)
    assert size.size == 1
    size.ran_out(1)
    assert (size.size, size.recompute) == (1, True)
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
    assert settle(local.first.micro_batch, CARD)[-1] == 16
    assert settle(plain.first.micro_batch, CARD)[-1] == 512


def test_a_slow_beginning_is_not_the_last_word() -> None:
    size = MicroBatch(32, most=4096)
    assert settle(size, SLOW)[-1] == 1
    for _ in range(2 + round(AGAIN_S / (400 * CARD(1)))):
        last = settle(size, CARD)[-1]
    assert last == 4096


def test_memory_that_is_free_bounds_the_size() -> None:
    """There is memory for 100 more samples at first; what is taken is no longer free."""
    taken = [1]
    size = MicroBatch(32, most=4096, room=lambda: 100 - taken[0])

    def card(samples: int) -> float:
        taken[0] = max(taken[0], samples)
        return CARD(samples)

    assert settle(size, card)[-1] == 64
    assert not size.recompute


def test_no_memory_for_a_sample_recomputes_its_layers() -> None:
    size = MicroBatch(32, most=4096, room=lambda: 0.9)
    assert size.recompute
    assert set(settle(size, CARD)) == {1}


@pytest.mark.parametrize(("limit", "begun", "recomputes"), [(10_000.0, 512, False), (60.0, 60, False), (0.5, 1, True)])
def test_another_limit_counts_besides_the_first(limit: float, begun: int, *, recomputes: bool) -> None:
    size = MicroBatch(32, most=4096, room=lambda: 2000.0, found=BatchFit(512))
    size.keep_within(lambda: limit)
    assert (size.size, size.recompute) == (begun, recomputes)
    grows = MicroBatch(32, most=4096)
    grows.keep_within(lambda: 3.0)
    for _ in range(200):
        grows.took(samples := grows.next_size(), 0.001 * samples**0.5)
        assert samples <= 4
    assert grows.size == 4


@pytest.mark.parametrize(("room", "begun"), [(10_000.0, 512), (100.0, 100), (0.5, 1)])
def test_a_start_goes_on_with_what_was_found(room: float, begun: int) -> None:
    size = MicroBatch(32, most=4096, room=lambda: room, found=BatchFit(512))
    assert (size.size, size.recompute) == (begun, room < 1)
    assert size.fit == BatchFit(begun)


class Narrow(SmallTask):
    """Memory holds so many bytes of one pass for its backward pass."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.kept = 0

    def batches(self, seed, size=None):
        return (Points(torch.ones(1, 6), torch.zeros(1, 2)) for _ in count())

    def loss(self, model, batch):
        self.kept = 0

        def keep(tensor: torch.Tensor) -> torch.Tensor:
            self.kept += tensor.nbytes
            if self.kept > self.room:
                raise RuntimeError("CUDA out of memory. Tried to allocate")
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            return super().loss(model, batch)


def test_layers_are_recomputed_where_one_sample_lacks_memory(tmp_path) -> None:
    task = Narrow(10**9)
    plain = learner(tmp_path / "plain", task=task)
    assert plain.accumulate()
    narrow = learner(tmp_path / "narrow", task=Narrow(task.kept - 1))
    assert [narrow.accumulate() for _ in range(2)] == [False, True]
    assert narrow.first.micro_batch.recompute
    assert (narrow.hand_over() == plain.hand_over()).all()


def test_what_was_found_is_there_at_the_next_start(tmp_path) -> None:
    few = msgspec.structs.replace(MANIFEST, target_samples=16)
    first = learner(tmp_path / "states", manifest=few)
    for _ in range(200):
        first.accumulate()
    found = first.first.micro_batch.fit
    assert found is not None
    kept = msgspec.json.decode((tmp_path / "micro_batch.json").read_bytes())
    (about,) = kept
    assert about.startswith(f"processor / fp32 / torch {torch.__version__} / model ")
    again = learner(tmp_path / "states", manifest=few)
    assert (again.first.micro_batch.fit, again.first.micro_batch.size) == (found, found.size)
    other = msgspec.structs.replace(few, precision="tf32")
    assert learner(tmp_path / "states of another", manifest=other).first.micro_batch.fit is None


def test_a_size_that_is_fixed_is_never_left() -> None:
    size = MicroBatch(8, most=64)
    settle(size, CARD)
    size.fix(3)
    for _ in range(100):
        assert size.next_size() == 3
        size.took(3, AGAIN_S)
    assert size.fit == BatchFit(3)
