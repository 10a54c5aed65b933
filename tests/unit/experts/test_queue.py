"""A host's queue: what one trainer may have waiting, whose turn it is, and what goes together."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from core.base.ids import PeerId
from core.experts.queue import CallKind, CallQueue, CallRefusal, WaitingCall

A, B, C = (PeerId(bytes([n]) * 32) for n in range(3))


USUAL = WaitingCall(
    sender=A, call=0, layer=0, place=(0, 0), kind=CallKind.FORWARD, rows=10, size=100, at=0.0, until=1e10
)


def call(sender, number, **odd):
    return replace(USUAL, sender=sender, call=number, **odd)


def queue(**numbers):
    return CallQueue(**{"calls_max": 1000, "bytes_max": 10**6, "rows_max": 64, **numbers})


def test_one_trainer_has_its_share_of_the_room():
    for limit in ({"calls_max": 12}, {"bytes_max": 1200}):
        waiting = queue(**limit)
        for sender, share in ((A, 6), (B, 3), (C, 2)):
            answers = [waiting.admit(call(sender, number)) for number in range(share + 1)]
            assert answers == [None] * share + [CallRefusal.BUSY]


@pytest.mark.parametrize(
    ("odd", "why"),
    [({"rows": 65}, CallRefusal.MALFORMED), ({"until": 0.0}, CallRefusal.LATE), ({"number": 7}, CallRefusal.MALFORMED)],
)
def test_call_that_cannot_be_served_is_refused(odd, why):
    waiting = queue()
    assert waiting.admit(call(A, 7)) is None
    assert waiting.admit(call(A, **{"number": 8, **odd})) is why
    assert len(waiting) == 1


def test_calls_of_one_expert_and_kind_go_together():
    waiting = queue()
    calls = [
        call(A, 1, at=1.0),
        call(A, 2, at=2.0, kind=CallKind.BACKWARD),
        call(B, 1, at=3.0, rows=40),
        call(B, 2, at=4.0, place=(0, 1)),
        call(C, 1, at=5.0, rows=30),
        call(C, 2, at=6.0, rows=14),
    ]
    for one in calls:
        assert waiting.admit(one) is None
    assert waiting.next() == [calls[0], calls[2], calls[5]], "the fifth has no room, the sixth fits"
    assert [one.call for batch in iter(waiting.next, []) for one in batch] == [2, 1, 2], "who had least"
    assert len(waiting) == 0


@pytest.mark.parametrize("seed", range(5))
def test_all_are_served_alike_whatever_they_ask(seed):
    """One asks for much, one for little at a time and again at once, one comes late; each has its own expert."""
    random, waiting, served, there, number = Random(seed), queue(), Counter(), Counter(), 0
    sizes = {A: 60, B: 3, C: 20}
    for turn in range(3000):
        for sender in (A, B, C) if turn > 1000 else (A, B):
            while there[sender] < (1 if sender == B else 8):
                there[sender] += 1
                number += 1
                rows = random.randint(1, sizes[sender])
                assert waiting.admit(call(sender, number, place=(0, sender[0]), rows=rows, at=float(turn))) is None
        for one in waiting.next():
            there[one.sender] -= 1
            served[one.sender] += one.rows if turn > 1000 else 0
    assert max(served[one] for one in (A, B, C)) < 1.1 * min(served[one] for one in (A, B, C))


def test_trainers_that_are_gone_leave_nothing_behind():
    waiting = queue()
    for number in range(500):
        assert waiting.admit(call(PeerId(number.to_bytes(32, "big")), 1, place=(0, number % 7))) is None
    gone = waiting.forget(PeerId((3).to_bytes(32, "big")))
    assert [one.call for one in gone] == [1]
    assert waiting.drop(PeerId((4).to_bytes(32, "big")), 1) is not None
    assert waiting.drop(PeerId((4).to_bytes(32, "big")), 1) is None
    while waiting.next():
        pass
    for number in range(2, 40):
        assert waiting.admit(call(A, number)) is None
        assert waiting.admit(call(B, number)) is None
        assert waiting.next()
    assert waiting.trainers <= 2


def test_calls_whose_time_is_over_are_taken_out():
    waiting = queue()
    early, late = call(A, 1, until=5.0), call(A, 2, until=50.0)
    for one in (early, late):
        assert waiting.admit(one) is None
    assert waiting.late(5.0) == [early]
    assert waiting.next() == [late]
    assert waiting.admit(replace(early, until=9.0)) is None
