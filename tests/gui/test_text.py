"""How numbers are written."""

import pytest

from app import text
from core.api.commands import ModelEvaluation
from core.api.snapshot import CurvePoint, LossView


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
    assert text.chart([], LossView()).startswith("The loss curve is empty")
    points = [CurvePoint(1, 8.2, 7.9), CurvePoint(2, 7.0)]
    assert text.chart(points, LossView("masked-word loss", "nats", {"word frequencies": 6.3, "bigrams": 5.1})) == (
        "Training loss: 8.20 nats at epoch 1, 7.00 nats at epoch 2. "
        "Held-out loss: 7.90 nats at epoch 1, 7.90 nats at epoch 1. "
        "Word frequencies alone: 6.30 nats. Bigrams alone: 5.10 nats."
    )
    assert text.chart(points[1:], LossView("error")) == "Training loss: 7.00 at epoch 2, 7.00 at epoch 2."


def test_an_evaluation_in_words_has_the_task_s_unit():
    meaning = LossView("masked-word loss", "nats", {"word frequencies": 6.31})
    said = text.evaluated(ModelEvaluation(epoch=40, loss=4.81, meaning=meaning))
    assert said == "Held-out loss at epoch 40: 4.81 nats. Word frequencies alone: 6.31 nats."
    assert text.evaluated(ModelEvaluation(epoch=1, loss=2.0, meaning=LossView())) == "Held-out loss at epoch 1: 2.00."
    assert (text.loss_axis(meaning), text.loss_axis(LossView())) == ("Loss (nats)", "Loss")
