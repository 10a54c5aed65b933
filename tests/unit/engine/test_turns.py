"""Whose turn it is among several collaborations."""

import itertools
from random import Random

import pytest

from core.api.turns import WhyNot
from core.base.back_off import JITTER
from core.engine.turns import LONGEST, Turns

FIRST_S = 600.0
LATER_S = FIRST_S * JITTER[1]
GONE, REFUSED, ENDED = WhyNot.UNREACHABLE, WhyNot.REFUSED, WhyNot.ENDED


def turns(order="xyz"):
    return Turns(list(order), first_s=FIRST_S, random=Random(1))


def played(history, order="xyz"):
    """The turns after a history of words, a minute each: what is wrong with the served one, or which one answers."""
    made = turns(order)
    for minute, word in enumerate(history.split()):
        if word in {"gone", "refused", "ended"}:
            made.give_way({"gone": GONE, "refused": REFUSED, "ended": ENDED}[word], 60.0 * minute)
        elif word == "joined":
            made.reached()
        else:
            made.answers(word)
    return made


@pytest.mark.parametrize(
    ("history", "served", "passed_over"),
    [
        ("", "x", {}),
        ("joined", "x", {}),
        ("gone", "y", {"x": GONE}),
        ("gone gone", "z", {"x": GONE, "y": GONE}),
        ("gone gone gone", "z", {"x": GONE, "y": GONE}),  # nobody is left to try: waits where it is
        ("gone joined x", "x", {}),
        ("gone gone joined y", "y", {"x": GONE}),
        ("gone gone joined x", "x", {}),
        ("gone gone joined x gone", "y", {"x": GONE}),
        ("joined ended", "y", {"x": ENDED}),
        ("refused", "y", {"x": REFUSED}),
        ("joined ended joined ended", "z", {"x": ENDED, "y": ENDED}),
        ("refused gone", "z", {"x": REFUSED, "y": GONE}),
        ("gone joined ended joined ended", "x", {"y": ENDED, "z": ENDED}),  # the unreachable one may come back
        ("gone refused refused", "x", {"y": REFUSED, "z": REFUSED}),
        ("gone refused refused gone", "x", {"y": REFUSED, "z": REFUSED}),
        ("ended ended ended", "z", {"x": ENDED, "y": ENDED}),  # rests at the last one
        ("gone ended joined x ended", "z", {"x": ENDED, "y": ENDED}),
    ],
)
def test_turn_after_a_history(history, served, passed_over):
    made = played(history)
    assert made.served == served
    assert dict(made.passed_over) == passed_over


@pytest.mark.parametrize("why", list(WhyNot))
def test_single_collaboration_never_gives_way(why):
    made = turns("x")
    assert not made.give_way(why, 0.0)
    assert (made.served, made.passed_over, made.due(1e9)) == ("x", [], None)


def test_every_short_history_keeps_the_order():
    """The served one is over only if all are, and every reachable one above it was refused, has ended, or failed."""
    for length in range(6):
        for words in itertools.product(("gone", "refused", "ended", "x", "y", "joined"), repeat=length):
            made, over, failed = turns(), set(), set()
            for word in words:
                if word in {"x", "y"}:
                    if made.due(1e9) != word:
                        continue  # only those that are due are looked at
                    made.answers(word)
                elif word == "joined":
                    made.reached()
                else:
                    (failed if word == "gone" else over).add(made.served)
                    made.give_way(WhyNot[{"gone": "UNREACHABLE"}.get(word, word.upper())], 0.0)
            assert made.served not in over or over == set("xyz"), words
            above = set("xyz"[: "xyz".index(made.served)])
            assert above <= over | failed, words
            assert made.due(1e9) == next((each for each in "xyz" if each in above - over), None), words


def test_higher_one_is_looked_at_ever_more_rarely():
    made, now, waits = turns("xy"), 0.0, []
    made.give_way(GONE, now)
    made.reached()
    for _ in range(12):
        begun = now
        while made.due(now) is None:
            now += 10.0
        waits.append(now - begun)
        made.does_not_answer("x", now)
    low, high = (factor * FIRST_S for factor in JITTER)
    assert low <= waits[0] <= high + 10.0
    assert all(wait <= high * LONGEST + 10.0 for wait in waits)
    assert min(waits[7:]) >= low * LONGEST
    made.answers("x")
    assert made.served == "x"


def test_looks_without_any_network_do_not_add_up():
    made, now = turns("xy"), 0.0
    made.give_way(GONE, now)
    for _ in range(20):
        now += LATER_S
        assert made.due(now) == "x"
        made.does_not_answer("x", now)


def test_one_that_answers_looks_only_is_left_alone_for_longer():
    made, now = turns("xy"), 0.0
    for _ in range(8):
        made.give_way(GONE, now)
        made.reached()
        now += 1e6
        made.answers("x")
    made.give_way(GONE, now)
    assert made.due(now + FIRST_S * LONGEST * JITTER[0] - 1) is None


def test_look_at_one_that_has_ended_is_the_last():
    made = turns("xy")
    made.give_way(GONE, 0.0)
    made.does_not_answer("x", LATER_S, ENDED)
    assert made.due(1e9) is None
    assert made.passed_over == [("x", ENDED)]
