"""A participant among liars, with a trainer that answers, hangs or goes."""

import msgspec
import pytest

from core.averaging.matchmaking import Call, Cancelled, Declined, Ready, Wanted
from core.averaging.matchmaking.attempts import attempt_key, round_id
from core.averaging.plan import Member
from core.base.bounds import FOLLOWED_EPOCH_MAX, SAMPLES_MAX
from core.base.ids import Contact
from core.base.machine import Lost
from core.base.work import Collect, Collected, Go, Hold, Loaded, Release
from core.swarm.catching_up.catch_up import STATE_SLACK_BYTES
from core.swarm.catching_up.fetch import ANSWER_TIMEOUT_S
from core.swarm.catching_up.state_choice import LISTEN_S
from core.swarm.epoch.contributing import ANSWER_S
from core.swarm.trainer_side import INFORMED_AFTER_S
from core.swarm.words.answers import TrainerGone, TrainerReady
from core.swarm.words.epoch import Phase
from core.swarm.words.messages import ChunkAsk, ChunkGive, StateAsk, StateOffer
from core.swarm.words.orders import Load, Restart
from core.swarm.words.progress import StateCopy
from core.swarm.words.states import State, StateName
from tests.sim.swarm.disk import MemoryFile, fields_of
from tests.unit.swarm.stage import FIRST, RUN, Stage, peer, report_of

HIGHEST = StateName(FOLLOWED_EPOCH_MAX, b"\xff" * 32)


def call(stage: Stage, leader: int, *, attempt: int = 0, nonce: int = 1) -> bytes:
    """`leader` calls; returns the round's id."""
    stage.tell(leader, Call(FIRST.epoch, FIRST.lineage, attempt, nonce))
    return round_id(attempt_key(RUN, FIRST.lineage, FIRST.epoch, attempt), peer(leader), nonce)


def give(stage: Stage, donor: int, file: MemoryFile) -> None:
    """The donor gives all that it is asked for."""
    stage.tell(donor, StateOffer(file.digest, file.size_bytes, list(file.chunks)))
    for ask in stage.heard_by(donor, ChunkAsk):
        stage.tell(donor, ChunkGive(ask.digest, ask.index, memoryview(file.read(ask.index))))


def contribution(called: bytes) -> Collected:
    return Collected(round=called, epoch=0, samples=4, loss=1.0)


def test_unavailable_state_is_tried_ever_more_rarely_while_training_continues() -> None:
    stage = Stage()
    stage.ready()
    fetching_s = 0.0
    for second in range(600):
        name = StateName(HIGHEST.epoch, second.to_bytes(32, "big"))  # another one each time
        stage.read(p1=report_of(name, time=stage.now))
        before = stage.now
        stage.wait(1.0)
        fetching_s += stage.now - before if stage.phase is Phase.FETCHING else 0.0
    asked = len(stage.heard_by(1, StateAsk))
    assert 3 <= asked <= 20
    assert fetching_s <= asked * (ANSWER_TIMEOUT_S + 1)
    assert fetching_s < 250
    assert stage.held == FIRST


def test_while_a_liar_rests_the_others_are_met() -> None:
    stage = Stage()
    stage.ready()
    stage.read(p1=report_of(HIGHEST, time=stage.now))
    assert stage.phase is Phase.FETCHING
    stage.hear(stage.actor.handle(Lost(peer(1), "gone"), stage.now))
    assert stage.phase is Phase.TRAINING
    stage.read(p2=report_of(time=stage.now, samples=200), p3=report_of(time=stage.now, samples=50))
    assert stage.heard_by(2, Wanted) or stage.heard_by(3, Wanted) or stage.heard_by(2, Call)


def test_good_donor_is_asked_after_a_bad_one() -> None:
    stage = Stage()
    stage.ready()
    name, file = StateName(1, b"l" * 32), MemoryFile(b"state 1" * 1000)
    for _ in range(60):
        stage.read(
            p1=report_of(name, time=stage.now, digest=b"\xff" * 32),
            p2=report_of(name, time=stage.now, digest=file.digest),
        )
        stage.wait(1.0)
        if stage.heard_by(2, StateAsk):
            break
    give(stage, 2, file)
    [load] = stage.ordered(Load)
    assert load == Load("here", name)


def test_offer_of_another_size_than_the_own_state_is_refused() -> None:
    stage = Stage()
    stage.ready()
    huge = MemoryFile(bytes(STATE_SLACK_BYTES + 300_000))
    stage.read(p1=report_of(HIGHEST, time=stage.now, digest=huge.digest))
    stage.tell(1, StateOffer(huge.digest, huge.size_bytes, list(huge.chunks)))
    assert stage.sink.root == b""
    assert stage.actor.trace["state.drop.offer"] == 1
    assert stage.phase is Phase.JOINING


@pytest.mark.parametrize("held", ["the old one", "another one"])
def test_state_that_differs_from_its_name_is_not_taken(held: str) -> None:
    stage = Stage()
    stage.ready()
    false = MemoryFile(b"trash 1" * 1000)
    stage.read(p1=report_of(HIGHEST, time=stage.now, digest=false.digest))
    give(stage, 1, false)
    assert stage.phase is Phase.LOADING
    old = State(FIRST, stage.file.digest, "here")
    now_held = old if held == "the old one" else State(StateName(0, bytes(32)), b"x" * 32, "")
    stage.answer(Loaded(**fields_of(now_held)))
    assert stage.held == FIRST
    if held == "the old one":
        assert stage.phase is Phase.JOINING
        assert not stage.ordered(Restart)
    else:
        assert len(stage.ordered(Restart)) == 1
        stage.answer(TrainerGone())
        stage.ready()
    stage.read(p1=report_of(HIGHEST, time=stage.now, digest=false.digest))
    assert len(stage.heard_by(1, StateAsk)) == 1


def test_state_that_killed_the_trainer_is_not_reloaded_at_once() -> None:
    stage = Stage()
    stage.ready()
    deadly = MemoryFile(b"deadly " * 1000)
    for _ in range(120):
        stage.read(p1=report_of(HIGHEST, time=stage.now, digest=deadly.digest))
        if stage.phase is Phase.FETCHING:
            give(stage, 1, deadly)
            stage.answer(TrainerGone())
            stage.ready()
        stage.wait(1.0)
    assert 1 <= len(stage.ordered(Load)) <= 4


def test_state_is_loaded_at_once_after_a_pause_meanwhile() -> None:
    stage = Stage()
    stage.ready()
    file = MemoryFile(b"state 1" * 1000)
    stage.read(p1=report_of(HIGHEST, time=stage.now, digest=file.digest))
    give(stage, 1, file)
    assert stage.phase is Phase.LOADING
    stage.answer(TrainerGone(paused=True))
    assert stage.phase is Phase.IDLE
    stage.ready()
    stage.read(p1=report_of(HIGHEST, time=stage.now, digest=file.digest))
    assert stage.phase is Phase.FETCHING


@pytest.mark.parametrize("asleep_s", [0.0, 600.0])
def test_resumed_trainer_trains_at_once_unless_news_are_old(asleep_s: float) -> None:
    stage = Stage()
    stage.ready()
    stage.answer(TrainerGone(paused=True))
    assert not stage.actor.report(stage.now).in_step
    stage.wait(60.0)
    stage.read(p1=report_of(time=stage.now))
    stage.now += asleep_s
    before = len(stage.ordered(Go))
    state, vector = State(FIRST, stage.file.digest, "here"), stage.contribution
    stage.answer(TrainerReady(state=state, contribution=vector, mean=vector.copy()))
    assert (stage.phase is Phase.TRAINING) == (not asleep_s)
    assert len(stage.ordered(Go)) - before == (not asleep_s)
    stage.wait(INFORMED_AFTER_S + 0.1)
    assert stage.phase is Phase.TRAINING


def test_trainer_that_comes_back_asks_before_its_first_step() -> None:
    """What it read while it had none is seconds old, and the others take steps meanwhile."""
    stage = Stage()
    stage.hear(stage.actor.dht.bootstrap([Contact(peer(9), "198.51.100.9", 4000)], stage.now))
    stage.ready()
    stage.answer(TrainerGone(paused=False))
    stage.wait(1.0)
    stage.read(p1=report_of(time=stage.now))
    before = len(stage.ordered(Go))
    state, vector = State(FIRST, stage.file.digest, "here"), stage.contribution
    stage.answer(TrainerReady(state=state, contribution=vector, mean=vector.copy()))
    assert stage.phase is Phase.JOINING
    assert len(stage.ordered(Go)) == before
    stage.read(p1=report_of(HIGHEST, time=stage.now + 0.1, digest=stage.file.digest))
    assert stage.phase is Phase.FETCHING


def newcomer() -> Stage:
    """Its trainer is there; the backbone that let it in is peer 20, and nobody has been heard yet."""
    stage = Stage(backbone=20)
    state, vector = State(FIRST, stage.file.digest, "here"), stage.contribution
    stage.answer(TrainerReady(state=state, contribution=vector, mean=vector.copy()))
    return stage


def test_newcomer_computes_nothing_before_it_has_caught_up() -> None:
    stage = newcomer()
    kept = StateCopy(129, b"k" * 32, b"f" * 32)
    for _ in range(int(LISTEN_S)):
        report = report_of(StateName(129, b"k" * 32), time=stage.now, role="backbone", in_step=False, copy=kept)
        stage.read(p20=msgspec.structs.replace(report, activity="idle", digest=b""))
        assert stage.phase is Phase.JOINING
        stage.wait(1.0)
    stage.read(p20=msgspec.structs.replace(report, activity="idle", digest=b"", time=stage.now))
    assert stage.phase is Phase.FETCHING
    stage.hear(stage.actor.handle(Lost(peer(20), "gone"), stage.now))
    assert stage.phase is Phase.JOINING, "the copy is asked for again"
    assert not stage.ordered(Go)


def test_founder_trains_once_its_backbone_knows_no_model() -> None:
    stage = newcomer()
    stage.read(p20=report_of(FIRST, time=stage.now, role="backbone", activity="idle", in_step=False, digest=b""))
    assert stage.phase is Phase.TRAINING
    assert len(stage.ordered(Go)) == 1


def test_founder_without_its_backbone_trains_after_a_while() -> None:
    stage = newcomer()
    stage.wait(0.5)
    while stage.phase is Phase.JOINING and stage.now < 1000.0 + 2 * LISTEN_S:
        stage.read()
        stage.wait(0.5)
    assert LISTEN_S <= stage.now - 1000.0 <= LISTEN_S + 2
    assert len(stage.ordered(Go)) == 1


def test_who_has_finished_stays_finished_when_a_download_fails() -> None:
    stage = Stage(last_epoch=0)
    stage.ready()
    assert stage.phase is Phase.FINISHED
    stage.read(p1=report_of(HIGHEST, time=stage.now))
    assert stage.phase is Phase.FETCHING
    stage.wait(ANSWER_TIMEOUT_S + 1)
    assert stage.phase is Phase.FINISHED
    assert isinstance(stage.ordered(Hold)[-1], Hold)
    assert not stage.ordered(Go)


def test_a_trainer_that_owes_a_contribution_is_started_anew() -> None:
    stage = Stage()
    stage.ready()
    for nonce in range(int(ANSWER_S)):
        call(stage, 1 + nonce % 60, nonce=nonce)
        stage.wait(4.0)
        if stage.ordered(Restart):
            break
    assert stage.ordered(Restart)
    stage.answer(TrainerGone())
    count = len(stage.ordered(Restart))
    stage.wait(2 * ANSWER_S)
    assert len(stage.ordered(Restart)) == count


def test_trainer_hanging_on_a_load_is_restarted_except_after_sleep() -> None:
    stage = Stage()
    stage.ready()
    file = MemoryFile(b"state 1" * 1000)
    stage.read(p1=report_of(HIGHEST, time=stage.now, digest=file.digest))
    give(stage, 1, file)
    stage.now += 3600  # the lid was closed
    assert not [output for output in stage.wait(1.0) if isinstance(output, Restart)]
    assert [output for output in stage.wait(ANSWER_S + 1) if isinstance(output, Restart)]


def test_failing_calls_do_not_keep_the_trainer_from_training() -> None:
    stage = Stage()
    stage.ready()
    standing_s, steps = 0.0, 1200
    for step in range(steps):
        if step % 10 == 0:  # each second another call, with the best rank there is
            call(stage, 1, nonce=step)
        for collect in stage.ordered(Collect)[-1:]:
            stage.answer(contribution(collect.round))
        stage.wait(0.1)
        standing_s += 0.1 * (stage.phase in {Phase.COLLECTING, Phase.OFFERED})
    assert standing_s < 0.3 * steps * 0.1
    assert [message for message in stage.heard_by(1, Declined) if message.reason == "busy"]


def test_member_without_samples_cannot_demand_rounds_in_a_row() -> None:
    stage = Stage(target_samples=100)
    stage.ready()
    stage.read(p1=report_of(time=stage.now, samples=SAMPLES_MAX), p2=report_of(time=stage.now, samples=1))
    for _ in range(600):
        stage.tell(1, Wanted(FIRST.epoch, FIRST.lineage, 0))
        for collect in stage.ordered(Collect)[-1:]:
            stage.answer(contribution(collect.round))
        for number in (1, 2):
            for message in stage.heard_by(number, Call)[-1:]:
                key = attempt_key(RUN, FIRST.lineage, FIRST.epoch, message.attempt)
                stage.tell(number, Ready(round_id(key, peer(0), message.nonce), Member(peer(number), 1, 1.0)))
        stage.wait(0.1)
    assert 3 <= len(stage.ordered(Collect)) <= 15
    assert len(stage.ordered(Release)) in {len(stage.ordered(Collect)), len(stage.ordered(Collect)) - 1}


def test_a_cancelled_call_frees_the_trainer() -> None:
    stage = Stage()
    stage.ready()
    called = call(stage, 1)
    assert stage.phase is Phase.COLLECTING
    stage.tell(1, Cancelled(called))
    assert stage.phase is Phase.TRAINING
    assert stage.ordered(Release) == [Release(round=called)]
    stage.answer(contribution(called))
    assert stage.phase is Phase.TRAINING


def test_group_short_of_samples_is_retried_after_the_time_needed() -> None:
    stage = Stage(target_samples=100)
    stage.ready()
    called = call(stage, 1)
    stage.answer(Collected(round=called, epoch=0, samples=40, loss=1.0))
    stage.progress(samples=40, samples_per_s=5.0, loss=1.0)
    stage.read(p1=report_of(time=stage.now, samples=100, samples_per_s=5.0))
    stage.tell(1, Cancelled(called, samples=70))
    began = stage.now
    assert stage.phase is Phase.TRAINING
    while not (stage.heard_by(1, Wanted) or stage.heard_by(1, Call)):
        stage.wait(0.1)
        stage.read(p1=report_of(time=stage.now, samples=100, samples_per_s=5.0))
        assert stage.now < began + 5
    assert began + 3.0 <= stage.now < began + 3.5


def test_resting_participant_is_woken_rarely_however_soon_the_step_was() -> None:
    stage = Stage()
    stage.ready()
    stage.read(p1=report_of(time=stage.now))
    stage.progress(samples=90, samples_per_s=100.0, loss=1.0)
    stage.answer(TrainerGone(paused=True))
    began, woken = stage.now, 0
    while (deadline := stage.actor.deadline) is not None and deadline <= began + 600.0:
        stage.wait(deadline - stage.now)
        woken += 1
    assert woken <= 600.0 / 2
    stage.ready()
    assert stage.phase is Phase.TRAINING
