"""The measurements work, on something small."""

import asyncio

import pytest

from tests.bench.averaging import averaging
from tests.bench.network import lines, streams
from tests.bench.network.fleets import fleet_of

pytestmark = pytest.mark.process


@pytest.mark.parametrize(("codec", "error"), [("raw", 1e-6), ("fp16", 1e-3)])
def test_averaging_is_exact_and_the_same_everywhere(codec, error):
    report = asyncio.run(averaging.measure(3, averaging.AveragingJob(numel=100_000, codec=codec, rounds=2)))
    assert (report.peers, report.rounds) == (3, 2)
    assert report.identical
    assert 0 <= report.relative_error < error
    assert report.truncated_rounds == report.failed_rounds == 0
    assert report.wire_bytes > 100_000


def test_rounds_among_strangers_are_clipped_and_proven():
    job = averaging.AveragingJob(numel=100_000, codec="raw", rounds=3, strangers=True)
    report = asyncio.run(averaging.measure(3, job))
    assert report.strangers is not None
    assert report.is_sound
    assert report.strangers.is_sound
    assert report.ratios["strangers_bytes"] > 1  # radii and sums


def test_a_stream_is_measured():
    report = asyncio.run(streams.measure(chunks=20))
    assert report.megabytes == pytest.approx(20 * 0.262144)
    assert report.megabytes_per_s > 0


@pytest.mark.long
@pytest.mark.skipif(lines.missing() is not None, reason=lines.missing() or "")
def test_a_fleet_learns_its_lines_and_meets_its_limits():
    job = averaging.AveragingJob(numel=60_000, codec="raw", rounds=1, warm=1)
    report = asyncio.run(averaging.measure_fleet(fleet_of("40*2,20/10c,80a"), job))
    assert report.peers == 4
    assert report.identical
    assert 0 <= report.relative_error < 1e-6
    assert report.truncated_rounds == report.failed_rounds == 0
    assert report.limits is not None
    assert report.limits.tcp_s > 0
    assert report.limits.bound_s <= report.limits.planned_s + 1e-3
