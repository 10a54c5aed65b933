"""How numbers are written."""

import pytest

from app.words import page_text, text
from core.api.commands import ModelEvaluation
from core.api.score import Score
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
    simple = {"word frequencies": Score(6.3), "bigrams": Score(5.1)}
    assert text.chart([], LossView()).startswith("The loss curve is empty")
    points = [CurvePoint(1, 8.2, 7.9), CurvePoint(2, 7.0)]
    assert text.chart(points, LossView("masked-word loss", "nats", baselines=dict(simple))) == (
        "Training loss: 8.20 nats at epoch 1, 7.00 nats at epoch 2. "
        "Held-out loss: 7.90 nats at epoch 1, 7.90 nats at epoch 1. "
        "Word frequencies alone: 6.30 nats. Bigrams alone: 5.10 nats."
    )
    assert text.chart(points[1:], LossView("error")) == "Training loss: 7.00 at epoch 2, 7.00 at epoch 2."


def test_an_evaluation_in_words_has_the_task_s_unit():
    meaning = LossView("masked-word loss", "nats", baselines={"word frequencies": Score(6.31)})
    said = text.evaluated(ModelEvaluation(epoch=40, score=Score(4.81), meaning=meaning))
    assert said == "Held-out loss at epoch 40: 4.81 nats. Word frequencies alone: 6.31 nats."
    assert (
        text.evaluated(ModelEvaluation(epoch=1, score=Score(2.0), meaning=LossView()))
        == "Held-out loss at epoch 1: 2.00."
    )
    assert page_text.axis(meaning) == "loss (nats) by epoch; lower is better"
    assert page_text.axis(LossView()) == "loss by epoch; lower is better"


def test_guesses_stand_beside_those_of_simple_models():
    baselines = {"word frequencies": Score(6.3, 0.062), "guessing": Score(7)}
    meaning = LossView("loss", guesses="blanks", epoch=1, score=Score(4.81, 0.347), baselines=baselines)
    assert text.guessing(meaning) == "35 of 100 blanks right at epoch 1; word frequencies alone 6 of 100"
    assert text.evaluated(ModelEvaluation(epoch=1, score=Score(4.81, 0.347), meaning=meaning)).endswith(
        " 35 of 100 blanks right at epoch 1; word frequencies alone 6 of 100."
    )
    assert not text.guessing(LossView("loss", score=Score(4.81)))
    assert not text.guessing(LossView())
