"""A participant whose trainer computes on while a round is averaged: what counts when, and who is waited for."""

import math

import pytest

from core.averaging.matchmaking import Call, Cancelled, Ready, Wanted
from core.base.work import Collect, Collected, Stepped
from core.swarm.epoch.grouping import Stragglers
from core.swarm.presence.membership import Membership
from core.swarm.words.orders import Absorb, RoundRecord
from core.swarm.words.outputs import Committed
from core.swarm.words.states import State, StateName
from tests.sim.swarm.disk import fields_of
from tests.unit.swarm.stage import FIRST, Stage, own_row, peer, report_of
from tests.unit.swarm.test_participant import call

NEXT = StateName(1, b"n" * 32)
RECORD = RoundRecord(NEXT, ((peer(0), 60), (peer(1), 60)), 1.0, (), 1.0)


def in_round(stage: Stage) -> bytes:
    """The contribution of 60 samples is out."""
    stage.ready()
    stage.progress(samples=56, samples_per_s=8.0, loss=1.0)
    called = call(stage, 1)
    stage.answer(Collected(round=called, epoch=0, samples=60, loss=1.0))
    assert stage.heard_by(1, Ready) == [Ready(called, own_row(stage, 60, samples_per_s=8.0))]
    return called


def further(stage: Stage, *, samples: int, ahead: int) -> None:
    """The trainer says how far it is."""
    stage.progress(samples=samples, ahead=ahead, samples_per_s=8.0, loss=1.0)


def counted(stage: Stage) -> int:
    return stage.actor.report(stage.now).samples


def commit(stage: Stage) -> None:
    stage.formed()
    stage.hear(stage.actor.handle(Committed(stage.ordered(Collect)[-1].round, FIRST, RECORD), stage.now))
    assert stage.ordered(Absorb)


def test_samples_computed_during_a_round_count_for_the_next_step() -> None:
    stage = Stage(delayed=True)
    in_round(stage)
    further(stage, samples=84, ahead=24)
    assert counted(stage) == 60
    commit(stage)
    assert counted(stage) == 24
    assert not stage.actor.report(stage.now).in_step
    further(stage, samples=92, ahead=32)
    assert counted(stage) == 32
    stage.answer(Stepped(**fields_of(State(NEXT, b"d" * 32, "")), samples=36, loss=0.5))
    assert counted(stage) == 36
    assert stage.actor.report(stage.now).state == NEXT
    further(stage, samples=40, ahead=0)
    assert counted(stage) == 40


def test_samples_count_for_their_step_again_after_a_cancelled_round() -> None:
    stage = Stage(delayed=True)
    called = in_round(stage)
    further(stage, samples=84, ahead=24)
    stage.tell(1, Cancelled(called))
    assert counted(stage) == 84
    further(stage, samples=92, ahead=32)  # said before the trainer heard of it
    assert counted(stage) == 92
    call(stage, 1, nonce=2)
    further(stage, samples=96, ahead=0)
    assert counted(stage) == 96


def test_batch_full_when_the_step_ends_begins_the_next_round() -> None:
    stage = Stage(delayed=True, target_samples=100)
    in_round(stage)
    commit(stage)
    stage.read(p1=report_of(NEXT, time=stage.now, samples=70))
    before = len(stage.heard_by(1, Call)) + len(stage.heard_by(1, Wanted))
    stage.answer(Stepped(**fields_of(State(NEXT, b"d" * 32, "")), samples=36, loss=math.nan))
    assert len(stage.heard_by(1, Call)) + len(stage.heard_by(1, Wanted)) == before + 1


@pytest.mark.parametrize("delayed", [True, False])
def test_a_member_that_still_steps_is_waited_for_a_while(*, delayed: bool) -> None:
    stage = Stage(delayed=delayed, target_samples=100)
    in_round(stage)
    commit(stage)
    stage.read(
        p1=report_of(FIRST, time=stage.now, activity="stepping", in_step=False),
        p2=report_of(NEXT, time=stage.now, samples=200),
    )

    def asked() -> bool:
        return any(stage.heard_by(number, kind) for number in (1, 2) for kind in (Call, Wanted))

    stage.answer(Stepped(**fields_of(State(NEXT, b"d" * 32, ""))))
    assert not asked()
    began = stage.now
    while not asked():
        stage.wait(0.25)
        stage.read(
            p1=report_of(FIRST, time=stage.now, activity="stepping", in_step=False),
            p2=report_of(NEXT, time=stage.now, samples=200),
        )
    assert stage.now - began <= 3.5


def test_who_is_waited_for() -> None:
    members, waiting = Membership(), Stragglers(patience_s=3.0)
    for number in (1, 2, 3):
        members.branches.verified(peer(number))

    def hear(number: int, state: StateName, at: float, **more: object) -> None:
        members.heard(peer(number), report_of(state, time=at, **more), expires=at + 20, now=at)

    for number in (1, 2, 4):
        hear(number, FIRST, 10.0)
    assert waiting.awaits(NEXT, members, 10.0)
    hear(1, NEXT, 10.5)
    assert waiting.awaits(NEXT, members, 10.5)
    hear(2, FIRST, 11.0, in_step=False, activity="idle")  # paused
    assert not waiting.awaits(NEXT, members, 11.0)  # nor is 4, who has shown no pass
    hear(2, FIRST, 12.0, in_step=False, activity="stepping")
    assert waiting.awaits(NEXT, members, 12.0)
    members.lost(peer(2), 12.5)
    assert not waiting.awaits(NEXT, members, 12.5)
    hear(2, FIRST, 18.0)
    assert not waiting.awaits(NEXT, members, 18.0), "patience has ended at this state"
    later = StateName(NEXT.epoch + 1, NEXT.lineage)
    hear(1, later, 18.0)
    assert not waiting.awaits(later, members, 18.0), "it is two steps behind"
    hear(3, later, 19.0, in_step=False, activity="stepping")
    assert waiting.awaits(later, members, 19.0), "a round has led it from this state, which we have missed"
    hear(3, later, 22.0, in_step=False, activity="stepping")
    assert not waiting.awaits(later, members, 23.0)


def test_who_was_waited_for_in_vain_is_waited_for_once() -> None:
    members, waiting = Membership(), Stragglers(patience_s=3.0)
    members.branches.verified(peer(1))
    now, state = 10.0, NEXT
    for epoch in range(5):
        state = StateName(NEXT.epoch + epoch, NEXT.lineage)
        for _ in range(8):
            lie = report_of(StateName(state.epoch - 1, b"\xff" * 32), time=now)
            members.heard(peer(1), lie, expires=now + 20, now=now)
            assert waiting.awaits(state, members, now) is (now < 13.0)
            now += 0.5
    members.heard(peer(1), report_of(state, time=now), expires=now + 20, now=now)
    assert not waiting.awaits(state, members, now), "it has caught up"
    later = StateName(state.epoch + 1, NEXT.lineage)
    assert waiting.awaits(later, members, now)
