"""Rounds that fail: whoever made them fail is not followed for long, and nobody stands still because of that."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from core.averaging.matchmaking import ContributionWanted, GroupFailed, GroupFormed
from core.averaging.matchmaking.attempts import PLAIN_AFTER
from core.averaging.messages import ATTEMPT_MAX, Call, Cancelled, Declined, Leaving, Refused, Wanted
from core.averaging.outcome import Outcome
from core.averaging.penalties.ledger import leader_of
from core.averaging.plan import Plan
from core.base.ids import Key, PeerId, node_key
from core.base.machine import Received, Send, Tick
from core.base.problems import RemoteProblem
from tests.unit.averaging.pump import make_plan
from tests.unit.averaging.test_group import LINEAGE, NUMBERS, Group, one_plan
from tests.unit.averaging.test_refusals import knowing

ROUND_S = NUMBERS.round_timeout_s
GOOD_S = 5.0
"""A round that holds takes so long."""


def held(plan: Plan) -> Outcome:
    return Outcome(
        round=plan.round,
        versions=(0,) * len(plan.members),
        makers=tuple(range(len(plan.members))),
        contributors=(),
        present=(),
        missing=(),
        chunk_total=plan.chunk_total,
        samples=10,
        loss=0.0,
        left_out=(),
        seconds=GOOD_S,
        payload_bytes=0,
    )


class Rounds:
    """Each round that forms ends: with a mean, or after its whole time without one, as `suspects` says."""

    def __init__(self, group: Group, suspects: Any) -> None:
        self.group = group
        self.suspects = suspects
        """A function of a plan and a member: whom that member names; None: the round holds."""
        self.epoch = 1
        self.led: list[PeerId] = []
        self.failed: list[PeerId] = []
        self.at: list[float] = []
        """When rounds that held were formed."""
        self._seen: dict[PeerId, int] = dict.fromkeys(group.peers, 0)

    def place(self) -> None:
        for peer in self.group.peers:
            machine = self.group.machines[peer]
            outputs = machine.look(self.epoch, LINEAGE, self.group.peers, now=self.group.pump.now)
            self.group.pump.say(peer, outputs)

    def run(self, seconds: float) -> None:
        pump = self.group.pump
        until = pump.now + seconds
        self.place()
        while pump.now < until:
            pump.run(until=pump.now + 1.0)
            pump.now += 0.1
            plans: dict[bytes, Plan] = {}
            for peer, found in self.group.plans().items():
                plans |= {plan.round: plan for plan in found[self._seen[peer] :]}
                self._seen[peer] = len(found)
            for plan in plans.values():
                self._end(plan)

    def _end(self, plan: Plan) -> None:
        pump = self.group.pump
        fails = self.suspects(plan, plan.peers[0]) is not None
        self.led.append(leader_of(plan))
        pump.now += ROUND_S if fails else GOOD_S
        if fails:
            self.failed.append(leader_of(plan))
        else:
            self.epoch += 1
            self.at.append(pump.now)
        for peer in plan.peers:
            machine = self.group.machines[peer]
            if fails:
                machine.failed(plan, self.suspects(plan, peer), pump.now)
            else:
                machine.committed(plan, held(plan), leader_of(plan), pump.now)
        pump.queue.clear()
        self.place()


def calls_all_the_time(group: Group, villain: PeerId) -> None:
    """This peer follows nobody and calls at every moment, for the first attempt; its plans are good."""
    machine = group.machines[villain]
    receive = machine.handle

    def handle(event: Any, now: float) -> Any:
        outputs: list[Any] = []
        if isinstance(event, Received) and isinstance(event.message, Call):
            outputs.append(Send(event.sender, Declined(event.message.epoch, LINEAGE, event.message.attempt, "busy")))
        else:
            outputs += receive(event, now)
        if not machine.occupied and machine._quest.state is not None:
            machine._quest.election.attempt = 0
            outputs += machine._quest.lead(now)
        return outputs

    machine.handle = handle  # type: ignore[method-assign]


@pytest.mark.parametrize("how", ["named", "not named", "eager and named", "eager"])
def test_a_leader_that_never_commits_is_soon_left_alone(how: str) -> None:
    group = Group(5, ordered=True)
    villain = group.leader()
    if "eager" in how:
        calls_all_the_time(group, villain)

    def suspects(plan: Plan, member: PeerId) -> Sequence[PeerId] | None:
        if leader_of(plan) != villain:
            return None
        return (villain,) if how.endswith("and named") or how == "named" else ()

    rounds = Rounds(group, suspects)
    rounds.run(3600.0)
    assert rounds.failed, "it was followed at first"
    assert len(rounds.failed) * ROUND_S < 0.12 * 3600.0
    assert len(rounds.at) > 250


def test_of_two_failed_rounds_one_after_the_other_none_has_the_same_leader() -> None:
    group = Group(5, ordered=True)
    rounds = Rounds(group, lambda plan, member: ())
    rounds.run(3 * ROUND_S)
    assert len(rounds.failed) >= 3
    assert all(a != b for a, b in zip(rounds.failed, rounds.failed[1:], strict=False))


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("role", ["both", "leader", "reducers"])
def test_who_blame_each_other_try_again_and_again(count: int, role: str) -> None:
    """Honest peers whose rounds fail, since the network is bad: when it is good again, so are they, within a bound."""
    group = Group(count, ordered=True)
    bad = True

    def suspects(plan: Plan, member: PeerId) -> Sequence[PeerId] | None:
        if not bad:
            return None
        others = [peer for peer in plan.peers if peer != member]
        return {"both": others, "leader": [leader_of(plan)], "reducers": others[-1:]}[role]

    rounds = Rounds(group, suspects)
    rounds.run(20 * ROUND_S)
    assert len(rounds.failed) >= 3, "they do not give up"
    bad = False
    since = group.pump.now
    rounds.run(3600.0)
    assert rounds.at[0] - since < 18 * ROUND_S
    gaps = [b - a for a, b in zip(rounds.at[5:], rounds.at[6:], strict=False)]
    assert len(gaps) > 300
    assert max(gaps) < 6 * GOOD_S
    last = group.plans()[group.peers[0]][-1]
    assert set(last.peers) == set(group.peers), "nobody is left out in the end"
    assert not any(member.spared for member in last.members)


def test_a_suspected_reducer_gets_no_share_and_succeeds_last() -> None:
    group = knowing(5, ordered=True)
    group.look(*group.peers)
    group.pump.run()
    first = one_plan(group, set(group.peers))
    leader = group.leader(attempt=1)
    suspects = [peer for peer in group.peers if peer not in {leader, leader_of(first)}][:2]
    for peer in group.peers:
        group.machines[peer].failed(first, [suspects[0]], group.pump.now)
        group.machines[peer]._config.reputation._leading.fail(suspects[1], group.pump.now, times=2)
    group.look(*group.peers)
    group.pump.run()
    plans = {peer: group.plans()[peer][-1] for peer in group.peers}
    [plan] = {plan.round: plan for plan in plans.values()}.values()
    assert set(plan.peers) == set(group.peers), "the suspected one and all others accept it"
    rows = dict(zip(plan.peers, zip(plan.members, plan.chunks, strict=True), strict=True))
    assert {peer for peer, (row, _) in rows.items() if row.spared} == {suspects[0]}
    assert rows[suspects[0]][1] == 0
    assert plan.peers[plan.leaders[-1]] == suspects[1]


def test_whoever_calls_for_an_attempt_that_is_over_wins_nothing_by_that() -> None:
    group = Group(4, ordered=True)
    group.place()
    me = group.machines[next(peer for peer in group.peers if peer != group.leader(attempt=5))]
    better, worse = (
        group.leader(attempt=5),
        max(
            (peer for peer in group.peers if peer not in {me._me, group.leader(attempt=5)}),
            key=lambda peer: me._quest._rank(5, peer),
        ),
    )
    me._quest.election.attempt = 5
    [_] = [o for o in me.handle(Received(better, Call(1, LINEAGE, 5, 1)), 1000.0) if isinstance(o, ContributionWanted)]
    [declined] = me.handle(Received(worse, Call(1, LINEAGE, 0, 1)), 1000.0)
    assert declined.message == Declined(1, LINEAGE, 0, "busy")


def test_attempts_that_others_count_change_nothing() -> None:
    group = knowing(4, ordered=True)
    stranger, (me, *_) = group.leader(), [peer for peer in group.peers if peer != group.leader()]
    machine = group.machines[me]
    group.pump.say(me, machine.handle(Received(stranger, Wanted(1, LINEAGE, ATTEMPT_MAX)), group.pump.now))
    group.pump.run()
    plan = group.plans()[me][-1]
    assert plan.lines, "as after few attempts"
    assert plan.attempt == 0
    assert leader_of(plan) == me


def test_after_setbacks_of_its_own_a_leader_makes_plain_plans() -> None:
    group = knowing(4, ordered=True)
    group.look(*group.peers)
    group.pump.run()
    for _ in range(PLAIN_AFTER):
        for peer in group.peers:
            plan = group.plans()[peer][-1]
            assert plan.lines
            group.machines[peer].failed(plan, (), group.pump.now)
        group.look(*group.peers)
        group.pump.run(until=group.pump.now + 60)
    assert not group.plans()[group.peers[0]][-1].lines


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_honest_peers_that_all_refuse_each_others_plans_end_with_a_plain_one(count: int, seed: int) -> None:
    group = knowing(count, seed=seed, ordered=True, minimum_samples=10 * count)

    def picky(me: PeerId) -> None:
        check = group.machines[me]._quest.follower.check

        def refuse(plan: Plan, state: Any) -> None:
            if plan.lines:
                raise RemoteProblem("others' lines are never as I know them")
            check(plan, state)

        group.machines[me]._quest.follower.check = refuse  # type: ignore[method-assign]

    for peer in group.peers:
        picky(peer)
    since = group.pump.now
    while group.pump.now - since < 120:
        group.look(*(peer for peer in group.peers if not group.machines[peer].occupied))
        group.pump.run(until=group.pump.now + 2.0)
        group.pump.now += 0.1
        last = {found[-1].round for found in group.plans().values() if found}
        if len(last) == 1 and all(group.machines[peer]._quest.formed for peer in group.peers):
            break
    else:
        raise AssertionError("they refuse each other for ever")
    plan = group.plans()[group.peers[0]][-1]
    assert set(plan.peers) == set(group.peers)
    assert not plan.lines
    assert group.pump.now - since < 30


def test_a_leader_whose_plan_others_refuse_before_it_comes_pays_nothing_for_that() -> None:
    group = knowing(4)
    leader, (a, b, c) = group.leader(), [peer for peer in group.peers if peer != group.leader()]
    machine = group.machines[a]
    now = 1000.0
    for nonce in range(6):
        outputs = machine.handle(Received(leader, Call(1, LINEAGE, 0, nonce)), now)
        assert any(isinstance(o, ContributionWanted) for o in outputs), "it is followed again and again"
        promise = machine._quest.follower.promise
        assert promise is not None
        for other in (b, c):
            machine.handle(Received(other, Refused(promise.round)), now)
        now += 1.0
        assert any(isinstance(o, GroupFailed) for o in machine.handle(Tick(), now))


def test_the_late_plan_of_a_round_that_was_left_reaches_nobody_who_is_not_here() -> None:
    group = Group(3)
    group.place()
    a, b = [p for p in group.peers if p != group.leader()]
    machine = group.machines[a]
    outputs = machine.handle(Received(b, Call(1, LINEAGE, 0, 1)), 1000.0)
    left = next(o.round for o in outputs if isinstance(o, ContributionWanted))
    machine.handle(Received(b, Cancelled(left)), 1000.0)
    plan = msgspec.structs.replace(make_plan([1] * 20, 1000), round=left)
    assert machine.handle(Received(group.leader(), plan), 1001.0) == [], "it is not its plan"
    outputs = machine.handle(Received(b, plan), 1001.0)
    assert outputs
    assert {o.to for o in outputs if isinstance(o.message, Leaving)} <= set(group.peers) - {a}
    assert not set(plan.peers) <= set(group.peers)


def test_a_plan_that_this_computer_can_do_nothing_with_is_refused_once_it_is_formed() -> None:
    group = Group(3, ordered=True)
    group.look(*group.peers)
    group.pump.run()
    plan = one_plan(group, set(group.peers))
    member = next(peer for peer in group.peers if peer != group.leader())
    told = group.machines[member].refuse(plan, group.pump.now)
    assert {o.to for o in told if isinstance(o, Send) and isinstance(o.message, Refused)} == set(group.peers) - {member}
    assert not group.machines[member]._quest.formed
    assert group.machines[member].refuse(plan, group.pump.now) == []
    leads = group.machines[group.leader()]
    outputs = leads.refuse(plan, group.pump.now)
    assert [type(o) for o in outputs if not isinstance(o, Send)] == [GroupFailed], "it does not call again at once"
    assert not any(isinstance(o, GroupFormed) for o in outputs)


def leader_key(search_me: PeerId) -> Key:
    """Where this peer is the nearest."""
    return Key(node_key(search_me))


def test_the_leader_of_a_failed_round_does_not_call_again_at_once_but_follows_a_call_and_answers_a_wish() -> None:
    group = Group(3)
    group.place()
    group.look(*group.peers)
    group.pump.run()
    plan = one_plan(group, set(group.peers))
    me = plan.peers[plan.leaders[0]]
    others = [peer for peer in plan.peers if peer != me]
    machine, now = group.machines[me], group.pump.now
    machine.failed(plan, others[:1], now)
    said = machine.look(1, LINEAGE, group.peers, now=now)
    assert [type(send.message) for send in said if isinstance(send, Send)] == [Wanted]
    assert said[0].to in others
    wish = Wanted(1, LINEAGE, machine._quest.election.attempt)
    answer = machine.handle(Received(others[1], wish), now)
    assert {type(send.message) for send in answer if isinstance(send, Send)} == {Call}
