"""A peer of whom no plan wants anything stops to compute, and sees now and then whether that has changed."""

from typing import Any

from core.averaging.matchmaking import Call, Wanted
from core.base.work import Collected, Go, Hold, Stepped
from core.swarm.epoch.contributing import ALONE_S, REFUSED_MAX, TRY_AGAIN, Assisting
from core.swarm.words.orders import RoundRecord
from core.swarm.words.outputs import Asked, Committed
from core.swarm.words.states import State, StateName
from tests.sim.swarm.disk import fields_of
from tests.unit.swarm.stage import Stage, peer, report_of


def name(epoch: int) -> StateName:
    return StateName(epoch, bytes([epoch]) * 32)


def step(stage: Stage, epoch: int, *, samples: int, gives: bool) -> list[Any]:
    """A round that leads to an epoch is committed, and its step taken; returns what the trainer is told then."""
    record = RoundRecord(name(epoch), ((peer(1), 60),), 1.0, (), 1.0)
    stage.hear(stage.actor.handle(Asked(b"r"), stage.now))
    stage.answer(Collected(round=b"r", epoch=0, samples=samples, loss=1.0))
    stage.formed()
    stage.hear(stage.actor.handle(Committed(b"r", name(epoch - 1), record, gives=gives), stage.now))
    before = len(stage.said)
    stage.answer(Stepped(**fields_of(State(name(epoch), b"d" * 32, ""))))
    return [said for said in stage.said[before:] if isinstance(said, Go | Hold)]


def test_a_peer_that_is_refused_holds_still_and_tries_again() -> None:
    stage = Stage(target_samples=100)
    stage.ready()
    stage.progress(samples=0, samples_per_s=8.0, loss=1.0)
    epoch = 0
    for refusal in range(1, REFUSED_MAX + 1):
        epoch += 1
        told = step(stage, epoch, samples=40, gives=False)
        assert told == [Hold() if refusal == REFUSED_MAX else Go()]
    assert stage.actor.report(stage.now).in_step
    assert stage.actor.report(stage.now).samples_per_s == 0.0
    for rest in range(1, TRY_AGAIN + 1):
        epoch += 1
        assert step(stage, epoch, samples=0, gives=True) == [Go() if rest == TRY_AGAIN else Hold()]
    assert step(stage, epoch + 1, samples=40, gives=False) == [Hold()]
    for rest in range(1, TRY_AGAIN + 1):
        assert step(stage, epoch + 1 + rest, samples=0, gives=True) == [Go() if rest == TRY_AGAIN else Hold()]
    epoch += 1 + TRY_AGAIN
    assert step(stage, epoch + 1, samples=40, gives=True) == [Go()]
    assert step(stage, epoch + 2, samples=40, gives=False) == [Go()]


def test_assisting_peer_joins_rounds_and_computes_when_no_other_does() -> None:
    stage = Stage(target_samples=100)
    stage.ready()
    for epoch in range(1, REFUSED_MAX + 1):
        step(stage, epoch, samples=40, gives=False)
    at = name(REFUSED_MAX)
    stage.read(p1=report_of(at, time=stage.now, samples=200))
    assert stage.heard_by(1, Call) or stage.heard_by(1, Wanted)
    assert stage.actor.view(stage.now).assists
    before = len(stage.ordered(Go))
    for _ in range(2):
        stage.now += ALONE_S + 0.1
        assert stage.actor.view(stage.now).assists
        stage.read()
    assert not stage.actor.view(stage.now).assists
    assert len(stage.ordered(Go)) == before + 1


def test_refusals_count_in_a_row_only() -> None:
    assisting = Assisting()
    for _ in range(5):
        for _ in range(REFUSED_MAX - 1):
            assisting.ended(samples=4, gives=False)
        assisting.ended(samples=4, gives=True)
    assert not assisting.active
