"""Bad plans: refused by every member that sees it, and led anew at once."""

from typing import Any

import msgspec
import pytest

from core.averaging.matchmaking import (
    EXCLUDED_MAX_S,
    EXCLUDED_S,
    PLAIN_AFTER,
    Call,
    Declined,
    GroupFailed,
    GroupFormed,
    MemberRefused,
    PlanRefused,
    Refused,
)
from core.averaging.matchmaking.division import divide, lines_of
from core.averaging.matchmaking.plans import check_division
from core.averaging.plan import Member, PairLimit, Plan, Rates
from core.base.ids import PeerId
from core.base.machine import Received, Send
from core.base.problems import RemoteProblem
from tests.unit.averaging.matchmakers import LINEAGE, MEGA, STRANGER, Group, Told, knowing, messages, round_of
from tests.unit.averaging.pump import make_plan, peer_ids


def corrupt(group: Group, leader: PeerId, change: Any) -> None:
    """This leader publishes other plans than it should."""
    group.twists[leader] = lambda output: [
        Send(output.to, change(output.message))
        if isinstance(output, Send) and isinstance(output.message, Plan)
        else output
    ]


def all_on(plan: Plan, index: int) -> Plan:
    chunks = tuple(plan.chunk_total if i == index else 0 for i in range(len(plan.members)))
    return msgspec.structs.replace(plan, chunks=chunks)


def slowest(plan: Plan) -> int:
    return min(range(len(plan.lines)), key=lambda i: plan.lines[i].up)


def foreign_portions(plan: Plan) -> Plan:
    return msgspec.structs.replace(plan, portions=tuple(0 if i == 1 else 256 for i in range(len(plan.members))))


def divided(plan: Plan, lines: tuple[Rates, ...]) -> Plan:
    plan = msgspec.structs.replace(plan, lines=lines)
    chunks, portions = divide(plan)
    return msgspec.structs.replace(plan, chunks=chunks, portions=portions)


def false_lines(plan: Plan) -> Plan:
    """Says that the slowest is fast, and shares as if that were so."""
    index = slowest(plan)
    lines = tuple(Rates(100 * MEGA, 100 * MEGA) if i == index else line for i, line in enumerate(plan.lines))
    return divided(plan, lines)


@pytest.mark.parametrize(
    "change", [lambda plan: all_on(plan, slowest(plan)), foreign_portions, false_lines, lambda p: all_on(p, 0)]
)
@pytest.mark.parametrize("count", [3, 8])
def test_bad_plan_is_replaced_within_a_second(count: int, change: Any) -> None:
    group = knowing(count, ordered=True, delay_s=(0.04, 0.06))
    villain = group.leader()
    corrupt(group, villain, change)
    times: list[float] = []
    group.pump.before = lambda pump, peer, event: times.append(pump.now) if _is_plan(event) else None
    group.look()
    group.run(5)
    plan = group.plans(group.peers[0])[-1]
    assert {group.plans(peer)[-1].round for peer in group.peers} == {plan.round}
    assert set(plan.peers) == set(group.peers)
    assert plan.leader != villain
    assert times[-1] - times[0] < 1.0
    check_division(plan, group.peers[0], group.configs[group.peers[0]].lines)
    assert sum(trace["group.refused"] for trace in group.traces.values()) >= 1
    assert not any(group.events(peer, GroupFailed) for peer in group.peers), "no contribution is let go"


def _is_plan(event: Any) -> bool:
    return isinstance(event, Received) and isinstance(event.message, Plan)


def refused_once() -> tuple[Group, PeerId, PeerId]:
    """A group that has refused a plan and made another; its villain, and a member."""
    group = knowing(4, ordered=True, delay_s=(0.01, 0.02))
    villain = group.leader()
    corrupt(group, villain, lambda plan: all_on(plan, slowest(plan)))
    group.look()
    group.run(0.5)
    return group, villain, group.others(villain)[0]


def test_leader_of_a_bad_plan_is_excluded_for_a_while() -> None:
    group, villain, member = refused_once()
    machine = group.machines[member]
    machine.round.over()
    group.pump.now = 1000.0 + EXCLUDED_S / 2
    said = group.tell(member, villain, Call(1, LINEAGE, PLAIN_AFTER, 5))
    assert [declined.reason for declined in messages(said, Declined)] == ["busy"]
    group.pump.now = 1000.5 + EXCLUDED_MAX_S
    assert not messages(group.tell(member, villain, Call(1, LINEAGE, PLAIN_AFTER, 5)), Declined)


def test_leader_of_bad_plans_is_followed_once_plans_are_plain() -> None:
    """Else two members that refuse each other's plans would decline each other's calls for long."""
    group, villain, member = refused_once()
    machine = group.machines[member]
    for _ in range(PLAIN_AFTER):
        machine.round.over(group.plans(member)[-1])
        group.look(*group.others(villain))
        group.run(0.2)
    machine.round.over()
    assert not messages(group.tell(member, villain, Call(1, LINEAGE, 0, 5)), Declined)


def refuse_all(group: Group, slanderer: PeerId) -> None:
    """This peer refuses every plan, to all its members."""

    def twist(output: Any) -> list[Any]:
        if not isinstance(output, GroupFormed):
            return [output]
        return [output, *(Send(peer, Refused(output.plan.round)) for peer in output.plan.peers if peer != slanderer)]

    group.twists[slanderer] = twist


@pytest.mark.parametrize("slanderers", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_few_that_refuse_all_plans_are_left_behind(seed: int, slanderers: int) -> None:
    group = knowing(5 if slanderers == 1 else 8, seed=seed, ordered=True, delay_s=(0.01, 0.03))
    rogues = group.others()[:slanderers]
    for rogue in rogues:
        refuse_all(group, rogue)
    group.look()
    group.run(6)
    honest = group.others(*rogues)
    assert len({group.plans(peer)[-1].round for peer in honest}) == 1, "the others have one plan in the end"
    for peer in honest:
        ends = [type(event) for event in group.events(peer, GroupFormed, PlanRefused, MemberRefused)]
        assert ends[-1] in {GroupFormed, MemberRefused}
        assert ends.count(PlanRefused) <= slanderers * (PLAIN_AFTER // 2 + 1)


def test_early_refusal_of_one_is_kept_for_the_plan() -> None:
    group = knowing(3)
    a, b = group.others()
    call = messages(group.look(group.leader()), Call)[0]
    group.tell(a, group.leader(), call)
    assert group.tell(a, b, Refused(round_of(group.leader(), call))) == []
    group.run(1.0)
    assert group.plans(b)[0].round == round_of(group.leader(), call)
    assert not group.plans(a), "it is heeded when the plan is here"


def test_foreign_refusal_is_dropped() -> None:
    group = knowing(3)
    group.look()
    group.pump.run()
    plan = group.one_plan(group.peers)
    peer, other, _ = group.peers
    assert group.tell(peer, STRANGER, Refused(plan.round)) == []
    assert group.tell(peer, other, Refused(bytes(32))) == []
    assert group.traces[peer]["group.drop.refused"] == 2


# --- the division on its own ---

PLAN = make_plan([1, 2, 3, 4], 16 * 400)
LINES = tuple(Rates(MEGA * (1 + i), 3 * MEGA) for i in range(4))


def good() -> Plan:
    return divided(PLAN, LINES)


def judge(plan: Plan, *, rates: tuple[Rates, ...] = LINES, claimed: Rates = LINES[1]) -> None:
    me = plan.peers[1]
    check_division(plan, me, Told(me, dict(zip(plan.peers, rates, strict=True)), claimed))


def test_good_plan_is_accepted_by_members_with_similar_knowledge() -> None:
    judge(good())
    judge(good(), claimed=Rates())
    judge(good(), claimed=Rates(int(LINES[1].up / 1.2), LINES[1].down))
    judge(good(), rates=tuple(Rates(int(rate.up * 1.8), rate.down // 2) for rate in LINES))
    judge(PLAN)


@pytest.mark.parametrize(
    "plan",
    [
        all_on(good(), 0),
        foreign_portions(good()),
        false_lines(good()),
        msgspec.structs.replace(good(), lines=()),
        msgspec.structs.replace(good(), limits=(PairLimit(1, 2, 10),)),
        msgspec.structs.replace(PLAN, limits=(PairLimit(0, 2, 10),)),
        msgspec.structs.replace(PLAN, portions=(0, 256, 256, 256)),
        msgspec.structs.replace(PLAN, lines=(Rates(),) * 4, chunks=good().chunks),
    ],
)
def test_bad_division_is_refused(plan: Plan) -> None:
    with pytest.raises(RemoteProblem):
        judge(plan)


def test_member_is_given_no_more_than_it_told() -> None:
    with pytest.raises(RemoteProblem, match="of this line"):
        judge(good(), claimed=Rates(MEGA, 3 * MEGA))


def test_unknown_own_line_is_bounded_by_what_was_told() -> None:
    """The plan says nothing of this member's line, and divides as if it were like the middle one."""
    unknown = divided(PLAN, tuple(Rates() if i == 1 else line for i, line in enumerate(LINES)))
    judge(unknown, claimed=Rates(3 * MEGA // 5, MEGA))
    judge(unknown, claimed=Rates())
    with pytest.raises(RemoteProblem, match="of this line"):
        judge(unknown, claimed=Rates(3 * MEGA // 7, 3 * MEGA))
    with pytest.raises(RemoteProblem, match="of this line"):
        judge(unknown, claimed=Rates(3 * MEGA, 3 * MEGA // 7))


def test_share_for_a_client_is_refused() -> None:
    members = tuple(msgspec.structs.replace(member, reduces=index != 3) for index, member in enumerate(good().members))
    with pytest.raises(RemoteProblem, match="share"):
        judge(msgspec.structs.replace(good(), members=members))


def test_unknown_lines_are_like_the_middle_one() -> None:
    members = [Member(peer, 1, 1.0) for peer in peer_ids(4)]
    lines = lines_of(members, [Rates(8, 80), Rates(), Rates(4, 0), Rates(2, 20)])
    assert lines is not None
    assert [(line.up_bytes_per_s, line.down_bytes_per_s) for line in lines] == [(8, 80), (4, 50), (4, 50), (2, 20)]
    assert lines_of(members, [Rates()] * 4) is None
