"""Matchmakers that find each other."""

from typing import Any

import msgspec
import pytest

from core.averaging.allreduce.share_map import ShareMap
from core.averaging.commit.reports import quorum
from core.averaging.grid.layout import FailureRate
from core.averaging.matchmaking import (
    EXCLUDED_S,
    Call,
    Cancelled,
    ContributionWanted,
    Declined,
    Elsewhere,
    GroupFailed,
    GroupFormed,
    Ready,
    Silent,
    Wanted,
)
from core.averaging.messages import Leaving
from core.averaging.plan import Member
from core.base.ids import PeerId
from core.base.machine import Lost, Send, Tick
from tests.unit.averaging.matchmakers import LINEAGE, NUMBERS, STRANGER, Group, messages, recipients, round_of
from tests.unit.averaging.pump import Pump, make_plan

ONE_WAY_S = 0.02
"""The longest that a message takes."""


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("lookers", ["one", "all", "leader"])
def test_peers_form_one_group_in_two_round_trips(count: int, lookers: str) -> None:
    group = Group(count, duplicate=0.2)
    group.place()
    group.look(*{"one": group.others()[:1] or group.peers, "all": group.peers}.get(lookers, [group.leader()]))
    group.pump.run()
    plan = group.one_plan(group.peers)
    assert plan.leader == group.leader()
    assert group.elapsed_s < 4 * ONE_WAY_S + 0.001
    assert {member.samples for member in plan.members} == {10}


@pytest.mark.parametrize("place", [0, 1])
def test_peer_behind_relays_gets_no_share(place: int) -> None:
    group = Group(3)
    client = sorted(group.peers, key=lambda peer: peer != group.leader())[place]
    group.clients = {client}
    group.place()
    group.look()
    group.pump.run()
    plan = group.one_plan(group.peers)
    shares = dict(zip(plan.peers, plan.chunks, strict=True))
    assert {peer for peer, chunks in shares.items() if not chunks} == {client}


def test_all_reduce_where_no_peer_wants_to() -> None:
    group = Group(3)
    group.clients = set(group.peers)
    group.place()
    group.look()
    group.pump.run()
    assert all(group.one_plan(group.peers).chunks)


def test_silent_leader_is_passed_over() -> None:
    group = Group(4)
    group.place()
    group.pump.frozen.add(group.leader())
    group.look(*group.others())
    group.pump.run()
    group.one_plan(group.others())
    assert group.elapsed_s < 3 * NUMBERS.gather_timeout_s


def test_lost_leader_is_passed_over_at_once() -> None:
    group = Group(4)
    group.place()
    group.look(*group.others())
    group.pump.kill(group.leader())
    group.pump.run()
    group.one_plan(group.others())
    assert group.elapsed_s < 1.0


def test_silent_leader_is_not_waited_for_as_member() -> None:
    group = Group(4)
    group.place()
    group.pump.frozen.add(group.leader())
    next_leader = group.leader(attempt=1)
    group.look(next_leader)
    group.pump.run()
    group.one_plan(group.others())
    assert group.elapsed_s < NUMBERS.gather_timeout_s, "it was asked in vain, so nobody waits for its contribution"


def test_lost_peer_is_not_waited_for_in_the_next_state() -> None:
    group = Group(4)
    group.place()
    group.pump.kill(group.others()[0])
    lost = group.others()[0]
    group.run(0.1)
    rest = group.others(lost)
    for peer in rest:  # while the optimiser steps
        group.pump.say(peer, group.machines[peer].stand(None, (), now=group.pump.now))
    group.epoch = next(epoch for epoch in range(2, 99) if group.leader(epoch=epoch) != lost)
    group.place(*rest)
    group.look(*rest)
    group.pump.run()
    group.one_plan(rest)
    assert group.elapsed_s < 1.0


@pytest.mark.parametrize("seed", range(5))
def test_death_of_leader_at_any_message_splits_no_group(seed: int) -> None:
    for at in range(16):
        group = Group(4, seed=seed)
        group.place()
        leader = group.leader()

        def before(pump: Pump, peer: PeerId, event: Any, *, at: int = at, leader: PeerId = leader) -> None:
            if pump.delivered >= at and leader not in pump.dead:
                pump.kill(leader)

        group.pump.before = before
        group.look()
        group.run(12.0)
        rest = group.others(leader)
        assert any(group.plans(peer) for peer in rest), at
        able = set()
        for plan in {plan.round: plan for peer in rest for plan in group.plans(peer)}.values():
            there = frozenset(i for i, p in enumerate(plan.peers) if p in rest and plan in group.plans(p))
            able |= {plan.round} if quorum(ShareMap(plan), there) else set()
        assert len(able) <= 1, "nobody trains beside the others"


def test_member_without_contribution_is_left_out() -> None:
    group = Group(4)
    group.place()
    mute = group.others()[0]
    group.mute.add(mute)
    group.look(group.leader())
    group.pump.run()
    group.one_plan(group.others(mute))
    assert len(group.events(mute, GroupFailed)) == 1


def test_peers_at_other_states_hear_of_each_other() -> None:
    group = Group(4)
    group.epoch = 2
    behind = group.others()[0]
    group.place(*group.others(behind))
    group.place(behind, epoch=1)
    group.look(group.leader())
    group.pump.run()
    group.one_plan(group.others(behind))
    assert Elsewhere(group.leader(), 2, LINEAGE) in group.pump.events[behind]
    assert Elsewhere(behind, 1, LINEAGE) in group.pump.events[group.leader()]


def test_two_leaders_share_no_member() -> None:
    for seed in range(30):
        group = Group(5, seed=seed, delay_s=(0.001, 0.3))
        group.place()
        first, second, asker, *_ = group.random.sample(group.peers, 5)
        for peer in (first, second):  # both are asked to lead, by peers with different lists
            group.tell(peer, asker, Wanted(1, LINEAGE, 0))
        group.pump.run()
        plans = {plan.round: plan for peer in group.peers for plan in group.plans(peer)}
        assert plans, seed
        assert len(plans) == 1 or not set.intersection(*(set(plan.peers) for plan in plans.values())), seed


def test_too_few_samples_cancel_the_round_for_all() -> None:
    group = Group(3, target_samples=31)
    group.place()
    group.tell(group.leader(), group.others()[0], Wanted(1, LINEAGE, 0))
    group.pump.run()
    assert not any(group.plans(peer) for peer in group.peers)
    assert all(group.events(peer, GroupFailed) for peer in group.peers)


def test_too_few_samples_end_the_search_and_are_told() -> None:
    group = Group(4, target_samples=41)
    group.place()
    silent = group.others()[0]
    group.mute.add(silent)
    group.look(group.leader())
    group.pump.run()
    for peer in group.others(silent):
        assert [failed.samples for failed in group.events(peer, GroupFailed)] == [30]
        assert group.events(peer, Silent) == [Silent((silent,))]
        assert group.machines[peer].deadline is None


def test_search_ends_when_target_is_lost() -> None:
    group = Group(3)
    peer = group.others()[0]
    group.look(peer)
    assert group.machines[peer].deadline is not None
    group.place(peer)
    assert group.machines[peer].deadline is None


def test_search_after_a_failed_round_forms_a_new_one() -> None:
    group = Group(3)
    group.place()
    for _ in range(2):
        group.look()
        group.pump.run()
    assert {len(group.plans(peer)) for peer in group.peers} == {2}
    assert len({plan.round for peer in group.peers for plan in group.plans(peer)}) == 2


def test_no_small_round_starts_beside_a_big_one() -> None:
    group = Group(4)
    group.place()
    group.look(group.leader())
    late = group.others()[0]
    group.pump.frozen.add(late)
    group.pump.run()
    group.pump.frozen.discard(late)
    group.look(late)
    group.run()
    assert not group.plans(late)


def test_peer_that_stands_nowhere_is_away() -> None:
    group = Group(3)
    away = group.others()[0]
    group.place(*group.others(away))
    group.look(group.leader())
    group.pump.run()
    group.one_plan(group.others(away))
    group.place(away)
    group.pump.say(away, group.machines[away].stand(None, (), now=group.pump.now))
    [declined] = messages(group.tell(away, group.leader(), Call(1, LINEAGE, 3, 0)), Declined)
    assert declined.reason == "away"
    assert group.machines[away].deadline is None


def test_new_state_ends_the_search_in_the_old_one() -> None:
    group = Group(2)
    group.place()
    [me] = group.others()
    group.mute.add(me)
    group.tell(me, group.leader(), Call(1, LINEAGE, 0, 7))
    outputs = group.machines[me].stand((2, LINEAGE), group.peers, now=group.pump.now)
    assert [type(o.message if isinstance(o, Send) else o) for o in outputs] == [Declined, GroupFailed]
    assert group.machines[me].deadline is None


def test_late_plan_of_a_left_round_is_answered_once() -> None:
    group = Group(3)
    group.place()
    a, b = group.others()
    call = Call(1, LINEAGE, 0, 1)
    group.tell(a, b, call)
    assert recipients(group.tell(a, group.leader(), Call(1, LINEAGE, 0, 2)), Declined) == {b}
    plan = msgspec.structs.replace(make_plan([1, 1, 1], 1000), round=round_of(b, call))
    assert recipients(group.tell(a, b, plan), Leaving) == set(plan.peers) - {a}
    assert group.tell(a, b, plan) == []


def test_leader_that_calls_anew_is_followed_once_it_has_cancelled() -> None:
    group = Group(2)
    group.place()
    [me], leader = group.others(), group.leader()
    first, second = Call(1, LINEAGE, 0, 1), Call(1, LINEAGE, 1, 2)
    assert ContributionWanted(round_of(leader, first)) in group.tell(me, leader, first)
    assert group.tell(me, leader, first) == [], "the same one again"
    assert recipients(group.tell(me, leader, second), Declined) == {leader}
    group.tell(me, leader, Cancelled(round_of(leader, first)))
    group.pump.now += 2 * EXCLUDED_S
    assert ContributionWanted(round_of(leader, second)) in group.tell(me, leader, second)


def test_misuse_is_marked_and_ours_raises() -> None:
    group = Group(2)
    group.place()
    me, other = group.peers
    machine = group.machines[me]
    group.tell(me, other, Declined(1, LINEAGE, 0, "busy"))
    group.tell(me, me, Cancelled(bytes(32)))
    assert group.traces[me]["group.drop.self"] == 1
    assert recipients(group.tell(me, other, Ready(bytes(32), Member(other, 1, 0.0))), Cancelled) == {other}
    assert group.traces[me]["group.drop.answer"] == 2
    assert machine.handle(Lost(other, "x"), 1000.0) == []
    assert machine.handle(Tick(), 1000.0) == []
    for samples, loss in ((1, float("nan")), (-1, 0.0)):
        with pytest.raises(ValueError, match="loss"):
            machine.offer(bytes(32), Member(me, samples, loss), 1000.0)
    assert machine.offer(bytes(32), Member(me, 1, 0.0), 1000.0) == []


def test_stranger_has_nobody_called_and_counts_nothing() -> None:
    group = Group(3)
    group.place()
    leader = group.leader()
    for number in range(1, 20):
        said = group.tell(leader, STRANGER, Wanted(1, LINEAGE, number))
        assert said == [Send(STRANGER, Declined(1, LINEAGE, number, "busy")), Elsewhere(STRANGER, 1, LINEAGE)]
    assert group.traces[leader]["group.drop.wanted"] == 19
    assert group.events(leader, Elsewhere)
    said = group.tell(leader, STRANGER, Call(1, LINEAGE, 7, 1))
    assert isinstance(said[-1], ContributionWanted), "it may lead: perhaps its report is still on its way"


def test_stranger_that_asks_is_called_and_not_awaited() -> None:
    group = Group(3)
    group.place()
    group.look(group.leader())
    assert recipients(group.tell(group.leader(), STRANGER, Wanted(1, LINEAGE, 0)), Call) == {STRANGER}
    assert group.tell(group.leader(), STRANGER, Wanted(1, LINEAGE, 0)) == []
    group.pump.run()
    group.one_plan(group.peers)
    assert group.elapsed_s < 1.0


def test_stranger_that_is_ready_in_time_takes_part() -> None:
    group = Group(3)
    group.place()
    leader = group.leader()
    group.look(leader)
    [call] = messages(group.tell(leader, STRANGER, Wanted(1, LINEAGE, 0)), Call)
    group.tell(leader, STRANGER, Ready(round_of(leader, call), Member(STRANGER, 5, 1.0)))
    group.pump.run()
    assert STRANGER in group.plans(leader)[0].peers


def test_candidate_that_was_busy_may_come_after_all() -> None:
    group = Group(3)
    group.place()
    leader = group.leader()
    busy = group.others()[0]
    group.pump.frozen.add(busy)
    group.look(leader)
    group.tell(leader, busy, Declined(1, LINEAGE, 0, "busy"))
    assert recipients(group.tell(leader, busy, Wanted(1, LINEAGE, 0)), Call) == {busy}


@pytest.mark.parametrize(("rate", "stages"), [(0.0, 1), (0.2, 2)])
def test_leader_makes_a_grid_when_peers_fail_often(rate: float, stages: int) -> None:
    failures = FailureRate()
    failures.value = rate
    group = Group(12, failures=failures)
    group.place()
    group.look()
    group.pump.run()
    assert group.one_plan(group.peers).stages == stages, "and all accept it"


def test_group_forms_when_everything_is_said_twice() -> None:
    group = Group(5, duplicate=1.0)
    group.place()
    group.look()
    group.pump.run()
    group.one_plan(group.peers)
    assert all(len(group.events(peer, GroupFormed)) == 1 for peer in group.peers)
