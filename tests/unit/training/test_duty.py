"""Rests between passes, so that training computes in a share of the time."""

import threading
import time
from pathlib import Path

import pytest
import torch

from core.training.devices.duty import REST_S_MAX, DutyCycle
from core.workers import frames
from tests.unit.training.talk import talk


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("percent", [1, 25, 50, 99])
def test_the_share_of_the_time_is_kept(percent: int) -> None:
    clock = Clock()
    duty, busy = DutyCycle(clock), 0.0
    duty.set_share(percent)
    for number in range(100):
        duty.pass_begins()
        busy += (pass_s := 0.1 + number % 7 / 10)
        clock.now += pass_s
        duty.pass_ends()
        clock.now += duty.rest_s
        assert duty.rest_s == pytest.approx(0.0, abs=1e-9)
    assert busy / (clock.now - 100.0) == pytest.approx(percent / 100)


def test_another_share_ends_the_rest() -> None:
    clock = Clock()
    duty = DutyCycle(clock)
    assert duty.rest_s == 0.0
    duty.set_share(10)
    duty.pass_begins()
    clock.now += 1.0
    duty.pass_ends()
    assert duty.rest_s == pytest.approx(9.0)
    duty.set_share(100)
    assert duty.rest_s == 0.0


def test_a_night_within_a_pass_costs_minutes() -> None:
    """A computer slept for eight hours in the middle of a pass, and its clock went on."""
    clock = Clock()
    duty = DutyCycle(clock)
    duty.set_share(15)
    duty.pass_begins()
    clock.now += 8 * 3600.0
    duty.pass_ends()
    assert duty.rest_s <= REST_S_MAX


def test_a_resting_worker_listens(tmp_path: Path) -> None:
    """A pass takes 1/16 s by this clock, so at 1 % a rest takes 6 s, in which a frame is heard at once."""
    t = talk(tmp_path)
    t.hear(frames.Throttle(share=1, threads=1))
    t.train(1)
    samples = t.peer.samples
    told = t.said[-1]
    assert isinstance(told, frames.Progress)
    assert told.samples_per_s == pytest.approx(t.peer.replicas.samples_per_s / 100)
    threading.Timer(0.1, t.inbox.put, [frames.Suspend()]).start()
    began = time.monotonic()
    t.conversation.turn(t.inbox)
    assert time.monotonic() - began < 3.0
    assert t.said[-1] == frames.Suspended()
    assert t.peer.samples == samples


def test_threads_change_while_suspended_too(tmp_path: Path) -> None:
    before, t = torch.get_num_threads(), talk(tmp_path)
    try:
        t.hear(frames.Suspend(), frames.Throttle(share=50, threads=2))
        assert torch.get_num_threads() == 2
        assert t.said == [frames.Suspended()]
    finally:
        torch.set_num_threads(before)
