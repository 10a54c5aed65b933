"""Devices of one worker that rest while the others compute; the processor is each of them, by three names."""

import gc
import weakref
from pathlib import Path

import pytest
import torch
from msgspec.structs import replace

from core.training.learner import Learner
from core.workers import frames
from tests.unit.training.given_samples import GivenSamples
from tests.unit.training.small import MANIFEST, learner
from tests.unit.training.talk import talk
from tests.unit.training.test_replicas import Recorded, computing, train

THREE = ("cpu", "cpu:1", "cpu:2")
LOCAL = {"name": "local", "steps": 10, "samples": 24, "optimizer": {"name": "adamw", "learning_rate": 0.01}}


def leave_out(peer: Learner, *devices: str) -> None:
    peer.replicas.rest()
    peer.replicas.held.left_out = devices
    peer.replicas.held.arrange()


def test_memory_is_given_back_only_where_something_was_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peer, emptied = learner(tmp_path, devices=THREE), []
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "empty_cache", lambda: emptied.append(1), raising=False)
    leave_out(peer)
    assert not emptied
    leave_out(peer, "cpu:1")
    leave_out(peer, "cpu:1")
    assert len(emptied) == 1


def large_tensors(numel: int) -> int:
    """Number of tensors in this process that hold a vector of a model's length."""
    gc.collect()
    held = [one for one in gc.get_objects() if isinstance(one, torch.Tensor)]
    return len({one.data_ptr() for one in held if type(one) is torch.Tensor and one.numel() == numel})


def test_device_left_out_holds_nothing_and_comes_back(tmp_path: Path) -> None:
    peer = learner(tmp_path, task=Recorded(), devices=THREE)
    peer.task.values = _Nothing()  # type: ignore[attr-defined]
    train(peer)
    peer.replicas.rest()
    whole = large_tensors(peer.numel)
    resting = weakref.ref(peer.replicas.held.each[1])
    before, drawn = peer.rule.samples, given(peer).drawn
    leave_out(peer, "cpu:1")
    assert resting() is None
    assert whole - large_tensors(peer.numel) == 3, "parameters, gradients, and their sum"
    assert peer.rule.samples == before
    assert [replica.device for replica in peer.replicas.held.each] == ["cpu", "cpu:2"]
    assert peer.replicas.held.devices == list(THREE)
    train(peer)
    assert computing() == ["replica on cpu:2"]
    leave_out(peer)
    assert large_tensors(peer.numel) == whole
    assert [replica.device for replica in peer.replicas.held.each] == list(THREE)
    train(peer)
    assert computing() == ["replica on cpu:1", "replica on cpu:2"]
    peer.hand_over()
    assert not peer.replicas.held.left
    assert drawn < given(peer).drawn
    assert peer.samples == sum(batch.samples for batch in peer.task.each())  # type: ignore[attr-defined]


def test_rows_ready_for_a_device_left_out_are_drawn_again(tmp_path: Path) -> None:
    peer = learner(tmp_path, devices=THREE)
    data = peer.replicas.held.each[1].data
    assert data.wait(60)
    leave_out(peer, "cpu:1")
    assert given(peer).back
    assert peer.replicas.samples_per_s == peer.first.samples_per_s


@pytest.mark.parametrize("rule", [None, LOCAL])
def test_others_compute_while_the_first_device_is_left_out(tmp_path: Path, rule: dict[str, object] | None) -> None:
    """Another device computes in the caller's thread; where steps are local, each is of all devices together."""
    task = Recorded()
    manifest = MANIFEST if rule is None else replace(MANIFEST, rule=rule)
    peer = learner(tmp_path, task=task, manifest=manifest, devices=THREE)
    leave_out(peer, "cpu")
    assert peer.replicas.held.lead is peer.replicas.held.each[1]
    steps = 10 if rule else 1

    def stood_at() -> int:
        return len({tuple(values.tolist()) for values in task.values})

    while len(task.taken) < 2 or stood_at() < steps:  # how many batches a step has, the other device decides, too
        assert peer.accumulate()
        assert computing() == ([] if rule else ["replica on cpu:2"])
        assert peer.replicas.samples_per_s > 0
    peer.hand_over()
    assert peer.first.parameters.values_N.data_ptr() not in task.taken
    assert peer.samples == sum(batch.samples for batch in task.each())
    assert stood_at() == steps
    assert peer.loss > 0


def test_device_that_fails_in_the_first_ones_place_leaves(tmp_path: Path) -> None:
    class Second(Recorded):
        def loss(self, model, batch):
            if next(model.parameters()).data_ptr() == second.data_ptr():
                raise RuntimeError("CUDA error: device lost")
            return super().loss(model, batch)

    task = Second()
    peer = learner(tmp_path, task=task, devices=THREE)
    second = peer.replicas.held.each[1].parameters.values_N
    leave_out(peer, "cpu")
    for _ in range(3):
        assert peer.accumulate()
    assert peer.replicas.held.devices == ["cpu", "cpu:2"]
    assert list(map(str, peer.replicas.held.left)) == ["The device cpu:1 trains no more: CUDA error: device lost."]
    peer.replicas.rest()
    assert peer.samples == sum(batch.samples for batch in task.each())
    assert list(task.taken) == [peer.replicas.held.each[1].parameters.values_N.data_ptr()]


def test_model_that_moves_goes_on_in_the_same_bits(tmp_path: Path) -> None:
    """The first device's vectors are other memory then, for the optimiser, the rule and the file, too."""
    moved, still = learner(tmp_path / "a"), learner(tmp_path / "b")
    for epoch in range(1, 4):
        place = moved.parameters.values_N.data_ptr()
        moved.accumulate()
        moved.parameters.move("cpu")
        assert moved.parameters.values_N.data_ptr() != place
        assert moved.parameters.spans[0].of(moved.parameters.values_N).data_ptr() == _weight(moved).data_ptr()
        moved.accumulate()
        for _ in range(2):
            still.accumulate()
        for peer in (moved, still):
            peer.absorb(peer.hand_over(), epoch=epoch, lineage=bytes([epoch]) * 32)
        assert moved.state.saved.digest == still.state.saved.digest


def test_throttle_frame_leaves_a_device_out_and_takes_it_back(tmp_path: Path) -> None:
    one = talk(tmp_path, devices=THREE)
    held = one.peer.replicas.held
    one.hear(frames.Throttle(left_out=("cpu:1",), share=50))
    assert len(held.others) == 1
    one.hear(frames.Suspend())
    one.hear(frames.Throttle(left_out=("cpu",)))
    assert [other.replica.device for other in held.others] == ["cpu:2"], "a suspended worker brings nothing back"
    one.hear(frames.Resume(arena_path=str(tmp_path / "another")), frames.Go())
    assert [other.replica.device for other in held.others] == ["cpu:1", "cpu:2"]
    assert held.lead is held.others[0].replica
    one.train(5)
    assert one.peer.samples > 0
    one.hear(frames.Throttle(left_out=THREE))
    assert not one.conversation.training


class _Nothing(list[torch.Tensor]):
    """Keeps nothing, so that tensors can be counted."""

    def append(self, _: torch.Tensor) -> None: ...


def given(peer: Learner) -> GivenSamples:
    assert isinstance(peer.data, GivenSamples)
    return peer.data


def _weight(peer: Learner) -> torch.Tensor:
    """The first parameter, as the model computes with it."""
    return next(peer.first.backprop._model.parameters())
