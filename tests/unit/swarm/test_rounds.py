"""A participant's rounds, of which one may outlive the trainer that began it."""

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging import butterfly
from core.averaging.bandwidth.proven import Proven, ProvenLine
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.commit.fingerprints import plan_name
from core.averaging.matchmaking import Call, Cancelled, Declined, Ready, Refused
from core.averaging.messages import Commit, Mean, Open, Order, Part, Status
from core.averaging.penalties import NOTHING, Remembered
from core.averaging.plan import Member, Plan
from core.averaging.receipts.exchange import Attesting, Receipted
from core.averaging.receipts.receipt import Attested, Statement, attest
from core.base.ids import PeerId
from core.base.manifest import AveragingNumbers
from core.base.work import Collect, Collected, Release
from core.codecs.registry import codec_of
from core.swarm.presence.line_news import lines_key
from core.swarm.rounds.early_messages import EARLY_MAX
from core.swarm.words.answers import TrainerGone
from core.swarm.words.epoch import Phase
from core.swarm.words.messages import StateAsk, StateDenied, StateOffer
from core.swarm.words.orders import Absorb, RoundRecord
from tests.unit.swarm.stage import FIRST, RUN, Stage, own_row, peer, plan_of, signer

ROUND_S = AveragingNumbers().round_timeout_s


def join(stage: Stage, leader: int, *, nonce: int) -> Plan:
    """The participant is called, collects and is planned in; the leader is the only other member."""
    stage.tell(leader, Call(FIRST.epoch, FIRST.lineage, 0, nonce))
    collect = stage.ordered(Collect)[-1]
    stage.answer(Collected(round=collect.round, epoch=0, samples=4, loss=1.0))
    members = [own_row(stage, 4), Member(peer(leader), 4, 1.0)]
    plan = plan_of(collect.round, leader, members, stage.actor.settings.averaging)
    stage.tell(leader, plan)
    assert stage.phase is Phase.AVERAGING
    return plan


def fail(stage: Stage) -> None:
    """The leader falls silent, until the round is over."""
    began = stage.now
    while stage.phase is Phase.AVERAGING:
        stage.wait(0.5)
    assert stage.now - began <= ROUND_S + 0.5


def finish(stage: Stage, leader: int, plan: Plan, *, commits: bool = True) -> None:
    """The leader does its part of the round and commits."""
    encode = codec_of(plan.codec).encode
    mine = plan.peers.index(peer(0))
    its = 1 - mine
    stage.tell(leader, Open(plan.round, plan_name(plan), ((its, 0),)))
    for chunk in range(plan.chunks[mine]):
        span = plan.span(plan.first_chunk(mine) + chunk)
        payload = encode(np.ones(span.stop - span.start, dtype=np.float32), span.start)
        stage.tell(leader, Part(plan.round, mine, 0, chunk, payload))
    for chunk in range(plan.chunks[its]):
        span = plan.span(plan.first_chunk(its) + chunk)
        payload = encode(np.ones(span.stop - span.start, dtype=np.float32), span.start)
        stage.tell(leader, Mean(plan.round, its, 0, chunk, b"\x03", payload))
    nonce = stage.heard_by(leader, Status)[-1].nonce
    nonces = tuple(nonce if member == mine else b"of its" for member in range(2))
    stage.tell(leader, Order(plan.round, (0, 0), (0, 1), b"\x03", nonces))
    if commits:
        vote = stage.heard_by(leader, Status)[-1].fingerprints
        stage.tell(leader, Commit(plan.round, (0, 0), nonces, vote, (plan.chunk_total,) * 2))


def test_a_round_ends_in_a_step() -> None:
    stage = Stage()
    stage.ready()
    plan = join(stage, 1, nonce=1)
    finish(stage, 1, plan)
    [absorb] = stage.ordered(Absorb)
    assert absorb.round == plan.round
    assert stage.phase is Phase.STEPPING


def test_nobody_steps_with_the_mean_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The only member with samples was cut off before it had sent a chunk; its group commits all the same."""
    finished = butterfly.outcome_of
    monkeypatch.setattr(
        butterfly, "outcome_of", lambda *args, **more: replace(finished(*args, **more), contributors=())
    )
    stage = Stage()
    stage.ready()
    plan = join(stage, 1, nonce=1)
    finish(stage, 1, plan)
    assert not stage.ordered(Absorb)
    assert [release.round for release in stage.ordered(Release)] == [plan.round]


def test_a_member_of_a_round_gets_its_state_before_strangers() -> None:
    stage = Stage()
    stage.ready()
    finish(stage, 1, join(stage, 1, nonce=1))
    for stranger in (2, 3):
        stage.tell(stranger, StateAsk(stage.file.digest))
    assert (len(stage.heard_by(2, StateOffer)), len(stage.heard_by(3, StateDenied))) == (1, 1)
    stage.tell(1, StateAsk(stage.file.digest))
    assert len(stage.heard_by(1, StateOffer)) == 1


def test_round_of_a_lost_trainer_does_not_disturb_the_next() -> None:
    stage = Stage()
    stage.ready()
    plan = join(stage, 1, nonce=1)
    stage.answer(TrainerGone())
    stage.ready()
    stage.tell(2, Call(FIRST.epoch, FIRST.lineage, 0, 7))
    assert stage.phase is Phase.COLLECTING
    finish(stage, 1, plan)
    assert [output for output in stage.said if isinstance(output, RoundRecord)]
    assert not stage.ordered(Absorb)
    called = stage.ordered(Collect)[-1].round
    stage.answer(Collected(round=called, epoch=0, samples=4, loss=1.0))
    assert stage.heard_by(2, Ready) == [Ready(called, own_row(stage, 4))]
    stage.tell(2, Cancelled(called))
    assert stage.phase is Phase.TRAINING
    assert stage.ordered(Release)[-1] == Release(round=called)


def test_bulk_and_excess_messages_before_the_plan_are_not_kept() -> None:
    stage = Stage()
    stage.ready()
    stage.tell(1, Call(FIRST.epoch, FIRST.lineage, 0, 1))
    round_id = stage.ordered(Collect)[-1].round
    stage.tell(2, Part(round_id, 0, 0, 0, memoryview(bytes(100_000))))
    assert stage.actor.trace["rounds.drop.foreign"] == 1
    for _ in range(EARLY_MAX + 5):
        stage.tell(2, Order(round_id, (0,), (0,), b""))
    assert stage.actor.trace["rounds.drop.foreign"] == 6


def test_leader_of_a_failed_round_is_excluded_for_a_while() -> None:
    stage = Stage()
    stage.ready()
    join(stage, 1, nonce=1)
    fail(stage)
    stage.tell(1, Call(FIRST.epoch, FIRST.lineage, 5, 2))
    assert stage.heard_by(1, Declined)[-1].reason == "busy"
    assert stage.phase is Phase.TRAINING
    stage.tell(2, Call(FIRST.epoch, FIRST.lineage, 5, 3))
    assert stage.phase is Phase.COLLECTING, "others are followed"
    stage.tell(2, Cancelled(stage.ordered(Collect)[-1].round))
    stage.wait(ROUND_S)
    stage.tell(1, Call(FIRST.epoch, FIRST.lineage, 5, 4))
    assert stage.phase is Phase.COLLECTING


def test_round_that_this_peer_left_is_held_against_nobody() -> None:
    stage = Stage()
    stage.ready()
    join(stage, 1, nonce=1)
    for output in stage.actor.rounds.leave(stage.now):
        stage.hear(stage.actor.handle(output, stage.now))
    assert stage.phase is Phase.TRAINING
    stage.tell(1, Call(FIRST.epoch, FIRST.lineage, 1, 2))
    assert stage.phase is Phase.COLLECTING


def test_what_a_trainer_before_has_seen_still_counts() -> None:
    stage = Stage()
    stage.ready()
    join(stage, 1, nonce=1)
    fail(stage)
    stage.answer(TrainerGone())
    stage.ready()
    stage.tell(1, Call(FIRST.epoch, FIRST.lineage, 0, 2))
    assert stage.heard_by(1, Declined)[-1].reason == "busy"


def test_a_plan_that_its_topology_cannot_take_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(*args: Any, **kwargs: Any) -> None:
        raise ValueError("not this one")

    stage = Stage()
    stage.ready()
    monkeypatch.setattr("core.swarm.rounds.rounds.Butterfly", cannot)
    with pytest.raises(AssertionError):
        join(stage, 1, nonce=1)
    assert stage.actor.trace["rounds.refused"] == 1
    [refused] = stage.heard_by(1, Refused)
    assert refused.round == stage.ordered(Collect)[-1].round
    monkeypatch.undo()
    finish(stage, 2, join(stage, 2, nonce=7))
    assert stage.ordered(Absorb), "others are followed as before"


def test_observation_of_a_member_counts_in_the_next_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is here that a member's view of a round and what it goes by in the next one come together."""
    begun: list[Remembered] = []

    def butterfly(me: PeerId, plan: Plan, work: RoundInput, **kwargs: Any) -> Any:
        begun.append(work.remembered)
        return Butterfly(me, plan, work, **kwargs)

    monkeypatch.setattr("core.swarm.rounds.rounds.Butterfly", butterfly)
    monkeypatch.setattr("core.averaging.butterfly.waited_s", lambda *_: {peer(1): 1.0})
    stage = Stage()
    for nonce in range(3):  # with the same state again and again
        stage.ready()
        finish(stage, 1, join(stage, 1, nonce=nonce))
        stage.answer(TrainerGone())
    assert begun[0] == NOTHING
    earned = [begun[number].waits[peer(1)].seconds - begun[number].waits[peer(0)].seconds for number in (1, 2)]
    assert earned[0] > earned[1]


def published(stage: Stage) -> bool:
    """Whether the participant has told others what it knows of lines."""
    return bool(stage.actor.dht.records.get(lines_key(RUN), stage.now))


def test_failed_round_may_lower_lines_and_that_is_published() -> None:
    stage = Stage()
    stage.ready()
    join(stage, 1, nonce=1)
    known = ProvenLine(Proven(best=5e6, floor=4e6), Proven(best=5e6, floor=4e6))
    stage.actor.rounds.lines._peers[peer(1)] = known
    assert not published(stage)
    fail(stage)
    assert (known.up.floor, known.down.floor) == (0.0, 0.0)
    assert known.up.best == 5e6
    stage.wait(2.5)
    assert published(stage)


@pytest.mark.parametrize("splits", [False, True])
def test_leader_that_signed_another_outcome_is_excluded_for_a_while(
    monkeypatch: pytest.MonkeyPatch, *, splits: bool
) -> None:
    signed: list[Statement] = []
    sign = Attesting.sign

    def kept(attesting: Attesting, statement: Statement, **rest: Any) -> Any:
        signed.append(statement)
        return sign(attesting, statement, **rest)

    monkeypatch.setattr(Attesting, "sign", kept)
    stage = Stage()
    stage.ready()
    finish(stage, 1, join(stage, 1, nonce=1))
    [mine] = signed
    its = msgspec.structs.replace(mine, fingerprint=b"o" * 32) if splits else mine
    word = attest(its, signer(1), time=stage.now, relayed={})
    stage.tell(1, Attested(mine.round, (word,)))
    [receipted] = [output for output in stage.said if isinstance(output, Receipted)]
    assert receipted.split_by == (peer(1) if splits else None)
    assert stage.actor.rounds.penalties.may_lead(peer(1), stage.now) is not splits
    assert stage.actor.rounds.penalties.may_lead(peer(1), stage.now + ROUND_S)


def test_a_round_combines_parts_as_the_manifest_says(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[RoundInput] = []

    def butterfly(me: PeerId, plan: Plan, work: RoundInput, **kwargs: Any) -> Any:
        begun.append(work)
        return Butterfly(me, plan, work, **kwargs)

    monkeypatch.setattr("core.swarm.rounds.rounds.Butterfly", butterfly)
    parts = np.array([[1, 9], [2, 8], [3, 7], [1000, -1000]], dtype=np.float32)
    for numbers, expected in (
        (AveragingNumbers(chunk_numel=256), parts.mean(axis=0)),
        (AveragingNumbers(chunk_numel=256, aggregator="trimmed_mean", trimmed_share=0.25), [2.5, 7.5]),
    ):
        stage = Stage(averaging=numbers)
        stage.ready()
        join(stage, 1, nonce=0)
        out = np.empty(2, dtype=np.float32)
        begun[-1].aggregator.aggregate([0.25] * len(parts), [part.copy() for part in parts], out)
        np.testing.assert_allclose(out, expected)
