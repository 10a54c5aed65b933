"""Several devices of one worker; there is none but the processor here, so it is each of them."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from msgspec.structs import replace

from core.base.content import digest
from core.base.manifest import AveragingNumbers
from core.base.problems import BadInput
from core.tasks.task import Losses
from core.training.__main__ import keep_within
from core.training.devices.replica_thread import MEANINGLESS_BATCHES_MAX
from core.training.learner import Learner
from core.workers import frames
from tests.unit.training.small import MANIFEST, PlainLamb, Points, SmallTask, learner
from tests.unit.training.talk import talk

THREE = ("cpu", "cpu", "cpu")
LINEAGES = [digest(bytes([n])) for n in range(9)]


class Recorded(SmallTask):
    """Keeps the batches of each device, by the address of its parameters, and what these were."""

    def __init__(self) -> None:
        self.taken: dict[int, list[Points]] = defaultdict(list)
        self.values: list[torch.Tensor] = []

    def loss(self, model: torch.nn.Module, batch: Points) -> Losses:
        self.taken[next(model.parameters()).data_ptr()].append(batch)
        self.values.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
        return super().loss(model, batch)

    def each(self) -> list[Points]:
        return [batch for batches in self.taken.values() for batch in batches]


class Failing(Recorded):
    """Every device except the first fails after so many batches."""

    def __init__(self, how: Callable[[Losses], Losses], *, after: int = 0) -> None:
        super().__init__()
        self.how, self.after = how, after

    def loss(self, model: torch.nn.Module, batch: Points) -> Losses:
        losses = super().loss(model, batch)
        if (
            threading.current_thread() is threading.main_thread()
            or len(self.taken[next(model.parameters()).data_ptr()]) <= self.after
        ):
            return losses
        self.taken[next(model.parameters()).data_ptr()].pop()
        return self.how(losses)


def no_memory(losses: Losses) -> Losses:
    losses.objective.backward()
    raise RuntimeError("CUDA out of memory. Tried to allocate 1 GiB")


def vanished(losses: Losses) -> Losses:
    raise RuntimeError("CUDA error: device lost\nMore words")


def not_finite(losses: Losses) -> Losses:
    return Losses(objective=losses.objective * float("nan"), reported=losses.reported)


def train(peer: Learner, *, passes: int = 3) -> None:
    """Until each device has computed so many passes more."""
    done = [other.sum.batches for other in peer.replicas.held.others]
    for count in range(100_000):
        assert peer.accumulate()
        sums = [other.sum.batches for other in peer.replicas.held.others]
        if count >= passes and all(now >= before + passes for now, before in zip(sums, done, strict=True)):
            return
    raise AssertionError("a device has not computed")


def union(batches: list[Points]) -> Points:
    return Points(torch.cat([batch.x for batch in batches]), torch.cat([batch.y for batch in batches]))


def computing() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("replica on")]


def test_three_devices_equal_one_process_on_their_samples(tmp_path: Path) -> None:
    """Five steps; the mean gradient as near to a double-precision one over all samples at once as roundings tell.

    A sum of n vectors is off by n - 1 roundings of the sum of their norms at most, and a slow device lets the first one
    compute thousands of batches; each batch's gradient is off by less than 100 roundings.
    """
    task = Recorded()
    peer = learner(tmp_path, task=task, devices=THREE)
    alone = SmallTask().model(int.from_bytes(MANIFEST.id[:8], "big"))
    parameters = list(alone.parameters())
    lamb = PlainLamb(parameters)
    for epoch in range(1, 6):
        train(peer)
        mean = peer.hand_over()
        whole = union(task.each())
        assert len(task.taken) == 3
        assert peer.samples == whole.samples
        exact = SmallTask().model(0).double()
        for double, single in zip(exact.parameters(), parameters, strict=True):
            double.data.copy_(single.detach())
        losses = SmallTask().loss(exact, Points(whole.x.double(), whole.y.double()))
        gradient = torch.cat([g.flatten() for g in torch.autograd.grad(losses.objective, list(exact.parameters()))])
        assert peer.rule.single is not None
        roundings = (len(task.each()) + 100) * 2**-24
        assert (torch.from_numpy(mean) - gradient).norm() <= roundings * peer.rule.single.squared**0.5
        assert peer.loss == pytest.approx(losses.reported.item(), rel=1e-5)

        peer.absorb(mean, epoch=epoch, lineage=LINEAGES[epoch])
        lamb.step(list(torch.autograd.grad(SmallTask().loss(alone, whole).objective, parameters)))
        expected = torch.cat([p.detach().flatten() for p in parameters])
        assert (peer.parameters.values_N - expected).norm() <= 1e-5 * expected.norm()
        task.taken.clear()
        task.values.clear()
        train(peer)
        assert all(torch.equal(values, peer.parameters.values_N) for values in task.values)
        peer.replicas.rest()
    assert not computing()


def test_sum_follows_in_bits_from_what_each_device_computed(tmp_path: Path) -> None:
    task = Recorded()
    peer = learner(tmp_path, task=task, devices=THREE)
    train(peer, passes=20)
    contribution = peer.hand_over()
    model = SmallTask().model(int.from_bytes(MANIFEST.id[:8], "big"))
    by_device = [task.taken[replica.parameters.values_N.data_ptr()] for replica in peer.replicas.held.each]
    sums = []
    for batches in by_device:
        sums.append(torch.zeros(peer.numel))
        for batch in batches:
            gradients = torch.autograd.grad(SmallTask().loss(model, batch).objective, list(model.parameters()))
            sums[-1].add_(torch.cat([gradient.flatten() for gradient in gradients]), alpha=batch.samples)
    expected = ((sums[0] + sums[1]) + sums[2]) / sum(batch.samples for batch in task.each())
    assert np.array_equal(contribution, expected.numpy())


def test_devices_share_one_order_and_no_sample(tmp_path: Path) -> None:
    task = Recorded()
    peer = learner(tmp_path, task=task, devices=THREE)
    for _ in range(3):
        train(peer)
        peer.replicas.rest()
    rows = [tuple(row) for batch in task.each() for row in batch.x.tolist()]
    assert len(set(rows)) == len(rows) == peer.samples
    order = SmallTask().batches(int.from_bytes(digest(b"0 0")[:8], "big"))
    ahead = 3 * 17
    there = {tuple(row) for batch in islice(order, len(task.each()) + ahead) for row in batch.x.tolist()}
    assert there.issuperset(rows)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (no_memory, "This computer's memory does not suffice"),
        (vanished, "CUDA error: device lost."),
        (not_finite, "Its numbers are not finite."),
    ],
)
@pytest.mark.parametrize("after", [0, 4])
def test_a_device_that_fails_leaves_and_others_go_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], how: Callable[[Losses], Losses], why: str, after: int
) -> None:
    task = Failing(how, after=after)
    peer = learner(tmp_path, task=task, devices=THREE)
    while not all(other.failure for other in peer.replicas.held.others):
        peer.accumulate()
    assert not peer.replicas.held.left
    mean = peer.hand_over()
    assert peer.replicas.held.others == ()
    assert len(peer.replicas.held.left) == 2
    assert all(
        str(sentence).startswith(f"The device cpu trains no more: {why}") for sentence in peer.replicas.held.left
    )
    assert capfd.readouterr().err.count("trains no more") == 2
    assert peer.samples == sum(batch.samples for batch in task.each())
    assert np.isfinite(mean).all()
    assert (peer.rule.dropped == 2 * MEANINGLESS_BATCHES_MAX) == (how is not_finite)
    samples = peer.samples
    assert peer.accumulate()
    assert peer.samples > samples
    assert not computing()


def test_a_device_that_cannot_be_used_leaves_at_once(tmp_path: Path) -> None:
    """Torch's meta device has no numbers."""
    peer = learner(tmp_path, devices=("cpu", "meta", "cpu"))
    assert peer.accumulate()
    assert [replica.device for replica in peer.replicas.held.each] == ["cpu", "cpu"]
    (sentence,) = peer.replicas.held.left
    assert str(sentence).startswith("The device meta trains no more: ")


def test_a_device_that_cannot_be_read_takes_its_sum_along(tmp_path: Path) -> None:
    task = Recorded()
    peer = learner(tmp_path, task=task, devices=THREE)
    gone, kept = peer.replicas.held.others
    train(peer)
    gone.sum.gradients_N = torch.empty(peer.numel, device="meta")
    peer.accumulate()
    assert gone.sum.samples
    mean = peer.hand_over()
    assert peer.replicas.held.others == (kept,)
    assert len(peer.replicas.held.left) == 1
    del task.taken[gone.replica.parameters.values_N.data_ptr()]
    assert peer.samples == sum(batch.samples for batch in task.each())
    assert np.isfinite(mean).all()


def test_the_first_device_fails_as_a_single_one_does(tmp_path: Path) -> None:
    class First(SmallTask):
        def loss(self, model: torch.nn.Module, batch: Points) -> Losses:
            if threading.current_thread() is threading.main_thread():
                raise RuntimeError("CUDA error: device lost")
            return super().loss(model, batch)

    peer = learner(tmp_path, task=First(), devices=THREE)
    with pytest.raises(RuntimeError, match="device lost"):
        peer.accumulate()
    peer.replicas.rest()
    assert not computing()


def test_threads_end_with_a_learner_that_is_dropped(tmp_path: Path) -> None:
    peer = learner(tmp_path, devices=THREE)
    peer.accumulate()
    assert len(computing()) == 2
    del peer
    assert not computing()


def test_a_stream_that_ends_is_a_sentence(tmp_path: Path) -> None:
    class Short(SmallTask):
        def batches(self, seed: int, size: Callable[[], int] | None = None) -> Iterator[Points]:
            yield from islice(super().batches(seed), 5)
            raise BadInput("There is too little text to learn from.", hint="Give more text.")

    peer = learner(tmp_path, task=Short(), devices=THREE)

    def exhaust() -> None:
        for _ in range(6):
            peer.accumulate()

    with pytest.raises(BadInput, match="too little text"):
        exhaust()
    peer.replicas.rest()
    assert all("too little text" in str(sentence) for sentence in peer.replicas.held.left)


def test_local_steps_are_of_all_devices_together(tmp_path: Path) -> None:
    rule = {"name": "local", "steps": 10, "samples": 24, "optimizer": {"name": "adamw", "learning_rate": 0.01}}
    task = Recorded()
    peer = learner(tmp_path, task=task, manifest=replace(MANIFEST, rule=rule), devices=THREE)
    assert {replica.micro_batch.next_size() <= 8 for replica in peer.replicas.held.each} == {True}
    for _ in range(60):
        peer.accumulate()
        assert not computing()
        assert peer.replicas.beside == 0
    peer.hand_over()
    assert peer.samples == sum(batch.samples for batch in task.each())
    assert len(task.taken) == 3
    assert len({tuple(values.tolist()) for values in task.values}) == 10


def test_a_worker_tells_of_devices_that_left(tmp_path: Path) -> None:
    task = Failing(no_memory, after=2)
    manifest = replace(MANIFEST, averaging=AveragingNumbers(delayed=True))
    t = talk(tmp_path, task=task, manifest=manifest, devices=THREE)
    t.conversation.begin()
    while not all(other.failure for other in t.peer.replicas.held.others):
        t.train(1)
    collected, said = t.hear(frames.Collect(round=b"r"), frames.Go())
    assert isinstance(collected, frames.Collected)
    assert collected.samples == sum(batch.samples for batch in task.each())
    assert isinstance(said, frames.Computes)
    assert (said.device, said.title) == ("cpu", "processor")
    assert sum("trains no more: This computer's memory does not suffice" in str(note) for note in said.notes) == 2


def test_samples_beside_a_round_are_ahead_of_it(tmp_path: Path) -> None:
    manifest = replace(MANIFEST, averaging=AveragingNumbers(delayed=True))
    t = talk(tmp_path, manifest=manifest, devices=THREE)
    while not all(other.sum.samples for other in t.peer.replicas.held.others):
        t.train(1)
    (collected,) = t.hear(frames.Collect(round=b"r"))
    assert isinstance(collected, frames.Collected)
    while not all(other.sum.samples for other in t.peer.replicas.held.others):
        t.train(8)
    told = len(t.said)
    while len(t.said) == told:
        t.train(1)
    progress = t.said[-1]
    assert isinstance(progress, frames.Progress)
    assert progress.samples - progress.ahead == collected.samples
    assert progress.ahead > t.peer.rule.ahead
    t.hear(frames.Absorb(round=b"r", epoch=1, lineage=LINEAGES[1]))
    assert t.peer.samples >= progress.ahead


@pytest.mark.parametrize("frame", [frames.Hold(), frames.Suspend()])
def test_no_device_computes_while_training_stands_still(tmp_path: Path, frame: frames.ToWorker) -> None:
    t = talk(tmp_path, devices=THREE)
    t.train(3)
    assert len(computing()) == 2
    t.hear(frame)
    assert not computing()
    samples = t.peer.samples
    t.hear(*([frames.Resume(arena_path=str(tmp_path / "another"))] if frame == frames.Suspend() else []), frames.Go())
    t.train(1)
    assert t.peer.samples > samples
    assert len(computing()) == 2


def test_each_device_rests_after_its_own_passes(tmp_path: Path) -> None:
    """A pass takes one tick of 0.1 s by the learner's clock; in a hundredth of the time it is followed by 9.9 s."""
    task = Recorded()
    t = talk(tmp_path, task=task, devices=THREE)
    t.hear(frames.Throttle(share=1))
    while len(task.taken) < 3 or min(other.sum.batches for other in t.peer.replicas.held.others) == 0:
        t.peer.accumulate()
    t.hear(frames.Hold())
    first = t.peer.parameters.values_N.data_ptr()
    assert {address: len(batches) for address, batches in task.taken.items() if address != first} == {
        other.replica.parameters.values_N.data_ptr(): 1 for other in t.peer.replicas.held.others
    }


def test_memory_limit_holds_for_every_processor(tmp_path: Path) -> None:
    peer = learner(tmp_path, devices=THREE)
    peer.task.sample_bytes = 10**9
    keep_within(peer, psutil.Process().memory_info().rss + 10**6)
    assert [replica.micro_batch.recompute for replica in peer.replicas.held.each] == [True, True, True]
