"""How numbers are written."""

import pytest
from msgspec.structs import replace

from app.words import gift_text, model_text, moderation_text, text
from core.api.commands import ModelEvaluation
from core.api.moderation import ModeratorView
from core.api.reports import DayGift, GiftHistory
from core.api.score import FirstScore, Score
from core.api.snapshot import CurvePoint, LossView, Mine


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
    assert text.chart([], LossView()).startswith("The curve is empty")
    points = [CurvePoint(1, 8.2, 7.9), CurvePoint(2, 7.0)]
    assert text.chart(points, LossView("masked-word loss", "nats", baselines=dict(simple))) == (
        "Training loss: 8.20 nats at step 1, 7.00 nats at step 2. "
        "Held-out loss: 7.90 nats at step 1, 7.90 nats at step 1. "
        "Word frequencies alone: 6.30 nats. Bigrams alone: 5.10 nats."
    )
    assert text.chart(points[1:], LossView("error")) == "Training loss: 7.00 at step 2, 7.00 at step 2."


def test_an_evaluation_in_words_has_the_task_s_unit():
    meaning = LossView("masked-word loss", "nats", baselines={"word frequencies": Score(6.31)})
    said = text.evaluated(ModelEvaluation(epoch=40, score=Score(4.81), meaning=meaning))
    assert said == "Held-out loss at step 40: 4.81 nats. Word frequencies alone: 6.31 nats."
    assert (
        text.evaluated(ModelEvaluation(epoch=1, score=Score(2.0), meaning=LossView()))
        == "Held-out loss at step 1: 2.00."
    )
    assert model_text.details([], meaning).startswith("The curves show the loss (nats): it is 0 for")
    assert model_text.details([], LossView()).startswith("The curves show the loss: it is 0 for")


def test_guesses_stand_beside_those_of_simple_models():
    baselines = {"word frequencies": Score(6.3, 0.062), "guessing": Score(7)}
    meaning = LossView("loss", guesses="blanks", epoch=1, score=Score(4.81, 0.347), baselines=baselines)
    assert text.guessing(meaning) == "35 of 100 blanks right at step 1; word frequencies alone 6 of 100"
    said = text.evaluated(ModelEvaluation(epoch=1, score=Score(4.81, 0.347), meaning=meaning))
    assert said == f"{text.guessing(meaning)}.", "nats are for the curious"
    assert not text.guessing(LossView("loss", score=Score(4.81)))
    assert not text.guessing(LossView())


def test_gift_says_what_has_changed_since_somebody_came():
    me = Mine(peer="p", name="Ada", first=FirstScore(7, Score(6.5, 0.16)))
    now = LossView(unit="nats", guesses="blanks", epoch=94, score=Score(4.1, 0.38))
    assert gift_text.since_came(me, now) == "Since you came it went from 16 to 38 of 100 blanks right."
    spoken = replace(now, score=Score(4.1))
    assert gift_text.since_came(me, spoken) == "Since you came its loss went from 6.50 nats to 4.10 nats."
    assert gift_text.since_came(me, replace(now, epoch=7)) == ""
    assert gift_text.since_came(replace(me, first=None), now) == ""


@pytest.mark.parametrize(
    ("samples_per_s", "epoch", "said"),
    [
        (0.0, 94, "Step 94 of 900"),
        (1e-9, 94, "Step 94 of 900"),
        (100.0, 900, "Step 900 of 900"),
        (10.0, 94, "Step 94 of 900; at this pace it is done on Fri 20 Nov"),
    ],
)
def test_step_says_when_the_last_one_is_due(examples, samples_per_s, epoch, said):
    """806 steps of 2560 samples at 10 a second are 57 hours."""
    shown = examples.snapshot()
    known = replace(shown.collaboration, last_epoch=900, target_samples=2560)
    noon = 1_795_003_200.0  # Wednesday, 18 November 2026, 12:00 UTC
    shown = replace(shown, collaboration=known, epoch=epoch, samples_per_s=samples_per_s, time=noon)
    assert model_text.step(shown) == said


@pytest.mark.parametrize(
    ("kwh", "said"), [(0.03, "as 2 charges of a phone"), (0.45, "as 30 charges"), (5.0, "a fridge takes in 10 days")]
)
def test_energy_stands_beside_something_known(kwh, said):
    history = GiftHistory(today="2026-11-18", days=(DayGift(day="2026-11-18", joules=kwh * 3.6e6),))
    assert said in gift_text.energy(history)


@pytest.mark.parametrize("language", ["de"], indirect=True)
def test_founder_and_days_are_told_in_the_language(language, examples):
    view = replace(examples.reports()["moderation"], moderators=(ModeratorView("the founder", "0" * 64, is_me=False),))
    assert moderation_text.who_decides(view).startswith("die Leitung entscheidet allein")
    wednesday = 1_795_003_200.0
    drill = replace(view.drill, by="the founder", at=wednesday)
    assert moderation_text.drill(drill).startswith("die Leitung hat am Mi. 18. Nov. gefragt")
    assert "18. Nov" in moderation_text.also(
        replace(view, drill=None, holds=(replace(view.holds[0], until=wednesday),))
    )
