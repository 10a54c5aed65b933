"""Helpers are called beside those who train, and nobody waits long for them."""

from random import Random
from typing import Any

from core.averaging.matchmaking import ContributionWanted, GroupFormed
from core.averaging.matchmaking.leader import HELPERS_MAX, HELPERS_S
from core.averaging.matchmaking.matchmaker import Matchmaker
from core.averaging.messages import Call, Declined, Ready, Wanted
from core.averaging.plan import Plan
from core.base.ids import PeerId
from core.base.machine import Received, Send
from core.base.trace import Trace
from tests.unit.averaging.pump import peer_ids
from tests.unit.averaging.test_group import LINEAGE, NUMBERS, RUN, Group

NUMEL = 10_000


def helper(me: PeerId, *, numel_max: int = NUMEL, seed: int = 0) -> Matchmaker:
    return Matchmaker(
        me, run_id=RUN, numel=None, numbers=NUMBERS, random=Random(seed), trace=Trace(), numel_max=numel_max
    )


class HelpedGroup(Group):
    """The last peers only help."""

    def __init__(self, count: int, helpers: int, *, numel_max: int = NUMEL, **kwargs: Any) -> None:
        super().__init__(count + helpers, **kwargs)
        self.helpers = self.peers[count:]
        self.peers = self.peers[:count]
        self.formed_at: dict[bytes, float] = {}
        """When each round's leader had its plan."""
        for number, peer in enumerate(self.helpers):
            self.machines[peer] = helper(peer, numel_max=numel_max, seed=number)

    def on_event(self, pump: Any, peer: PeerId, event: Any) -> list[Any]:
        if isinstance(event, GroupFormed):
            self.formed_at.setdefault(event.plan.round, pump.now)
        if peer not in self.helpers or not isinstance(event, ContributionWanted) or peer in self.mute:
            return super().on_event(pump, peer, event)
        return self.machines[peer].offer(event.round, 0, 0.0, now=pump.now, receives=False)

    def planned_after_s(self, plan: Plan) -> float:
        """Messages take 1 to 20 ms."""
        return self.formed_at[plan.round] - 1000.0

    def gather(self) -> Plan:
        for peer in self.peers:
            self.machines[peer].helpers = tuple(self.helpers)
        self.place()
        self.place(only=self.helpers)
        self.look(*self.peers)
        self.pump.run(until=self.pump.now + 20)
        plans = self.plans()
        rounds = {plan.round: plan for found in plans.values() for plan in found}
        assert len(rounds) == 1
        [plan] = rounds.values()
        assert {peer for peer, found in plans.items() if found} == set(plan.peers)
        return plan


def test_helpers_are_in_the_plan_with_a_share_and_without_samples() -> None:
    group = HelpedGroup(3, 2)
    plan = group.gather()
    assert set(plan.peers) == {*group.peers, *group.helpers}
    rows = dict(zip(plan.peers, zip(plan.members, plan.chunks, strict=True), strict=True))
    for peer in group.helpers:
        member, chunks = rows[peer]
        assert (member.samples, member.receives, member.reduces) == (0, False, True)
        assert chunks
    assert plan.peers[plan.leaders[0]] in group.peers
    assert group.planned_after_s(plan) < 3 * 0.02


def test_a_silent_helper_costs_a_moment_once() -> None:
    group = HelpedGroup(3, 2)
    group.mute = {group.helpers[0]}
    plan = group.gather()
    assert set(plan.peers) == {*group.peers, group.helpers[1]}
    assert group.planned_after_s(plan) <= HELPERS_S + 2 * 0.02 + 0.001
    leader = group.machines[plan.peers[plan.leaders[0]]]
    assert leader._quest.election.unavailable == {group.helpers[0]}
    leader.position(2, LINEAGE, group.peers)
    outputs = leader._quest.lead(5000.0)
    assert Call in {type(output.message) for output in outputs if isinstance(output, Send)}
    assert leader._quest.caller.gathering is not None
    assert leader._quest.caller.gathering.helpers == {group.helpers[1]}
    assert leader._quest.caller.gathering.hoped_for == {group.helpers[0]}


def test_a_helper_that_is_gone_costs_nothing() -> None:
    group = HelpedGroup(2, 1)
    for peer in group.peers:
        group.machines[peer].helpers = tuple(group.helpers)
    group.place()
    group.look(*group.peers)
    group.pump.kill(group.helpers[0])
    group.pump.run(until=group.pump.now + 20)
    assert {p for p, plans in group.plans().items() if plans} == set(group.peers)
    assert max(group.formed_at.values()) - 1000 < HELPERS_S


def test_a_vector_that_is_too_long_for_a_helper_is_averaged_without_it() -> None:
    group = HelpedGroup(2, 1, numel_max=NUMEL - 1)
    plan = group.gather()
    assert set(plan.peers) == set(group.peers)
    assert group.planned_after_s(plan) < HELPERS_S


def test_a_helper_never_leads_nor_follows_a_call_without_a_size() -> None:
    me, other = peer_ids(2)
    machine = helper(me)
    machine.position(1, LINEAGE, [other])
    for message in (Wanted(1, LINEAGE, 0), Call(1, LINEAGE, 0, 5)):
        [reply] = machine.handle(Received(other, message), 1000.0)
        assert reply == Send(other, Declined(1, LINEAGE, 0, "away"))
    assert machine.look(1, LINEAGE, [other], now=1000.0) == []
    assert machine.deadline is None


def test_a_plan_for_another_size_than_was_called_for_is_refused() -> None:
    me, other = peer_ids(2)
    machine = helper(me)
    machine.position(1, LINEAGE, [other])
    [wanted] = machine.handle(Received(other, Call(1, LINEAGE, 0, 5, 512)), 1000.0)
    assert isinstance(wanted, ContributionWanted)
    [ready] = machine.offer(wanted.round, 0, 0.0, now=1000.0, receives=False)
    assert ready.message == Ready(wanted.round, 0, 0.0, True, False)
    group = HelpedGroup(1, 1)
    plan = group.gather()
    outputs = machine.handle(Received(other, plan), 1000.0)
    assert not [output for output in outputs if isinstance(output, GroupFormed)]


def test_a_helper_that_brings_samples_is_none() -> None:
    group = HelpedGroup(2, 1)
    leader = group.machines[group.leader()]
    leader.helpers = tuple(group.helpers)
    group.place()
    leader.look(1, LINEAGE, group.peers, now=1000.0)
    assert leader._quest.caller.gathering is not None
    round_ = leader._quest.caller.gathering.round
    leader.handle(Received(group.helpers[0], Ready(round_, 10, 0.5, True, True)), 1000.0)
    assert group.helpers[0] not in leader._quest.caller.gathering.ready


def test_busy_helpers_do_not_make_a_leader_give_up() -> None:
    group = HelpedGroup(1, 3)
    for peer in group.helpers:
        group.machines[peer]._formed = True
        group.machines[peer].position = lambda *_: []  # type: ignore[method-assign]
        group.machines[peer]._state = (1, LINEAGE)
        group.machines[peer]._away = False
    plan = group.gather()
    assert set(plan.peers) == set(group.peers)


def test_only_so_many_helpers_are_called() -> None:
    group = HelpedGroup(2, HELPERS_MAX + 4)
    plan = group.gather()
    assert len(plan.peers) == 2 + HELPERS_MAX
