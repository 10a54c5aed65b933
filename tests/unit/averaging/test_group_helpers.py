"""Helpers are called beside the peers that train, and nobody waits long for them."""

from typing import Any

from core.averaging.matchmaking import (
    HELPERS_MAX,
    HELPERS_S,
    Call,
    ContributionWanted,
    Declined,
    GroupFormed,
    Ready,
    Wanted,
)
from core.averaging.plan import Plan
from core.base.machine import Send
from tests.unit.averaging.matchmakers import LINEAGE, NUMEL, Group, round_of

ONE_WAY_S = 0.02


class HelpedGroup(Group):
    """The last peers only help; everybody looks."""

    def gather(self) -> Plan:
        """The plan of the round, and how long it took until its leader had it."""
        self.place()
        self.planned_s = 0.0
        twist = self.pump.on_event

        def noted(pump: Any, peer: Any, event: Any) -> list[Any]:
            if isinstance(event, GroupFormed) and peer == event.plan.leader:
                self.planned_s = pump.now - began
            assert twist is not None
            return twist(pump, peer, event)

        began = self.pump.now
        self.pump.on_event = noted
        self.look()
        self.run(20)
        self.pump.on_event = twist
        plans = {peer: self.plans(peer)[-1] for peer in self.machines if self.plans(peer)}
        [plan] = {plan.round: plan for plan in plans.values()}.values()
        assert set(plans) == set(plan.peers)
        return plan


def test_helpers_reduce_and_bring_no_samples() -> None:
    group = HelpedGroup(3, helpers=2)
    plan = group.gather()
    assert set(plan.peers) == {*group.peers, *group.helpers}
    rows = dict(zip(plan.peers, zip(plan.members, plan.chunks, strict=True), strict=True))
    for peer in group.helpers:
        member, chunks = rows[peer]
        assert (member.samples, member.receives, member.reduces) == (0, False, True)
        assert chunks
    assert plan.leader in group.peers
    assert group.planned_s < 3 * ONE_WAY_S


def test_silent_helper_costs_a_moment_once() -> None:
    group = HelpedGroup(3, helpers=2)
    group.mute = {group.helpers[0]}
    plan = group.gather()
    assert set(plan.peers) == {*group.peers, group.helpers[1]}
    assert HELPERS_S <= group.planned_s <= HELPERS_S + 2 * ONE_WAY_S + 0.001
    leader = plan.leader
    group.epoch = next(epoch for epoch in range(2, 99) if group.leader(epoch=epoch) == leader)
    plan = group.gather()
    assert plan.leader == leader
    assert group.planned_s < HELPERS_S, "it has not been heard since"


def test_helper_that_is_gone_costs_nothing() -> None:
    group = HelpedGroup(2, helpers=1)
    group.place()
    group.pump.kill(group.helpers[0])
    assert set(group.gather().peers) == set(group.peers)
    assert group.planned_s < HELPERS_S


def test_helper_follows_no_call_for_a_longer_vector() -> None:
    group = HelpedGroup(2, helpers=1, numel_max=NUMEL - 1)
    plan = group.gather()
    assert set(plan.peers) == set(group.peers)
    assert group.planned_s < HELPERS_S


def test_helper_never_leads_nor_follows_calls_without_size() -> None:
    group = Group(1, helpers=1)
    group.place()
    [helper], [other] = group.helpers, group.peers
    for message in (Wanted(1, LINEAGE, 0), Call(1, LINEAGE, 0, 5)):
        assert group.tell(helper, other, message) == [Send(other, Declined(1, LINEAGE, 0, "away"))]
    group.place(helper, full=True)
    assert group.machines[helper].deadline is None


def test_helper_refuses_a_plan_of_another_size() -> None:
    group = HelpedGroup(1, helpers=1)
    plan = group.gather()
    [helper], [leader] = group.helpers, group.peers
    group.epoch = 2
    group.place(helper)
    call = Call(2, LINEAGE, 0, 5, 512)
    assert ContributionWanted(round_of(leader, call)) in group.tell(helper, leader, call)
    before = len(group.plans(helper))
    group.tell(helper, leader, plan)
    assert len(group.plans(helper)) == before


def test_busy_helpers_do_not_make_a_leader_give_up() -> None:
    group = HelpedGroup(1, helpers=3)
    for helper in group.helpers:
        group.twists[helper] = lambda output: (
            [Send(output.to, Declined(1, LINEAGE, 0, "busy"))]
            if isinstance(output, Send) and isinstance(output.message, Ready)
            else [output]
        )
    group.place()
    group.look()
    group.run(20)
    group.one_plan(group.peers)


def test_leader_calls_a_bounded_number_of_helpers() -> None:
    group = HelpedGroup(2, helpers=HELPERS_MAX + 4)
    assert len(group.gather().peers) == 2 + HELPERS_MAX
