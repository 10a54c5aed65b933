"""Pacing against a simulated line with a queue before it."""

import contextlib
import socket
import struct
import sys

import pytest

from core.base.budget import LOOK_S as BUDGET_LOOK_S
from core.base.budget import Budget
from core.base.machine import Transfer
from core.net.links.delay_pacing import (
    CEILING_BYTES_S,
    FLOOR_BYTES_S,
    FRESH_S,
    LOOK_S,
    MEMORY_S,
    SEGMENTS_LEAST,
    TARGET_S,
    DelayPacing,
    Pacing,
    Uplink,
)

NO_PACING = struct.pack("=I", 0xFFFFFFFF)


class Line:
    """Takes `speed` bytes a second out of a queue of `room_s`; TCP fills all of it when nobody paces."""

    def __init__(self, speed: float, *, least_s: float = 0.02, room_s: float = 0.3) -> None:
        self.speed, self.least_s, self.room_s = speed, least_s, room_s
        self.now, self.queue_s, self.acked = 100.0, 0.0, 0.0
        self.delay_pacing = DelayPacing()

    def run(self, seconds: float) -> list[float]:
        """Every `LOOK_S`: how long a byte waits in the queue."""
        waits = []
        for _ in range(int(seconds / LOOK_S)):
            self.now += LOOK_S
            rate = self.delay_pacing.rate_bytes_s or 10 * self.speed
            before = self.queue_s
            self.queue_s = min(self.room_s, max(0.0, before + LOOK_S * (rate / self.speed - 1)))
            moved = min(self.speed, rate + before * self.speed / LOOK_S) * LOOK_S
            self.acked += moved
            self.delay_pacing.seen(
                self.now, rtt_s=self.least_s + self.queue_s, least_s=self.least_s, acked_bytes=int(self.acked)
            )
            waits.append(self.queue_s)
        return waits


@pytest.mark.parametrize("speed", [250e3, 1.25e6, 12.5e6])
def test_the_queue_becomes_short_and_the_line_stays_full(speed):
    line = Line(speed)
    line.run(2.0)
    acked = line.acked
    waits = sorted(line.run(10.0))
    assert waits[int(0.95 * len(waits))] <= 3 * TARGET_S
    assert line.acked - acked >= 0.93 * 10 * speed


def test_a_line_that_becomes_faster_is_used():
    line = Line(250e3)
    line.run(3.0)
    line.speed = 2.5e6
    line.run(5.0)
    acked = line.acked
    line.run(5.0)
    assert line.acked - acked >= 0.9 * 5 * 2.5e6


def test_a_link_without_a_queue_is_left_alone():
    line = Line(50e6, room_s=0.005)
    line.run(5.0)
    assert line.delay_pacing.rate_bytes_s is None


def test_a_fast_link_is_not_paced():
    line = Line(2 * CEILING_BYTES_S)
    line.run(5.0)
    assert line.delay_pacing.rate_bytes_s is None


def test_a_pause_is_forgotten():
    line = Line(250e3)
    line.run(3.0)
    assert line.delay_pacing.rate_bytes_s is not None
    line.now += 10.0
    line.delay_pacing.seen(line.now, rtt_s=5.0, least_s=0.02, acked_bytes=int(line.acked))
    assert line.delay_pacing.rate_bytes_s is None


def test_it_never_stops_altogether():
    delay_pacing = DelayPacing()
    for step in range(200):
        delay_pacing.seen(100.0 + step * LOOK_S, rtt_s=3.0, least_s=0.02, acked_bytes=step)
    assert delay_pacing.rate_bytes_s == FLOOR_BYTES_S


@pytest.mark.parametrize("closed", [False, True])
def test_only_tcp_connections_are_paced(closed):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
        if closed:
            tcp.close()
        for own in (None, udp, tcp):
            pacing = Pacing(own, Uplink())
            pacing.look(1.0)
            assert pacing.unsent_bytes() == pacing.unacked_bytes() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what is not acknowledged")
def test_unacked_bytes_exceed_unsent_until_the_reader_reads():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as own:
        other, _ = server.accept()
        with other:
            own.setblocking(False)
            sent = 0
            with contextlib.suppress(BlockingIOError):
                while True:
                    sent += own.send(bytes(65536))
            pacing = Pacing(own, Uplink())
            assert 0 < pacing.unsent_bytes() <= pacing.unacked_bytes() < sent
            left = sent
            while left:
                left -= len(other.recv(left))
            while pacing.unacked_bytes():
                pass
            assert pacing.unsent_bytes() == 0


class Kernel:
    """What Linux would tell of a connection whose opening calls crossed: a shortest round trip that is too short."""

    type = socket.SOCK_STREAM

    def __init__(self) -> None:
        self.now, self.rates = 0.0, []

    def fileno(self) -> int:
        """None that is open: nothing is known to be unsent."""
        return 1 << 20

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        info = bytearray(size)
        struct.pack_into("=I", info, 68, 40_500)
        struct.pack_into("=I", info, 148, 18_000)
        struct.pack_into("=I", info, 156, int(self.now * 1000))
        struct.pack_into("=Q", info, 120, int(self.now * 5e6))
        return bytes(info)

    def setsockopt(self, level: int, option: int, value: bytes) -> None:
        self.rates.append(value)


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux tells of its connections.")
@pytest.mark.parametrize(("rtt_s", "paced"), [(None, True), (0.044, False), (0.018, True)])
def test_simultaneous_open_does_not_slow_a_link_down(rtt_s, paced):
    kernel = Kernel()
    pacing = Pacing(kernel, Uplink())
    if rtt_s is not None:
        pacing.opened(rtt_s, simultaneous=True)
    while kernel.now < 3.0:
        kernel.now += LOOK_S
        pacing.look(kernel.now)
        assert not kernel.rates or rtt_s is None or kernel.now * 1000 >= SEGMENTS_LEAST
    assert bool(kernel.rates) == paced


def test_one_of_many_links_is_left_to_tcp():
    line = Line(250e3)
    line.run(3.0)
    assert line.delay_pacing.rate_bytes_s is not None
    line.delay_pacing.seen(line.now + LOOK_S, rtt_s=3.0, least_s=0.02, acked_bytes=int(line.acked), alone=False)
    assert line.delay_pacing.rate_bytes_s is None


def test_link_is_alone_when_others_have_nothing_to_send():
    uplink = Uplink()
    assert uplink.alone(1, 10.0)
    assert not uplink.alone(2, 10.1)
    assert not uplink.alone(1, 10.2)
    assert uplink.alone(1, 10.2 + FRESH_S)


def paced_down(uplink: Uplink) -> tuple[Kernel, Pacing]:
    kernel = Kernel()
    pacing = Pacing(kernel, uplink)
    while not kernel.rates:
        kernel.now += LOOK_S
        pacing.look(kernel.now)
    return kernel, pacing


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux tells of its connections.")
def test_a_link_in_a_round_goes_by_its_budget() -> None:
    kernel, pacing = paced_down(Uplink())
    transfer = Transfer(4e6, 8.0)
    budget = Budget(transfer, kernel.now)
    began, spent = kernel.now, 0.0
    while kernel.now < began + transfer.seconds / 2:
        kernel.now += BUDGET_LOOK_S
        pacing.look(kernel.now, budget)
        assert struct.unpack("=I", kernel.rates[-1])[0] == pytest.approx(5e5, rel=0.05)
        budget.spend(round(5e5 * BUDGET_LOOK_S))
        spent += 5e5 * BUDGET_LOOK_S
    budget.spend(round(transfer.bulk_bytes - spent))
    kernel.now += BUDGET_LOOK_S
    pacing.look(kernel.now, budget)
    assert kernel.rates[-1] == NO_PACING


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux tells of its connections.")
def test_small_messages_are_not_paced_by_old_measurements():
    """Each leaves as a whole, so that there is no looking while more waits."""
    kernel, pacing = paced_down(Uplink())
    pacing.begin(kernel.now + MEMORY_S / 2)
    assert kernel.rates[-1] != NO_PACING
    pacing.begin(kernel.now + 2 * MEMORY_S)
    assert kernel.rates[-1] == NO_PACING
