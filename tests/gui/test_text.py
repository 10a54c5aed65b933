"""How numbers are written."""

import pytest

from app import text
from core.api.snapshot import CurvePoint


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (text.count(0), "0"),
        (text.count(12288), "12 288"),
        (text.count(12_345_678), "12.3 M"),
        (text.per_second(0), "0"),
        (text.per_second(0.42), "0.42"),
        (text.per_second(3.44), "3.4"),
        (text.per_second(1234.4), "1 234"),
        (text.percent(0), "0 %"),
        (text.percent(0.001), "<1 %"),
        (text.percent(1), "100 %"),
        (text.size(640), "640 B"),
        (text.size(12_300), "12 kB"),
        (text.size(3_400_000), "3.4 MB"),
        (text.size(5 * 10**13), "50 000 GB"),
        (text.duration(45.9), "45 s"),
        (text.duration(720), "12 min"),
        (text.duration(3 * 3600 + 300), "3 h 05 min"),
        (text.duration(52 * 3600), "2 d 4 h"),
    ],
)
def test_numbers(shown, expected):
    assert shown == expected


def test_the_chart_in_words():
    assert text.chart([], None).startswith("The loss curve is empty")
    points = [CurvePoint(1, 8.2, 7.9), CurvePoint(2, 7.0)]
    assert text.chart(points, 6.3) == (
        "Training loss: 8.20 nats at epoch 1, 7.00 nats at epoch 2. "
        "Held-out loss: 7.90 nats at epoch 1, 7.90 nats at epoch 1. "
        "Word frequencies alone: 6.30 nats."
    )


def test_how_an_engine_died():
    assert text.engine_died(2, "potluck: The port is in use.").message == "The port is in use."
    assert text.engine_died(1, "MemoryError").message == "The engine stopped: MemoryError"
    assert "exit code -9" in text.engine_died(-9, "").message
    assert text.engine_died(0, "whatever") == text.engine_gone()
