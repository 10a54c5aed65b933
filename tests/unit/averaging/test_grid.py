"""A round on a grid: exact for every number of peers, and one mean whoever dies."""

import os
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from core.averaging.butterfly import Butterfly, Outputs, RoundInput
from core.averaging.grid.grid import Grid
from core.averaging.grid.layout import Group, group_of, layout_of
from core.averaging.grid.plans import Arrived, Holding, StagePlan, divided
from core.averaging.messages import Leaving
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.averaging.patience import Waited
from core.averaging.penalties import Remembered
from core.base.ids import PeerId
from core.base.machine import Received, Send
from core.codecs.registry import codec_of
from tests.unit.averaging.pump import Pump, Round, make_plan

GRID_ROUNDS = int(os.environ.get("POTLUCK_GRID_ROUNDS", "3"))
"""Rounds of each kind in which somebody dies."""
SIZES = [(n, s) for n in (4, 5, 6, 7, 8, 9, 11, 16, 17, 23, 27, 30) for s in (2, 3, 4) if n >= 1 << s]


def ends(round_: Round) -> tuple[dict[PeerId, Outcome], dict[PeerId, str]]:
    finished, failed = {}, {}
    for peer, events in round_.pump.events.items():
        for event in events:
            if isinstance(event, RoundFinished):
                finished[peer] = event.outcome
            if isinstance(event, RoundFailed):
                failed[peer] = event.reason
    return finished, failed


def a_round(peers: int, stages: int, *, seed: int = 0, numel: int = 100, codec: str = "raw", **pump: Any) -> Round:
    random = Random(seed)
    samples = [random.randint(1, 50) for _ in range(peers)]
    plan = make_plan(samples, numel, stages=stages, codec=codec, number=seed % 256)
    return Round(plan, seed=seed, **pump)


def the_mean(round_: Round, members: list[int]) -> np.ndarray:
    weights = [round_.plan.members[member].samples for member in members]
    return np.average(round_.before[members].astype(np.float64), axis=0, weights=weights)


def check_one_mean(round_: Round) -> tuple[dict[PeerId, Outcome], dict[PeerId, str]]:
    """Everybody alive has ended once; who has a mean has the same one, under the same name."""
    finished, failed = ends(round_)
    for peer, events in round_.pump.events.items():
        assert len(events) == 1 or (not events and peer in round_.pump.dead | round_.pump.frozen), "one end each"
    assert np.array_equal(round_.before, round_.vectors)
    alive = {peer: outcome for peer, outcome in finished.items() if peer not in round_.pump.dead}
    assert len({(o.fingerprint, o.contributors, o.missing, o.loss) for o in alive.values()}) <= 1
    assert len({round_.results[round_.plan.peers.index(peer)].tobytes() for peer in alive}) <= 1
    return alive, {peer: reason for peer, reason in failed.items() if peer not in round_.pump.dead}


def check_survivors_mean(round_: Round, outcome: Outcome, peer: PeerId) -> None:
    """Where nothing is missing in part, the mean is exactly that of the contributors."""
    partly = {p for p, chunks in outcome.missing if chunks < outcome.chunk_total}
    if partly:
        return
    peers = round_.plan.peers
    contributors = [peers.index(p) for p, _ in outcome.contributors]
    np.testing.assert_allclose(round_.results[peers.index(peer)], the_mean(round_, contributors), atol=1e-5)


@pytest.mark.parametrize(("peers", "stages"), SIZES)
def test_everybody_gets_the_mean_of_all(peers: int, stages: int) -> None:
    round_ = a_round(peers, stages, seed=peers).run()
    alive, failed = check_one_mean(round_)
    assert not failed
    assert len(alive) == peers
    outcome = alive[round_.plan.peers[0]]
    assert outcome.missing == ()
    assert outcome.contributors == tuple((PeerId(m.peer), m.samples) for m in round_.plan.members)
    assert outcome.loss == np.percentile([m.loss for m in round_.plan.members], 50, method="lower")
    check_survivors_mean(round_, outcome, round_.plan.peers[0])
    assert not any(trace["averaging.stage_repeated"] for trace in round_.traces)


def test_some_have_no_samples_and_vectors_travel_as_halves() -> None:
    plan = make_plan([3, 0, 5, 2, 0, 4, 1, 7, 0, 9], 200, stages=2, codec="fp16")
    round_ = Round(plan, seed=3).run()
    alive, _ = check_one_mean(round_)
    assert len(alive) == 10
    giving = [index for index, member in enumerate(plan.members) if member.samples]
    assert [samples for _, samples in alive[plan.peers[0]].contributors] == [3, 5, 2, 4, 1, 7, 9]
    np.testing.assert_allclose(round_.results[0], the_mean(round_, giving), atol=4e-3)


def test_nobody_has_samples() -> None:
    round_ = Round(make_plan([0] * 6, 50, stages=2)).run()
    alive, _ = check_one_mean(round_)
    assert len(alive) == 6
    assert not round_.results.any()


@pytest.mark.parametrize("seed", range(10))
def test_messages_late_twice_and_mixed_up(seed: int) -> None:
    round_ = a_round(12, 2, seed=seed, duplicate=0.2, delay_s=(0.0, 0.3), stagger_s=1.0).run()
    alive, _ = check_one_mean(round_)
    assert len(alive) == 12
    assert not alive[round_.plan.peers[0]].missing
    check_survivors_mean(round_, alive[round_.plan.peers[0]], round_.plan.peers[0])


def killing(moments: dict[int, int], notice_s: float | None) -> Any:
    """Kill peers (by index) when so many messages have been delivered; without notice they are only silent."""

    def before(pump: Pump, peer: PeerId, event: Any) -> None:
        for index, at in list(moments.items()):
            if pump.delivered >= at:
                del moments[index]
                victim = sorted(pump.machines)[index]
                if notice_s is None:
                    pump.frozen.add(victim)
                else:
                    pump.kill(victim, notice_s=notice_s)

    return before


@pytest.mark.parametrize("notice_s", [0.0, 0.5, None])
@pytest.mark.parametrize("seed", range(GRID_ROUNDS))
def test_one_dies_at_any_moment_and_only_its_group_notices(seed: int, notice_s: float | None) -> None:
    random = Random(seed)
    moments = {random.randrange(16): random.randrange(1200)}
    victim = next(iter(moments))
    round_ = a_round(16, 2, seed=seed, before=killing(moments, notice_s))
    round_.run()
    alive, failed = check_one_mean(round_)
    assert not failed, failed
    assert len(alive) >= 15
    peer = next(p for p in alive if round_.plan.peers.index(p) != victim)
    check_survivors_mean(round_, alive[peer], peer)
    repeated = {m for m in range(16) if m != victim and round_.traces[m]["averaging.stage_repeated"]}
    assert repeated <= set(group_of(layout_of(round_.plan)[1], victim).members)


@pytest.mark.parametrize("peers", [4, 7, 9, 12, 16, 20, 27, 32, *([64] if GRID_ROUNDS > 6 else [])])
@pytest.mark.parametrize("seed", range(GRID_ROUNDS // 3))
def test_a_tenth_dies_at_random_moments(peers: int, seed: int) -> None:
    random = Random(1000 * peers + seed)
    stages = random.choice([s for s in (2, 3, 4) if peers >= 3**s] or [2])
    dying = [index for index in range(peers) if random.random() < 0.1]
    moments = {index: random.randrange(peers * 60) for index in dying}
    notice_s = random.choice([0.0, 0.3, None])
    round_ = a_round(peers, stages, seed=seed, before=killing(moments, notice_s)).run()
    alive, failed = check_one_mean(round_)
    assert len(alive) + len(failed) >= peers - len(dying)
    for peer, outcome in list(alive.items())[:1]:
        check_survivors_mean(round_, outcome, peer)
    if peers >= 9 and stages < 4:
        assert len(alive) >= peers // 2, failed


def test_round_names_the_suspects_of_its_first_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    round_ = a_round(9, 2)
    me, other, *_ = round_.plan.peers

    class Failing(Butterfly):
        def start(self, now: float) -> Outputs:
            return [RoundFailed(self.plan.round, "no mean came", (other,))]

    monkeypatch.setattr("core.averaging.grid.grid.Butterfly", Failing)
    assert round_.machines[me].start(1000.0)[-1] == RoundFailed(round_.plan.round, "no mean came", (other,))


def test_round_ends_when_a_leaver_fails_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    round_ = a_round(9, 2)
    me, other, *_ = round_.plan.peers

    class Failing(Butterfly):
        def handle(self, event: Any, now: float) -> Outputs:
            return [RoundFailed(self.plan.round, "too few are left")]

    monkeypatch.setattr("core.averaging.grid.grid.Butterfly", Failing)
    machine = round_.machines[me]
    machine.start(1000.0)
    ended = machine.handle(Received(other, Leaving(round_.plan.round)), 1000.0)
    assert ended[-1] == RoundFailed(round_.plan.round, "too few are left")
    assert machine.deadline is None


def arrived(round_: Round, group: Group, holding: Holding | None) -> Arrived:
    return Arrived(round_.plan.round, group.stage, group.number, 0, holding)


def test_member_stands_in_once_and_for_the_coordinator_only() -> None:
    round_ = a_round(9, 2).run()
    plan, grid = round_.plan, layout_of(round_.plan)
    group = next(group for group in grid[1] if 0 not in group.members)
    machine, empty = round_.machines[plan.peers[0]], Holding(bytes(32))
    first, *others = (plan.peers[m] for m in group.members)
    [answer] = machine.handle(Received(first, arrived(round_, group, empty)), round_.pump.now)
    assert (answer.to, type(answer.message)) == (first, Arrived)
    mine = (0, answer.message.holding)
    givers = tuple(mine if 0 in block else (m, empty) for m, block in zip(group.members, group.blocks, strict=True))
    word = divided(plan, StagePlan(plan.round, 1, group.number, 0, givers, (), ()), group)
    for other in others:
        assert machine.handle(Received(other, word), round_.pump.now) == []
    begun = machine.handle(Received(first, word), round_.pump.now)
    assert {output.to for output in begun} == {plan.peers[m] for m in word.members if m}
    assert machine.handle(Received(first, word), round_.pump.now) == []
    again = machine.handle(Received(first, arrived(round_, group, empty)), round_.pump.now)
    assert [output.message.holding for output in again] == [None], "it stands in already"


def test_member_beyond_a_stage_is_silent_before_it_busy() -> None:
    round_ = a_round(9, 2)
    me, group = round_.plan.peers[0], group_of(layout_of(round_.plan)[1], 0)
    other = next(round_.plan.peers[member] for member in group.members if member)
    machine, word = round_.machines[me], arrived(round_, group, Holding(bytes(32)))
    machine.start(round_.pump.now)
    assert machine.handle(Received(other, word), round_.pump.now) == [Send(other, arrived(round_, group, None))]
    beyond = a_round(9, 2).run()
    assert beyond.machines[me].handle(Received(other, word), beyond.pump.now) == []


@pytest.mark.parametrize("how", ["stranger", "another block", "no such group", "no such stage"])
def test_words_that_do_not_fit_the_grid_are_dropped(how: str) -> None:
    round_ = a_round(27, 3).run()
    plan, grid = round_.plan, layout_of(round_.plan)
    joins = [group for group in grid[1] if group.block_of(0) and 0 not in group.members]
    group = joins[0] if how != "another block" else next(g for g in grid[1] if not g.block_of(0))
    sender = group.members[0] if how != "stranger" else joins[1].members[0]
    number = 200 if how == "no such group" else group.number
    word = Arrived(plan.round, 3 if how == "no such stage" else 1, number, 0, Holding(bytes(32)))
    assert round_.machines[plan.peers[0]].handle(Received(plan.peers[sender], word), round_.pump.now) == []
    assert round_.traces[0]["averaging.drop.stage"] == 1


def a_second_each(peers: Sequence[PeerId], *_: object) -> dict[PeerId, float]:
    """What a member says that has waited a second for each other one."""
    return dict.fromkeys(peers, 1.0)


def test_memory_applies_in_all_stages_and_their_observations_are_merged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    round_ = a_round(8, 3)
    me, *others = round_.plan.peers
    monkeypatch.setattr("core.averaging.butterfly.waited_s", a_second_each)
    index = round_.plan.peers.index(me)
    round_.machines[me] = Grid(
        me,
        round_.plan,
        RoundInput(
            round_.vectors[index],
            round_.results[index],
            codec_of(round_.plan.codec),
            remembered=Remembered(waits=dict.fromkeys(others, Waited(1.0, stranger=False))),
        ),
        trace=round_.traces[index],
    )
    round_.run()
    finished, _ = ends(round_)
    machine = round_.machines[me]
    groups = [layout_of(machine.plan)[stage] for stage in range(3)]
    met = {
        peer
        for stage in groups
        for group in stage
        for peer in map(round_.plan.peers.__getitem__, group.members)
        if index in group.members
    }
    assert {peer for peer, seconds in finished[me].waited.items() if seconds} == met
    assert finished[me].waited[me] == machine.plan.stages
    assert len(met) > 2
