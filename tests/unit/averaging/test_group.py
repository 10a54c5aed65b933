"""Matchmakers that find each other."""

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest

from core.averaging.bandwidth.book import LineBook
from core.averaging.commit.leadership import quorum
from core.averaging.matchmaking import ContributionWanted, Elsewhere, GroupFailed, GroupFormed, Silent
from core.averaging.matchmaking.attempts import attempt_key, by_distance
from core.averaging.matchmaking.matchmaker import Matchmaker
from core.averaging.messages import Call, Cancelled, Declined, Leaving, Ready, Wanted
from core.averaging.plan import GROUP_MESSAGES, Plan
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick
from core.base.manifest import AveragingNumbers
from core.base.trace import Trace
from tests.unit.averaging.pump import Pump, make_plan, peer_ids

RUN = b"r" * 32
LINEAGE = b"l" * 32
NUMBERS = AveragingNumbers(chunk_numel=256, gather_timeout_s=3.0)


class Group:
    """Matchmakers whose owners offer what they have as soon as they are asked."""

    def __init__(
        self,
        count: int,
        *,
        seed: int = 0,
        minimum_samples: int = 0,
        book: Callable[[PeerId], LineBook | None] = lambda peer: None,
        **pump: Any,
    ) -> None:
        self.peers = peer_ids(count)
        self.random = Random(seed)
        self.traces = {p: Trace() for p in self.peers}
        self.machines = {
            p: Matchmaker(
                p,
                run_id=RUN,
                numel=10_000,
                numbers=NUMBERS,
                random=Random(seed + i),
                trace=self.traces[p],
                minimum_samples=minimum_samples,
                book=book(p),
            )
            for i, p in enumerate(self.peers)
        }
        self.mute: set[PeerId] = set()
        self.clients: set[PeerId] = set()
        self.pump = Pump(self.machines, self.random, on_event=self.on_event, speaks=GROUP_MESSAGES, **pump)

    def on_event(self, pump: Pump, peer: PeerId, event: Any) -> list[Any]:
        if isinstance(event, ContributionWanted) and peer not in self.mute:
            return self.machines[peer].offer(event.round, 10, 1.5, now=pump.now, reduces=peer not in self.clients)
        return []

    def place(self, *, epoch: int = 1, lineage: bytes = LINEAGE, only: list[PeerId] | None = None) -> None:
        for peer in only if only is not None else self.peers:
            self.pump.say(peer, self.machines[peer].position(epoch, lineage, self.peers))

    def look(self, *peers: PeerId, epoch: int = 1) -> None:
        for peer in peers:
            outputs = self.machines[peer].look(epoch, LINEAGE, self.peers, now=self.pump.now)
            self.pump.say(peer, outputs)

    def plans(self) -> dict[PeerId, list[Plan]]:
        return {p: [e.plan for e in es if isinstance(e, GroupFormed)] for p, es in self.pump.events.items()}

    def leader(self, attempt: int = 0, epoch: int = 1) -> PeerId:
        return by_distance(self.peers, attempt_key(RUN, LINEAGE, epoch, attempt))[0]


def one_plan(group: Group, members: set[PeerId]) -> Plan:
    plans = group.plans()
    found = {plan.round for peer in members for plan in plans[peer]}
    assert len(found) == 1
    assert all(len(plans[peer]) == 1 for peer in members)
    plan = plans[next(iter(members))][0]
    assert set(plan.peers) == members
    return plan


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("lookers", ["one", "all", "leader"])
def test_everybody_ready_forms_one_group(count: int, lookers: str) -> None:
    group = Group(count, duplicate=0.2)
    group.place()
    chosen = {"one": [p for p in group.peers if p != group.leader()][:1] or group.peers, "all": group.peers}
    group.look(*chosen.get(lookers, [group.leader()]))
    group.pump.run()
    plan = one_plan(group, set(group.peers))
    assert plan.peers[plan.leaders[0]] == group.leader()
    assert group.pump.now - 1000 < 4 * 0.02 + 0.001, "two round trips"
    assert {m.samples for m in plan.members} == {10}


@pytest.mark.parametrize("place", [0, 1])
def test_whoever_is_reached_through_relays_only_gets_no_share(place: int) -> None:
    group = Group(3)
    client = sorted(group.peers, key=lambda peer: peer != group.leader())[place]
    group.clients = {client}
    group.place()
    group.look(*group.peers)
    group.pump.run()
    plan = one_plan(group, set(group.peers))
    assert {peer: bool(chunks) for peer, chunks in zip(plan.peers, plan.chunks, strict=True)} == {
        peer: peer != client for peer in group.peers
    }


def test_where_nobody_can_reduce_everybody_does() -> None:
    group = Group(3)
    group.clients = set(group.peers)
    group.place()
    group.look(*group.peers)
    group.pump.run()
    assert all(one_plan(group, set(group.peers)).chunks)


def test_a_silent_leader_is_passed_over() -> None:
    group = Group(4)
    group.place()
    group.pump.frozen.add(group.leader())
    rest = [p for p in group.peers if p != group.leader()]
    group.look(*rest)
    group.pump.run()
    one_plan(group, set(rest))
    assert group.pump.now - 1000 < 3 * NUMBERS.gather_timeout_s


def test_a_lost_leader_is_passed_over_at_once() -> None:
    group = Group(4)
    group.place()
    rest = [p for p in group.peers if p != group.leader()]
    group.look(*rest)
    group.pump.kill(group.leader())
    group.pump.run()
    one_plan(group, set(rest))
    assert group.pump.now - 1000 < 1.0


@pytest.mark.parametrize("seed", range(5))
def test_leader_dies_at_every_message(seed: int) -> None:
    for at in range(16):
        group = Group(4, seed=seed)
        group.place()
        leader = group.leader()

        def before(pump: Pump, peer: PeerId, event: Any, *, at: int = at, leader: PeerId = leader) -> None:
            if pump.delivered >= at and leader not in pump.dead:
                pump.kill(leader)

        group.pump.before = before
        group.look(*group.peers)
        group.pump.run(until=1012.0)
        rest = set(group.peers) - {leader}
        plans = group.plans()
        formed = {p for p in rest if plans[p]}
        assert formed, at
        able = set()
        for plan in {plan.round: plan for p in rest for plan in plans[p]}.values():
            there = sum(1 << i for i, p in enumerate(plan.peers) if p in rest and plan in plans[p])
            able |= {plan.round} if quorum(plan, there) else set()
        assert len(able) <= 1, "nobody trains beside the others"


def test_a_member_without_contribution_is_not_waited_for_for_ever() -> None:
    group = Group(4)
    group.place()
    mute = next(p for p in group.peers if p != group.leader())
    group.mute.add(mute)
    group.look(group.leader())
    group.pump.run()
    one_plan(group, set(group.peers) - {mute})
    failed = [e for e in group.pump.events[mute] if isinstance(e, GroupFailed)]
    assert len(failed) == 1


def test_other_states_are_told_apart() -> None:
    group = Group(4)
    behind = next(p for p in group.peers if p != group.leader(epoch=2))
    group.place(epoch=2, only=[p for p in group.peers if p != behind])
    group.place(epoch=1, only=[behind])
    group.look(group.leader(epoch=2), epoch=2)
    group.pump.run()
    one_plan(group, set(group.peers) - {behind})
    assert Elsewhere(group.leader(epoch=2), 2, LINEAGE) in group.pump.events[behind]
    assert Elsewhere(behind, 1, LINEAGE) in group.pump.events[group.leader(epoch=2)]


def test_two_leaders_become_one_round() -> None:
    for seed in range(30):
        group = Group(5, seed=seed, delay_s=(0.001, 0.3))
        group.place()
        first, second = group.random.sample(group.peers, 2)
        for peer in (first, second):  # both are asked to lead, by peers with different lists
            asker = next(p for p in group.peers if p not in (first, second))
            group.pump.say(peer, group.machines[peer].handle(Received(asker, Wanted(1, LINEAGE, 0)), group.pump.now))
        group.pump.run()
        rounds = {plan.round for plans in group.plans().values() for plan in plans}
        members = [plan.peers for plans in group.plans().values() for plan in plans]
        assert rounds, seed
        assert len(rounds) == 1 or not set.intersection(*(set(m) for m in {tuple(m) for m in members})), seed


def test_too_few_samples_cancel_the_round() -> None:
    group = Group(3, minimum_samples=31)
    group.place()
    group.pump.say(
        group.leader(),
        group.machines[group.leader()].handle(
            Received(next(p for p in group.peers if p != group.leader()), Wanted(1, LINEAGE, 0)), 1000.0
        ),
    )
    group.pump.run()
    assert not any(group.plans().values())
    assert all(any(isinstance(e, GroupFailed) for e in es) for es in group.pump.events.values())


def test_too_few_samples_end_the_search_and_everybody_learns_how_many_there_were() -> None:
    group = Group(4, minimum_samples=41)
    group.place()
    silent = next(peer for peer in group.peers if peer != group.leader())
    group.mute.add(silent)
    group.look(group.leader())
    group.pump.run()
    for peer in group.peers:
        failed = [event for event in group.pump.events[peer] if isinstance(event, GroupFailed)]
        lost = [event for event in group.pump.events[peer] if isinstance(event, Silent)]
        if peer == silent:
            continue
        assert [event.samples for event in failed] == [30]
        assert lost == [Silent((silent,))]
        assert group.machines[peer].deadline is None


def test_who_finds_the_target_out_of_reach_after_all_asks_no_more() -> None:
    group = Group(3)
    peer = next(peer for peer in group.peers if peer != group.leader())
    machine = group.machines[peer]
    assert [type(output) for output in machine.look(1, LINEAGE, group.peers, now=1000.0)] == [Send]
    assert machine.deadline is not None
    assert machine.position(1, LINEAGE, group.peers) == []
    assert machine.deadline is None


def test_looking_again_after_a_failed_round_makes_a_new_one() -> None:
    group = Group(3)
    group.place()
    group.look(*group.peers)
    group.pump.run()
    group.look(*group.peers)
    group.pump.run()
    plans = group.plans()
    assert all(len(found) == 2 for found in plans.values())
    assert len({plan.round for found in plans.values() for plan in found}) == 2


def test_nobody_starts_a_small_round_beside_a_big_one() -> None:
    group = Group(4)
    group.place()
    group.look(group.leader())
    late = next(p for p in group.peers if p != group.leader())
    group.pump.frozen.add(late)
    group.pump.run()
    group.pump.frozen.discard(late)
    group.look(late)
    group.pump.run(until=group.pump.now + 60)
    assert not group.plans()[late]


def test_stopped_and_unplaced_peers_are_away() -> None:
    group = Group(3)
    other = next(p for p in group.peers if p != group.leader())
    group.place(only=[p for p in group.peers if p != other])
    group.look(group.leader())
    group.pump.run()
    one_plan(group, set(group.peers) - {other})
    machine = group.machines[other]
    group.pump.say(other, machine.position(1, LINEAGE, group.peers))
    group.pump.say(other, machine.stop())
    replies = machine.handle(Received(group.leader(), Call(1, LINEAGE, 3, 0)), group.pump.now)
    assert [send.message.reason for send in replies] == ["away"]
    assert machine.deadline is None


def test_a_new_state_ends_the_old_search() -> None:
    group = Group(2)
    group.place()
    me = next(p for p in group.peers if p != group.leader())
    group.mute.add(me)
    machine = group.machines[me]
    machine.handle(Received(group.leader(), Call(1, LINEAGE, 0, 7)), 1000.0)
    outputs = machine.position(2, LINEAGE, group.peers)
    assert [type(o.message if isinstance(o, Send) else o) for o in outputs] == [Declined, GroupFailed]
    assert machine.deadline is None


def test_a_plan_of_a_round_that_was_left_is_answered_with_leaving() -> None:
    group = Group(3)
    group.place()
    a, b = [p for p in group.peers if p != group.leader()]
    machine = group.machines[a]
    worse, better = (b, group.leader())
    outputs = machine.handle(Received(worse, Call(1, LINEAGE, 0, 1)), 1000.0)
    left = next(o.round for o in outputs if isinstance(o, ContributionWanted))
    outputs = machine.handle(Received(better, Call(1, LINEAGE, 0, 2)), 1000.0)
    assert any(isinstance(o, Send) and isinstance(o.message, Declined) and o.to == worse for o in outputs)
    plan = msgspec.structs.replace(make_plan([1, 1, 1], 1000), round=left)
    outputs = machine.handle(Received(worse, plan), 1001.0)
    assert {o.to for o in outputs if isinstance(o.message, Leaving)} == set(plan.peers) - {a}
    assert machine.handle(Received(worse, plan), 1001.0) == []


def test_a_leader_that_begins_anew_is_followed() -> None:
    group = Group(2)
    group.place()
    me = next(p for p in group.peers if p != group.leader())
    rounds = [
        output.round
        for nonce in (1, 1, 2)
        for output in group.machines[me].handle(Received(group.leader(), Call(1, LINEAGE, 0, nonce)), 1000.0)
        if isinstance(output, ContributionWanted)
    ]
    assert len(set(rounds)) == len(rounds) == 2


def test_misuse_is_marked_and_ours_raises() -> None:
    group = Group(2)
    group.place()
    me, other = group.peers
    machine = group.machines[me]
    trace = group.traces[me]
    machine.handle(Received(other, Declined(1, LINEAGE, 0, "busy")), 1000.0)
    machine.handle(Received(me, Cancelled(bytes(32))), 1000.0)
    assert trace["group.drop.declined"] == 1
    assert trace["group.drop.self"] == 1
    replies = machine.handle(Received(other, Ready(bytes(32), 1, 0.0)), 1000.0)
    assert [type(send.message) for send in replies] == [Cancelled]
    assert machine.handle(Lost(other, "x"), 1000.0) == []
    assert machine.handle(Tick(), 1000.0) == []
    with pytest.raises(ValueError, match="loss"):
        machine.offer(bytes(32), 1, float("nan"), now=1000.0)
    assert machine.offer(bytes(32), 1, 0.0, now=1000.0) == []


STRANGER = PeerId(b"\xee" * 32)


def test_whoever_is_no_candidate_has_nobody_called_and_no_attempt_counted() -> None:
    group = Group(3)
    group.place()
    machine = group.machines[group.leader()]
    for number in range(1, 20):
        said = machine.handle(Received(STRANGER, Wanted(1, LINEAGE, number)), 1000.0)
        assert said == [Send(STRANGER, Declined(1, LINEAGE, number, "busy")), Elsewhere(STRANGER, 1, LINEAGE)]
    assert group.traces[group.leader()]["group.drop.wanted"] == 19
    assert machine._quest.election.attempt == 0
    [*_, wanted] = machine.handle(Received(STRANGER, Call(1, LINEAGE, 7, 1)), 1000.0)
    assert isinstance(wanted, ContributionWanted), "it may lead: perhaps its report is still on its way"
    assert machine._quest.election.attempt == 0


def test_whoever_is_no_candidate_may_come_to_a_call_and_is_not_waited_for() -> None:
    group = Group(3)
    group.place()
    leader = group.leader()
    group.look(leader)
    said = group.machines[leader].handle(Received(STRANGER, Wanted(1, LINEAGE, 0)), group.pump.now)
    assert [(send.to, type(send.message)) for send in said if isinstance(send, Send)] == [(STRANGER, Call)]
    assert group.machines[leader].handle(Received(STRANGER, Wanted(1, LINEAGE, 0)), group.pump.now) == []
    group.pump.run()
    assert set(one_plan(group, set(group.peers)).peers) == set(group.peers)
    assert group.pump.now - 1000 < 1.0

    group = Group(3)
    group.place()
    group.look(leader)
    machine = group.machines[leader]
    machine.handle(Received(STRANGER, Wanted(1, LINEAGE, 0)), group.pump.now)
    gathering = machine._quest.caller.gathering
    assert gathering is not None
    machine.handle(Received(STRANGER, Ready(gathering.round, 5, 1.0)), group.pump.now)
    group.pump.run()
    assert STRANGER in group.plans()[leader][0].peers, "if it answers in time"


def test_a_stranger_that_asks_for_calls_and_declines_them_stops_no_round() -> None:
    group = Group(3)
    group.place()
    leader = group.leader()
    group.look(leader)
    machine = group.machines[leader]
    calls = 0
    for _ in range(20):
        said = machine.handle(Received(STRANGER, Wanted(1, LINEAGE, 0)), group.pump.now)
        calls += sum(isinstance(send, Send) and isinstance(send.message, Call) for send in said)
        machine.handle(Received(STRANGER, Declined(1, LINEAGE, 0, "busy")), group.pump.now)
    assert calls == 1
    group.pump.run()
    assert set(one_plan(group, set(group.peers)).peers) == set(group.peers)
