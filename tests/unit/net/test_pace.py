"""The volunteer's limits, in simulated time."""

import heapq
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.net.limits.pace import BURST_S, DEBT_S, Bucket, BucketFlow, Limits, MonthUse, Pace, SharedBucket

RATE = 250_000.0
"""2 Mbit/s."""
FEB = 1_770_000_000.0


class Time:
    """A clock and its timers."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()

    def call_later(self, delay_s: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._due, (self.now + delay_s, next(self._number), call))

    def run(self, until: float) -> None:
        while self._due and self._due[0][0] <= until:
            self.now, _, call = heapq.heappop(self._due)
            call()
        self.now = until


class Greedy:
    """A link that always has bulk to send."""

    def __init__(self, bucket: SharedBucket, time: Time, passed: list[tuple[float, "Greedy", int]]) -> None:
        self.time, self.passed, self.bucket = time, passed, bucket
        self.flow: BucketFlow = bucket.flow(self.send)

    def send(self) -> None:
        while room := self.flow.room(self.time.now):
            size = min(room, self.bucket.turn_bytes)
            self.flow.spent(size, self.time.now)
            self.passed.append((self.time.now, self, size))

    def total(self) -> int:
        return sum(size for _, who, size in self.passed if who is self)


def pace_of(time: Time, **more: Any) -> Pace:
    return Pace(now=lambda: FEB + time.now, steady=lambda: time.now, call_later=time.call_later, **more)


def crowd(count: int, limits: Limits) -> tuple[Time, Pace, list[Greedy], list[tuple[float, Greedy, int]]]:
    time, passed = Time(), []
    pace = pace_of(time)
    pace.limit(limits)
    links = [Greedy(pace.upload, time, passed) for _ in range(count)]
    for link in links:
        link.send()
    return time, pace, links, passed


@pytest.mark.parametrize("links", [1, 7])
def test_rate_limit_holds_within_five_percent_over_ten_seconds(links):
    time, _, _, passed = crowd(links, Limits(upload_bytes_s=RATE))
    time.run(60.0)
    for start in range(500):
        began = start / 10
        moved = sum(size for at, _, size in passed if began <= at < began + 10)
        assert abs(moved - 10 * RATE) <= 0.05 * 10 * RATE


def test_links_share_alike():
    time, _, links, _ = crowd(5, Limits(upload_bytes_s=RATE))
    time.run(30.0)
    totals = [link.total() for link in links]
    assert max(totals) - min(totals) <= 2 * links[0].bucket.turn_bytes


def test_control_passes_while_bulk_waits_and_bulk_pays_for_it():
    time, pace, links, passed = crowd(1, Limits(upload_bytes_s=RATE))
    time.run(5.0)
    control = pace.upload.flow(lambda: None)
    sent = 0
    while control.room(time.now, bulk=False):
        control.spent(500, time.now)
        sent += 500
    assert 0 < sent <= (DEBT_S + BURST_S) * RATE + 1000
    assert not links[0].flow.room(time.now)
    time.run(25.0)
    assert abs(sent + sum(size for _, _, size in passed) - 25 * RATE) <= 0.05 * 10 * RATE


def test_directions_do_not_share():
    time, pace, links, _ = crowd(1, Limits(upload_bytes_s=RATE))
    reader = pace.download.flow(lambda: None)
    assert reader.room(time.now)
    assert not links[0].flow.room(time.now)


def test_a_limit_that_is_lifted_wakes_all():
    time, pace, _, _ = crowd(0, Limits(upload_bytes_s=RATE))
    waiting = []
    flow = pace.upload.flow(lambda: waiting.append(1))
    assert not flow.room(time.now)
    pace.limit(Limits())
    assert waiting == [1]
    assert flow.room(time.now)


def test_flow_that_left_is_not_woken():
    time, pace, _, _ = crowd(1, Limits(upload_bytes_s=RATE))
    woken = []
    flow = pace.upload.flow(lambda: woken.append(1))
    assert not flow.room(time.now)
    flow.leave()
    time.run(5.0)
    assert woken == []


def test_wrong_clock_for_a_while_forgets_no_month():
    day = [0.0]
    pace = Pace(now=lambda: 1.7e9 + day[0] * 86_400)
    pace.limit(Limits(month_bytes=100))
    pace.passed(sent=150)
    assert pace.hindrance == "month"
    day[0] = 40.0
    assert pace.used.used_bytes == 0
    pace.passed(sent=1)
    day[0] = 0.0
    assert pace.hindrance == "month"
    assert pace.used.used_bytes == 150


def test_used_up_month_stops_bulk_but_not_control():
    time = Time()
    pace = pace_of(time, used=MonthUse("2026-02", 900_000))
    pace.limit(Limits(month_bytes=1_000_000))
    flow = pace.upload.flow(lambda: None)
    assert flow.room(time.now)
    flow.spent(200_000, time.now)
    time.run(2.0)
    flow.spent(1, time.now)
    assert pace.hindrance == "month"
    assert not flow.room(time.now)
    assert flow.room(time.now, bulk=False)
    assert pace.used == MonthUse("2026-02", 1_100_001)
    time.run(40 * 86400.0)
    assert pace.hindrance is None
    assert pace.used == MonthUse("2026-03", 0)
    flow.spent(1, time.now)
    assert flow.room(time.now)


@pytest.mark.parametrize("reason", ["schedule", "metered"])
def test_forbidden_network_carries_no_bulk(reason):
    time, pace, links, passed = crowd(2, Limits(upload_bytes_s=RATE))
    time.run(1.0)
    pace.forbid(reason)
    assert pace.hindrance == reason
    before = len(passed)
    time.run(30.0)
    assert len(passed) == before
    assert links[0].flow.room(time.now, bulk=False)
    pace.forbid(None)
    time.run(40.0)
    assert len(passed) > before
    assert pace.hindrance is None


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(0, 100_000)), max_size=50))
def test_bucket_keeps_at_most_its_burst_and_all_debt(steps):
    bucket, now, spent = Bucket(RATE, 0.0), 0.0, 0
    for pause_s, size in steps:
        now += pause_s
        assert bucket.level(now) <= BURST_S * RATE
        bucket.spend(size, now)
        spent += size
        assert bucket.level(now) >= -spent
        now += bucket.wait_s(now)
        assert bucket.level(now) >= -1e-6 * RATE
