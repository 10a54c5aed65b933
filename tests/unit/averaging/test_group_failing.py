"""Rounds that fail: their leaders are not followed for long, and nobody stands still because of that."""

from collections.abc import Callable, Sequence
from random import Random

import msgspec
import pytest

from core.averaging.matchmaking import (
    CALL_PATIENCE,
    EXCLUDED_MAX_S,
    EXCLUDED_S,
    PLAIN_AFTER,
    Call,
    Cancelled,
    ContributionWanted,
    GroupFailed,
    PlanRefused,
    Refused,
    Wanted,
)
from core.averaging.matchmaking.attempts import LeaderElection, by_distance
from core.averaging.messages import ATTEMPT_MAX, Leaving
from core.averaging.plan import Plan
from core.base.ids import PeerId
from core.base.machine import Send, Tick
from tests.unit.averaging.matchmakers import (
    LINEAGE,
    NUMBERS,
    EagerLeader,
    Group,
    knowing,
    messages,
    recipients,
    round_of,
)
from tests.unit.averaging.pump import make_plan, peer_ids

ROUND_S = NUMBERS.round_timeout_s
GOOD_S = 5.0
"""A round that holds takes so long."""
GOOD_AGAIN_S = 1800.0
"""How long the network is watched once it is good again; rounds may go on failing for 18 of their timeouts."""
Suspects = Callable[[Plan, PeerId], Sequence[PeerId] | None]


class Rounds:
    """Each round that forms ends: with a mean, or after its whole time without one.

    Args:
        group: The peers.
        suspects: A function of a plan and a member: whom that member names; None: the round holds.
    """

    def __init__(self, group: Group, suspects: Suspects) -> None:
        self.group = group
        self.suspects = suspects
        self.failed: list[PeerId] = []
        """The leaders of rounds that failed."""
        self.at: list[float] = []
        """When rounds that held ended."""
        self._seen: dict[PeerId, int] = dict.fromkeys(group.peers, 0)

    def run(self, seconds: float) -> None:
        pump = self.group.pump
        until = pump.now + seconds
        self.group.look()
        while pump.now < until:
            pump.run(until=pump.now + 1.0)
            pump.now += 0.1
            plans: dict[bytes, Plan] = {}
            for peer in self.group.peers:
                plans |= {plan.round: plan for plan in self.group.plans(peer)[self._seen[peer] :]}
                self._seen[peer] = len(self.group.plans(peer))
            for plan in plans.values():
                self._end(plan)

    def _end(self, plan: Plan) -> None:
        pump, group = self.group.pump, self.group
        fails = self.suspects(plan, plan.peers[0]) is not None
        pump.now += ROUND_S if fails else GOOD_S
        if fails:
            self.failed.append(plan.leader)
        else:
            group.epoch += 1
            self.at.append(pump.now)
        for peer in plan.peers:
            if fails:
                group.held[peer].failed(plan, self.suspects(plan, peer) or (), pump.now)
                group.machines[peer].round.over(plan)
            else:
                group.held[peer].committed(plan, (0,) * len(plan.members), plan.leader, pump.now)
        pump.queue.clear()
        group.look()


@pytest.mark.parametrize(
    "how",
    ["named", "not named", *(pytest.param(each, marks=pytest.mark.long) for each in ("eager and named", "eager"))],
)
def test_leader_that_never_commits_is_soon_excluded(how: str) -> None:
    group = Group(5, ordered=True)
    villain = group.leader()
    if "eager" in how:
        group.machines[villain] = EagerLeader(group, villain)

    def suspects(plan: Plan, member: PeerId) -> Sequence[PeerId] | None:
        if plan.leader != villain:
            return None
        return (villain,) if how in {"named", "eager and named"} else ()

    rounds = Rounds(group, suspects)
    rounds.run(3600.0)
    assert rounds.failed, "it was followed at first"
    assert len(rounds.failed) * ROUND_S < 0.12 * 3600.0
    assert len(rounds.at) > 250


def test_rounds_that_fail_in_turn_have_other_leaders() -> None:
    group = Group(5, ordered=True)
    rounds = Rounds(group, lambda plan, member: ())
    rounds.run(3 * ROUND_S)
    assert len(rounds.failed) >= 3
    assert all(a != b for a, b in zip(rounds.failed, rounds.failed[1:], strict=False))


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("role", ["both", "leader", "reducers"])
def test_honest_peers_that_blame_each_other_recover(count: int, role: str) -> None:
    """Their rounds fail since the network is bad: when it is good again, so are they, within a bound."""
    group = Group(count, ordered=True)
    bad = True

    def suspects(plan: Plan, member: PeerId) -> Sequence[PeerId] | None:
        if not bad:
            return None
        others = [peer for peer in plan.peers if peer != member]
        return {"both": others, "leader": [plan.leader], "reducers": others[-1:]}[role]

    rounds = Rounds(group, suspects)
    rounds.run(20 * ROUND_S)
    assert len(rounds.failed) >= 3, "they do not give up"
    bad = False
    since = group.pump.now
    rounds.run(GOOD_AGAIN_S)
    assert rounds.at[0] - since < 18 * ROUND_S
    gaps = [b - a for a, b in zip(rounds.at[5:], rounds.at[6:], strict=False)]
    assert len(gaps) > GOOD_AGAIN_S / (2.4 * GOOD_S)
    assert max(gaps) < 6 * GOOD_S
    last = group.plans(group.peers[0])[-1]
    assert set(last.peers) == set(group.peers), "nobody is left out in the end"
    assert not any(member.spared for member in last.members)


def test_excluded_reducer_is_spared_and_excluded_leader_succeeds_last() -> None:
    group = knowing(5, ordered=True)
    group.look()
    group.pump.run()
    first = group.one_plan(group.peers)
    reducer, leader = [peer for peer in group.peers if peer not in {first.leader, group.leader(attempt=1)}][:2]
    led = msgspec.structs.replace(first, leaders=(first.peers.index(leader), *first.leaders))
    for peer in group.peers:
        group.held[peer].failed(first, [reducer], group.pump.now)
        group.held[peer].failed(led, [], group.pump.now)
        group.machines[peer].round.over(first)
    group.look()
    group.pump.run()
    [plan] = {plan.round: plan for plan in (group.plans(peer)[-1] for peer in group.peers)}.values()
    assert set(plan.peers) == set(group.peers), "the spared one and all others accept it"
    assert {peer for peer, row in zip(plan.peers, plan.members, strict=True) if row.spared} == {reducer}
    assert plan.chunks[plan.peers.index(reducer)] == 0
    assert plan.peers[plan.leaders[-1]] == leader


def election_of(group: Group, me: PeerId) -> LeaderElection:
    election = LeaderElection(group.configs[me], Random(1))
    election.begin((1, LINEAGE))
    return election


def test_call_for_an_attempt_that_is_over_wins_nothing() -> None:
    group = Group(4)
    me, later = group.others()[0], 5
    election = election_of(group, me)
    better, *_, worse = by_distance(group.peers, group.configs[me].key((1, LINEAGE), later))
    assert election.precedes(worse, 0, better, later), "the earlier attempt goes first"
    for _ in range(later):
        election.next_attempt()
    assert election.precedes(better, later, worse, 0)


def test_attempts_that_others_count_change_nothing() -> None:
    group = knowing(4, ordered=True)
    me = group.others()[0]
    said = group.tell(me, group.leader(), Wanted(1, LINEAGE, ATTEMPT_MAX))
    group.pump.run()
    plan = group.plans(me)[-1]
    assert plan.leader == me
    assert plan.lines, "as after few attempts"
    assert {call.attempt for call in messages(said, Call)} == {0}


def test_leader_makes_plain_plans_after_setbacks_of_its_own() -> None:
    group = knowing(4, ordered=True)
    group.look()
    group.pump.run()
    for _ in range(PLAIN_AFTER):
        for peer in group.peers:
            plan = group.plans(peer)[-1]
            assert plan.lines
            group.machines[peer].round.over(plan)
        group.look()
        group.run()
    assert not group.plans(group.peers[0])[-1].lines


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_mutual_refusals_end_with_a_plain_plan(count: int, seed: int) -> None:
    group = knowing(count, picky=peer_ids(count), seed=seed, ordered=True, target_samples=10 * count)
    while not all(group.in_round(peer) for peer in group.peers) or len(last_rounds(group)) > 1:
        group.look(*(peer for peer in group.peers if not group.machines[peer].occupied))
        group.run(2.0)
        group.pump.now += 0.1
        assert group.elapsed_s < 30 + EXCLUDED_MAX_S, "they refuse each other for ever"
    plan = group.plans(group.peers[0])[-1]
    assert set(plan.peers) == set(group.peers)
    assert not plan.lines


def last_rounds(group: Group) -> set[bytes]:
    return {group.plans(peer)[-1].round for peer in group.peers if group.plans(peer)}


def test_plan_refused_by_many_is_not_waited_for() -> None:
    group = knowing(4)
    a, b, c = group.others()
    call = Call(1, LINEAGE, 0, 3)
    group.tell(a, group.leader(), call)
    round_ = round_of(group.leader(), call)
    assert group.tell(a, b, Refused(round_)) == [], "one that refuses may be the one that is wrong"
    said = group.tell(a, c, Refused(round_))
    assert recipients(said, Wanted) | recipients(said, Call), "the next leader is asked at once"
    assert not [event for event in said if isinstance(event, GroupFailed)], "the contribution stands still"


def test_leader_is_not_excluded_for_a_plan_that_never_came() -> None:
    """Others refuse it before it is here: this member cannot know whether they are right."""
    group = knowing(4)
    key = group.configs[group.leader()].key((1, LINEAGE), 1)
    b, c, a = by_distance(group.others(), key)
    call = Call(1, LINEAGE, 0, 3)
    group.tell(a, group.leader(), call)
    for other in (c, b):
        said = group.tell(a, other, Refused(round_of(group.leader(), call)))
    assert recipients(said, Wanted) == {b}, "another is to lead now"
    again = group.tell(a, group.leader(), Call(1, LINEAGE, 0, 4))
    assert any(isinstance(event, ContributionWanted) for event in again)


def test_late_plan_is_answered_to_known_members_only() -> None:
    group = Group(3)
    group.place()
    a, b = group.others()
    call = Call(1, LINEAGE, 0, 1)
    group.tell(a, b, call)
    group.tell(a, b, Cancelled(round_of(b, call)))
    plan = msgspec.structs.replace(make_plan([1] * 20, 1000), round=round_of(b, call))
    assert group.tell(a, group.leader(), plan) == [], "it is not its plan"
    told = recipients(group.tell(a, b, plan), Leaving)
    assert told
    assert told <= set(group.peers) - {a}
    assert not set(plan.peers) <= set(group.peers)


def test_member_that_cannot_follow_a_formed_plan_refuses_it() -> None:
    group = Group(3, ordered=True)
    group.look()
    group.pump.run()
    plan = group.one_plan(group.peers)
    member = group.others()[0]
    said = group.machines[member].refuse(plan, group.pump.now)
    assert recipients(said, Refused) == set(group.peers) - {member}
    assert [event for event in said if isinstance(event, PlanRefused)]
    assert group.machines[member].refuse(plan, group.pump.now) == []


def test_leader_that_cannot_follow_its_own_plan_waits() -> None:
    group = Group(3, ordered=True)
    group.look()
    group.pump.run()
    said = group.machines[group.leader()].refuse(group.one_plan(group.peers), group.pump.now)
    assert [type(event) for event in said if not isinstance(event, Send)] == [PlanRefused]
    assert not messages(said, Call), "it does not call again at once"


def test_leader_of_a_failed_round_answers_a_wish() -> None:
    group = Group(3)
    group.place()
    group.look()
    group.pump.run()
    plan = group.one_plan(group.peers)
    group.machines[plan.leader].round.over(plan)
    assert messages(group.tell(plan.leader, group.others()[0], Wanted(1, LINEAGE, 1)), Call)


@pytest.mark.parametrize("silent", [False, True])
def test_leader_whose_calls_fail_is_excluded_ever_longer(*, silent: bool) -> None:
    group = Group(3, ordered=True)
    group.place()
    a, b = group.others()
    followed = 0
    for number in range(120):
        call = Call(1, LINEAGE, 0, number)
        said = group.tell(a, b, call)
        followed += any(isinstance(event, ContributionWanted) for event in said)
        if not silent:
            group.tell(a, b, Cancelled(round_of(b, call)))
        group.pump.now += EXCLUDED_S / 2
        group.machines[a].handle(Tick(), group.pump.now)
    assert 3 <= followed <= 12, "of 120 calls in as many seconds"


def test_failed_caller_rests_as_long_as_it_is_excluded() -> None:
    group = Group(3, target_samples=31)
    group.place()
    group.look()
    group.run(EXCLUDED_S / 2)
    leader = group.leader()
    assert group.events(leader, GroupFailed)
    said = group.tell(leader, group.others()[0], Wanted(1, LINEAGE, 0))
    assert not messages(said, Call)
    group.pump.now += 2 * EXCLUDED_S
    assert messages(group.tell(leader, group.others()[0], Wanted(1, LINEAGE, 0)), Call)


def test_patience_with_a_silent_leader_is_bounded() -> None:
    group = Group(2)
    [me] = group.others()
    group.look(me)
    least, most = (part * NUMBERS.gather_timeout_s for part in CALL_PATIENCE)
    deadline = group.machines[me].deadline
    assert deadline is not None
    assert least <= deadline - 1000.0 <= most
