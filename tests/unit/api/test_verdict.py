"""The verdict's words, and what goes before what."""

import string

import pytest

from core.api import verdict as verdicts
from core.api.verdict import HEADLINES, SENTENCES, Verdict, VerdictCode

FAILURE, REST, TROUBLE = verdicts.problem("bad_input", "Wrong."), verdicts.paused(), verdicts.problem("worker", "Gone.")
DOING, ABSENCE = verdicts.contributing("training"), verdicts.not_connected("killed")


def test_the_first_of_the_rules_counts():
    facts = {"absence": ABSENCE, "failure": FAILURE, "rest": REST, "trouble": TROUBLE, "doing": DOING}
    while facts:
        assert verdicts.decide(**facts) == next(iter(facts.values()))
        facts.pop(next(iter(facts)))
    assert verdicts.decide().code == "not_connected"


@pytest.mark.parametrize(("code", "reason"), SENTENCES)
def test_every_sentence_can_be_made(code, reason):
    fields = [name for _, name, _, _ in string.Formatter().parse(SENTENCES[code, reason]) if name]
    verdict = Verdict(code=code, reason=reason, args={name: "X" for name in fields if name != "pieces"})
    said = str(verdicts.sentence(verdict))
    assert said
    assert "{" not in said


def test_sentences_are_translated_before_they_are_filled_in():
    seen = []
    verdict = verdicts.contributing("training", others=2, samples=40, target=100, epoch=7)
    said = verdicts.sentence(verdict).told(lambda template: seen.append(template) or template)
    assert "together with {others} others" in seen
    assert seen[-1] == "Training {company}: {samples} of {target} samples for step {epoch}."
    assert said == "Training together with 2 others: 40 of 100 samples for step 8."


def test_end_of_a_rest_is_day_and_time():
    said = [
        str(verdicts.sentence(verdicts.paused("until", until=1.0, **moment)))
        for moment in ({"clock": "20:00"}, {"clock": "07:00", "day": "Saturday"}, {})
    ]
    assert [one.removeprefix("Paused by you: nothing is computed. Potluck continues ") for one in said] == [
        "at 20:00.",
        "on Saturday at 07:00.",
        "with other hours.",
    ]


def test_stage_is_filled_after_it_was_translated():
    german = {"Waiting for {where}.": "Wartet auf {where}.", "Reading text": "Liest Text"}

    def said(verdict):
        return verdicts.sentence(verdict).told(lambda words: german.get(words, words))

    assert (
        said(verdicts.not_connected("backbone", stage="Waiting for {where}.", where="{pot}:1")) == "Wartet auf {pot}:1."
    )
    assert said(verdicts.starting("preparing", stage="Reading text", percent=40)) == "Liest Text (40 %)"
    assert said(verdicts.starting("preparing", stage="No {field} of its own")) == "No {field} of its own"


def test_every_code_has_a_headline():
    assert set(HEADLINES) == set(VerdictCode)
    assert str(verdicts.headline(REST)) == "Paused"


def test_a_problem_speaks_for_itself():
    assert str(verdicts.sentence(verdicts.problem("x", "It {broke}.", "Mend it."))) == "It {broke}."
