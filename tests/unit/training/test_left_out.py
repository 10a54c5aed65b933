"""Devices of one worker that rest while the others compute."""

from pathlib import Path

import pytest

from core.training.round import Learner
from core.workers import frames
from tests.unit.training.small import learner
from tests.unit.training.talk import talk
from tests.unit.training.test_replicas import THREE, Recorded, computing, train


def named(peer: Learner) -> Learner:
    """The same, as if its devices were cards."""
    for number, replica in enumerate(peer.replicas.each):
        replica.device = f"cuda:{number}"
    return peer


def test_device_left_out_rests_and_comes_back(tmp_path: Path) -> None:
    peer = named(learner(tmp_path, task=Recorded(), devices=THREE))
    train(peer)
    peer.replicas.rest()
    _, resting, going = peer.replicas.each
    peer.replicas.left_out = ["cuda:1"]
    resting_taken, before = resting.data, peer.rule.samples
    peer.accumulate()
    assert computing() == [f"replica on {going.device}"]
    assert peer.replicas.samples_per_s == pytest.approx(peer.replicas.each[0].samples_per_s + going.samples_per_s)
    peer.replicas.rest()
    assert peer.rule.samples > before
    assert resting.data is resting_taken
    peer.replicas.left_out = []
    train(peer)
    assert len(computing()) == 2
    peer.replicas.rest()


def test_others_go_on_while_the_first_device_is_left_out(tmp_path: Path) -> None:
    task = Recorded()
    peer = named(learner(tmp_path, task=task, devices=THREE))
    first = next(iter(peer.replicas.each))
    peer.replicas.left_out = [first.device]
    assert peer.accumulate()
    while peer.replicas.beside == 0:
        assert peer.accumulate()
    peer.replicas.rest()
    assert first.parameters.values_N.data_ptr() not in {key for key, taken in task.taken.items() if taken}
    assert peer.samples == sum(batch.samples for batch in task.each())


def test_throttle_frame_leaves_a_device_out_and_takes_it_back(tmp_path: Path) -> None:
    one = talk(tmp_path, devices=THREE)
    named(one.peer)
    one.hear(frames.Throttle(left_out=("cuda:0",)))
    assert one.peer.replicas.left_out == ("cuda:0",)
    one.hear(frames.Throttle())
    assert one.peer.replicas.left_out == ()
