"""What the report of pings says of figures that are known."""

import pytest

from tests.bench.network.pings import PATIENCE_S, Pings, ping_report


def test_report_shows_the_computer_that_suffers_most() -> None:
    idle = [Pings(seconds=[0.001] * 9), Pings(seconds=[0.010] * 9)]
    beside = [Pings(seconds=[0.002] * 100), Pings(seconds=[0.011] * 90 + [0.050] * 10, lost=100)]
    report = ping_report(idle, beside)
    assert (report.idle_ms, report.median_ms, report.p95_ms) == (10.0, 11.0, 50.0)
    assert report.lost == pytest.approx(100 / 300, abs=1e-4)


def test_line_that_answers_no_ping_is_the_worst() -> None:
    report = ping_report([Pings(seconds=[0.001])] * 2, [Pings(seconds=[0.5]), Pings(seconds=[], lost=7)])
    assert report.median_ms == 1000 * PATIENCE_S
