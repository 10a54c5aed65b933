"""The window of a QUIC connection against a simulated line with a queue before it."""

import heapq

import pytest

from core.net.carriers.quic_window import (
    EXCESS_BYTES,
    QUEUE_S,
    TELL_BYTES,
    WINDOW_BYTES,
    WINDOW_BYTES_MAX,
    WINDOW_BYTES_MIN,
    QuicWindow,
    ReadWindow,
)

PACKET_BYTES = 1400


class Line:
    """Takes `speed` bytes a second, keeps at most `room_s` of them waiting, and acknowledges after `least_s`."""

    def __init__(self, speed: float, *, least_s: float = 0.04, room_s: float = 0.3) -> None:
        self.speed, self.least_s, self.room_s = speed, least_s, room_s
        self.now = self.free_at = 100.0
        self.flight = self.delivered = 0
        self.waits: list[float] = []
        self.window = QuicWindow()
        self._acks: list[tuple[float, float]] = []

    def run(self, seconds: float, *, wanted: float = float("inf")) -> None:
        """Send as the window allows, at most `wanted` bytes a second."""
        ends_at = self.now + seconds
        may_send_at = self.now
        while self.now < ends_at:
            while self.flight + PACKET_BYTES <= self.window.window_bytes and may_send_at <= self.now:
                may_send_at = max(may_send_at, self.now - 0.01) + PACKET_BYTES / wanted
                self._send()
            at, sent_at = heapq.heappop(self._acks) if self._acks else (may_send_at, None)
            self.now = max(self.now, at)
            if sent_at is not None:
                before = self.flight
                self.flight -= PACKET_BYTES
                self.delivered += PACKET_BYTES
                self.window.seen(self.now, rtt_s=self.now - sent_at, flight_bytes=before)

    def _send(self) -> None:
        wait_s = max(0.0, self.free_at - self.now)
        assert wait_s <= self.room_s, "a packet is lost"
        self.waits.append(wait_s)
        self.free_at = max(self.free_at, self.now) + PACKET_BYTES / self.speed
        self.flight += PACKET_BYTES
        heapq.heappush(self._acks, (self.free_at + self.least_s, self.now))


@pytest.mark.parametrize("least_s", [0.004, 0.04, 0.15])
@pytest.mark.parametrize("speed", [1.25e6, 12.5e6])
def test_the_line_is_full_and_its_queue_short(speed, least_s):
    line = Line(speed, least_s=least_s)
    line.run(1.0 + 15 * least_s)
    line.waits.clear()
    delivered = line.delivered
    line.run(3.0)
    assert line.delivered - delivered >= 0.97 * 3.0 * speed
    allowed_s = max(2.5 * QUEUE_S, 1.5 * WINDOW_BYTES_MIN / speed)
    assert sorted(line.waits)[int(0.95 * len(line.waits))] <= allowed_s


def test_it_begins_quickly_and_does_not_flood_a_short_queue():
    line = Line(12.5e6, room_s=0.06)
    line.run(0.6)
    assert line.delivered >= 0.5 * 0.6 * line.speed


def test_a_line_that_changes_is_followed():
    line = Line(2.5e6, room_s=1.0)
    line.run(3.0)
    line.speed = 12.5e6
    line.run(2.0)
    delivered = line.delivered
    line.run(2.0)
    assert line.delivered - delivered >= 0.95 * 2.0 * line.speed
    line.speed = 1.25e6
    line.run(3.0)
    line.waits.clear()
    line.run(2.0)
    assert max(line.waits) <= 4 * QUEUE_S


def test_unused_window_does_not_grow():
    line = Line(12.5e6)
    line.run(2.0, wanted=100e3)
    assert line.window.window_bytes == WINDOW_BYTES_MIN


def test_single_late_acknowledgements_change_nothing():
    line = Line(12.5e6)
    line.run(3.0)
    before = line.window.window_bytes
    for _ in range(5):
        line.window.seen(line.now, rtt_s=0.5, flight_bytes=line.flight)
        line.run(0.2)
    assert line.window.window_bytes >= 0.7 * before


def test_a_clock_that_stands_still_harms_nothing():
    flight = QuicWindow()
    for number in range(100):
        flight.seen(number * 0.016, rtt_s=0.0, flight_bytes=int(flight.window_bytes))
        flight.starting = number < 50
    assert WINDOW_BYTES_MIN <= flight.window_bytes <= WINDOW_BYTES_MAX


def test_reading_is_told_now_and_then_and_frees_the_window():
    here, there = ReadWindow(), ReadWindow()
    there.written = WINDOW_BYTES
    assert here.arrived(WINDOW_BYTES)
    assert here.consumed(TELL_BYTES - 1) == b""
    told = here.consumed(1)
    for at in range(len(told)):
        assert there.unread == WINDOW_BYTES
        there.told(told[at : at + 1])
    assert there.unread == WINDOW_BYTES - TELL_BYTES


def test_reading_more_than_was_sent_frees_no_more():
    window = ReadWindow()
    window.written = 1000
    window.told((5000).to_bytes(8) + (400).to_bytes(8))
    assert window.unread == 600
    window.told((5000).to_bytes(8))
    assert window.unread == 0


def test_sender_beyond_the_window_and_a_fragment_is_noticed():
    window = ReadWindow()
    assert window.arrived(WINDOW_BYTES + EXCESS_BYTES)
    assert not window.arrived(1)
