"""When the target batch counts as reached."""

from typing import Any

from core.averaging.matchmaking import Call, Wanted
from core.base.manifest import AveragingNumbers
from core.swarm.epoch.grouping import SOON_S, Grouping
from core.swarm.presence.membership import GOES_ON_S, Membership
from core.swarm.words.settings import ParticipantSettings
from core.swarm.words.states import StateName
from tests.unit.swarm.stage import RUN, Stage, peer, report_of

TARGET = 1000


def training(*, samples: int, samples_per_s: float) -> Stage:
    stage = Stage(target_samples=TARGET)
    stage.ready()
    stage.progress(samples=samples, samples_per_s=samples_per_s, loss=1.0)
    return stage


def looks(stage: Stage) -> bool:
    """Whether the participant has begun to look for a group."""
    return bool(stage.heard_by(1, Call) or stage.heard_by(1, Wanted))


def others(stage: Stage, **more: Any) -> None:
    stage.read(p1=report_of(time=stage.now, **more))


def test_group_is_sought_when_all_samples_reach_the_target() -> None:
    for mine, theirs, full in ((600, 399, False), (600, 400, True), (0, TARGET, True)):
        stage = training(samples=mine, samples_per_s=0.0)
        others(stage, samples=theirs, samples_per_s=0.0)
        assert looks(stage) is full


def test_the_moment_is_waited_for_when_the_target_is_near() -> None:
    stage = training(samples=0, samples_per_s=0.0)
    speed = 100.0
    others(stage, samples=int(TARGET - speed * GOES_ON_S / 2), samples_per_s=speed)
    assert not looks(stage)
    began = stage.now
    while not looks(stage):
        assert stage.actor.deadline is not None
        stage.wait(stage.actor.deadline - stage.now)
        assert stage.now - began < SOON_S
    assert stage.now - began >= GOES_ON_S / 2 - 0.01


def test_a_peer_that_is_not_training_looks_for_no_group() -> None:
    stage = training(samples=TARGET, samples_per_s=0.0)
    called = stage.tell(2, Call(0, stage.held.lineage, 0, 1)) if stage.held is not None else []
    assert called
    others(stage, samples=TARGET, samples_per_s=0.0)
    assert not looks(stage)


def test_made_up_keys_do_not_look_at_heldout_text() -> None:
    """Forty reports of keys that nobody let in had nobody look at it in most epochs."""
    states = [StateName(5, bytes([number]) * 32) for number in range(40)]
    numbers = AveragingNumbers()
    settings = ParticipantSettings(run=RUN, target_samples=1, averaging=numbers, evaluate_every=5, role="volunteer")
    for shown in (False, True):
        members = Membership()
        for number in range(20, 60):
            if shown:
                members.branches.verified(peer(number))
            members.heard(peer(number), report_of(time=100.0), expires=200.0, now=100.0)
        grouping = Grouping(peer(0), settings=settings, rounds=None, membership=members, beacon=None)  # type: ignore[arg-type]
        assert all(map(grouping.is_evaluator, states)) is not shown
