"""Bad plans: refused by whoever sees it, and led anew at once."""

from typing import Any

import msgspec
import pytest

from core.averaging.bandwidth.book import LineBook
from core.averaging.bandwidth.known import KnownLines
from core.averaging.matchmaking import GroupFailed, GroupFormed, MemberRefused, PlanRefused
from core.averaging.matchmaking.attempts import PLAIN_AFTER
from core.averaging.matchmaking.check_plan import check_division
from core.averaging.matchmaking.division import divide, lines_of, work_of
from core.averaging.messages import Call, Declined, Refused
from core.averaging.plan import Member, PairLimit, Plan, Rates
from core.base.ids import PeerId
from core.base.machine import Received, Send
from core.base.problems import RemoteProblem
from tests.unit.averaging.pump import make_plan, peer_ids
from tests.unit.averaging.test_group import LINEAGE, Group, one_plan

MEGA = 1_000_000


class Knowing(LineBook):
    """A book that has been told what there is to know."""

    def __init__(self, me: PeerId, lines: dict[PeerId, Rates]) -> None:
        super().__init__(me)
        self.lines = lines

    def known(self, peers: Any) -> KnownLines:
        return KnownLines({peer: self.lines[peer] for peer in peers if peer in self.lines}, {})

    @property
    def claimed(self) -> Rates:
        return self.lines[self._me]


def knowing(count: int, **options: Any) -> Group:
    lines = {peer: Rates(MEGA * (1 + i), 4 * MEGA) for i, peer in enumerate(peer_ids(count))}
    group = Group(count, book=lambda peer: Knowing(peer, lines), **options)
    group.lines = lines  # type: ignore[attr-defined]
    group.place()
    return group


def corrupt(group: Group, leader: PeerId, change: Any) -> None:
    """This leader publishes other plans than it should."""
    machine = group.machines[leader]
    publish = machine._quest.publish

    def bad(gathering: Any, now: float) -> Any:
        outputs = publish(gathering, now)
        return [
            Send(o.to, change(o.message)) if isinstance(o, Send) and isinstance(o.message, Plan) else o for o in outputs
        ]

    machine._quest.publish = bad  # type: ignore[method-assign]


def all_on(plan: Plan, index: int) -> Plan:
    chunks = tuple(plan.chunk_total if i == index else 0 for i in range(len(plan.members)))
    return msgspec.structs.replace(plan, chunks=chunks)


def slowest(plan: Plan) -> int:
    return min(range(len(plan.lines)), key=lambda i: plan.lines[i].up)


def foreign_gifts(plan: Plan) -> Plan:
    return msgspec.structs.replace(plan, gifts=tuple(0 if i == 1 else 256 for i in range(len(plan.members))))


def false_lines(plan: Plan) -> Plan:
    """Says that the slowest is fast, and shares as if that were so."""
    index = slowest(plan)
    lines = tuple(Rates(100 * MEGA, 100 * MEGA) if i == index else line for i, line in enumerate(plan.lines))
    work = work_of(plan.numel, plan.codec)
    chunks, gifts = divide(plan.members, lines, chunks=plan.chunk_total, work=work)
    return msgspec.structs.replace(plan, lines=lines, chunks=chunks, gifts=gifts)


@pytest.mark.parametrize(
    "change", [lambda plan: all_on(plan, slowest(plan)), foreign_gifts, false_lines, lambda p: all_on(p, 0)]
)
@pytest.mark.parametrize("count", [3, 8])
def test_a_bad_plan_is_refused_and_another_leads_within_a_second(count: int, change: Any) -> None:
    group = knowing(count, ordered=True, delay_s=(0.04, 0.06))
    villain = group.leader()
    corrupt(group, villain, change)
    times: list[float] = []
    group.pump.before = lambda pump, peer, event: times.append(pump.now) if _is_plan(event) else None
    group.look(*group.peers)
    group.pump.run(until=group.pump.now + 5)
    last = {group.plans()[peer][-1].round for peer in group.peers}
    assert len(last) == 1
    plan = group.plans()[group.peers[0]][-1]
    assert set(plan.peers) == set(group.peers)
    assert plan.peers[plan.leaders[0]] != villain
    assert times[-1] - times[0] < 1.0
    check_division(
        plan,
        group.peers[0],
        known=group.machines[group.peers[0]]._config.book.known(plan.peers),
        claimed=group.lines[group.peers[0]],  # type: ignore[attr-defined]
        held={},
    )
    assert sum(trace["group.refused"] for trace in group.traces.values()) >= 1
    assert not any(isinstance(e, GroupFailed) for es in group.pump.events.values() for e in es), "nothing is let go"


def _is_plan(event: Any) -> bool:
    return isinstance(event, Received) and isinstance(event.message, Plan)


def test_the_villain_is_not_followed_again_in_this_state() -> None:
    group = knowing(4, ordered=True, delay_s=(0.01, 0.02))
    villain = group.leader()
    corrupt(group, villain, lambda plan: all_on(plan, slowest(plan)))
    group.look(*group.peers)
    group.pump.run(until=group.pump.now + 5)
    other = next(peer for peer in group.peers if peer != villain)
    machine = group.machines[other]
    machine.reopen()
    outputs = machine.handle(Received(villain, Call(1, LINEAGE, PLAIN_AFTER, 5)), group.pump.now)
    assert [o.message.reason for o in outputs if isinstance(o, Send) and isinstance(o.message, Declined)] == ["busy"]


def test_a_leader_of_bad_plans_is_followed_again_when_plans_are_plain() -> None:
    """Else two who have refused each other's plans would decline each other's calls for long."""
    group = knowing(4, ordered=True, delay_s=(0.01, 0.02))
    villain = group.leader()
    corrupt(group, villain, lambda plan: all_on(plan, slowest(plan)))
    group.look(*group.peers)
    group.pump.run(until=group.pump.now + 5)
    machine = group.machines[next(peer for peer in group.peers if peer != villain)]
    others = [peer for peer in group.peers if peer not in {villain, machine._me}]
    for _ in range(PLAIN_AFTER):
        plan = group.plans()[machine._me][-1]
        machine.failed(plan, others, group.pump.now)
        group.look(*group.peers)
        group.pump.run(until=group.pump.now + 0.2)
    machine.reopen()
    outputs = machine.handle(Received(villain, Call(1, LINEAGE, 0, 5)), group.pump.now)
    assert not [o for o in outputs if isinstance(o, Send) and isinstance(o.message, Declined)]


def slander(group: Group, slanderer: PeerId) -> None:
    """This peer refuses every plan."""
    machine = group.machines[slanderer]

    def refuse(plan: Plan, state: Any) -> None:
        raise RemoteProblem("I do not like it")

    machine._quest.follower.check = refuse  # type: ignore[method-assign]


@pytest.mark.parametrize("slanderers", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_the_few_who_refuse_all_plans_are_left_behind(seed: int, slanderers: int) -> None:
    group = knowing(5 if slanderers == 1 else 8, seed=seed, ordered=True, delay_s=(0.01, 0.03))
    rogues = [peer for peer in group.peers if peer != group.leader()][:slanderers]
    for rogue in rogues:
        slander(group, rogue)
    group.look(*group.peers)
    group.pump.run(until=group.pump.now + 6)
    honest = [peer for peer in group.peers if peer not in rogues]
    rounds = {group.plans()[peer][-1].round for peer in honest}
    assert len(rounds) == 1, "the others have one plan in the end"
    for peer in honest:
        ends = [type(e) for e in group.pump.events[peer] if isinstance(e, GroupFormed | PlanRefused | MemberRefused)]
        assert ends[-1] in {GroupFormed, MemberRefused}
        assert ends.count(PlanRefused) <= 4, "it is heeded a few times, and then no more"


def test_a_refusal_of_a_plan_that_has_not_come_is_kept_for_it() -> None:
    group = knowing(4)
    leader, (a, b, c) = group.leader(), [peer for peer in group.peers if peer != group.leader()]
    machine = group.machines[a]
    group.pump.say(a, machine.handle(Received(leader, Call(1, LINEAGE, 0, 3)), 1000.0))
    round_ = machine._quest.follower.promise.round  # type: ignore[union-attr]
    assert machine.handle(Received(b, Refused(round_)), 1000.1) == []
    assert machine.deadline is not None
    assert machine.deadline > 1000.7, "one who refuses may be the one who is wrong"
    assert machine.handle(Received(c, Refused(round_)), 1000.1) == []
    assert machine.deadline is not None
    assert machine.deadline <= 1000.7, "whoever made a plan that was refused is not waited for"


def test_a_foreign_refusal_is_dropped() -> None:
    group = knowing(3)
    group.look(*group.peers)
    group.pump.run()
    plan = one_plan(group, set(group.peers))
    peer = group.peers[0]
    stranger = PeerId(b"s" * 32)
    assert group.machines[peer].handle(Received(stranger, Refused(plan.round)), group.pump.now) == []
    assert group.machines[peer].handle(Received(group.peers[1], Refused(bytes(32))), group.pump.now) == []
    assert group.traces[peer]["group.drop.refused"] == 2


# --- the verdict on its own ---

PLAN = make_plan([1, 2, 3, 4], 16 * 400)
LINES = tuple(Rates(MEGA * (1 + i), 3 * MEGA) for i in range(4))


def good() -> Plan:
    chunks, gifts = divide(PLAN.members, LINES, chunks=PLAN.chunk_total, work=work_of(PLAN.numel, PLAN.codec))
    return msgspec.structs.replace(PLAN, lines=LINES, chunks=chunks, gifts=gifts)


def judge(plan: Plan, *, claimed: Rates = LINES[1], known: tuple[Rates, ...] = LINES, **held: Any) -> None:
    check_division(
        plan, plan.peers[1], known=KnownLines(dict(zip(plan.peers, known, strict=True)), {}), claimed=claimed, held=held
    )


def test_a_good_plan_is_accepted_by_all_who_see_nearly_the_same() -> None:
    judge(good())
    judge(good(), claimed=Rates())
    judge(good(), claimed=Rates(int(LINES[1].up / 1.2), LINES[1].down))
    judge(good(), known=tuple(Rates(int(rate.up * 1.8), rate.down // 2) for rate in LINES), claimed=LINES[1])
    judge(PLAN)


@pytest.mark.parametrize(
    "plan",
    [
        all_on(good(), 0),
        foreign_gifts(good()),
        false_lines(good()),
        msgspec.structs.replace(good(), lines=()),
        msgspec.structs.replace(good(), limits=(PairLimit(1, 2, 10),)),
        msgspec.structs.replace(PLAN, gifts=(0, 256, 256, 256)),
        msgspec.structs.replace(PLAN, lines=(Rates(),) * 4, chunks=good().chunks),
    ],
)
def test_a_bad_division_is_refused(plan: Plan) -> None:
    with pytest.raises(RemoteProblem):
        judge(plan)


def test_nobody_is_given_more_than_it_said() -> None:
    with pytest.raises(RemoteProblem, match="our line"):
        judge(good(), claimed=Rates(MEGA, 3 * MEGA))


def unknown(*members: int) -> Plan:
    """A plan that says nothing of these members' lines, and divides as if they were like the middle one."""
    lines = tuple(Rates() if i in members else line for i, line in enumerate(LINES))
    chunks, gifts = divide(PLAN.members, lines, chunks=PLAN.chunk_total, work=work_of(PLAN.numel, PLAN.codec))
    return msgspec.structs.replace(PLAN, lines=lines, chunks=chunks, gifts=gifts)


def test_to_say_nothing_of_our_line_is_no_way_to_take_it_for_much_more_than_we_said() -> None:
    judge(unknown(1), claimed=Rates(3 * MEGA // 5, MEGA))
    judge(unknown(1), claimed=Rates())
    with pytest.raises(RemoteProblem, match="our line"):
        judge(unknown(1), claimed=Rates(3 * MEGA // 7, 3 * MEGA))
    with pytest.raises(RemoteProblem, match="our line"):
        judge(unknown(1), claimed=Rates(3 * MEGA, 3 * MEGA // 7))


def test_a_share_for_a_client_is_refused() -> None:
    members = tuple(msgspec.structs.replace(member, reduces=index != 3) for index, member in enumerate(good().members))
    with pytest.raises(RemoteProblem, match="share"):
        judge(msgspec.structs.replace(good(), members=members))


def test_lines_that_nobody_knows_are_like_the_middle_one() -> None:
    members = [Member(bytes([i]) * 32, 1, 1.0) for i in range(4)]
    lines = lines_of(members, [Rates(8, 80), Rates(), Rates(4, 0), Rates(2, 20)])
    assert lines is not None
    assert [(line.up_bytes_per_s, line.down_bytes_per_s) for line in lines] == [(8, 80), (4, 50), (4, 50), (2, 20)]
    assert lines_of(members, [Rates()] * 4) is None
