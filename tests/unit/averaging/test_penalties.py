"""Members to which failed rounds are attributed, and for how long."""

import msgspec
import pytest

from core.averaging.outcome import RoundFinished
from core.averaging.penalties import LONGEST, NOTHING, REST_ROUNDS, Kind, Observations, Penalties
from core.averaging.plan import Member, Plan
from core.base.back_off import THINGS_MAX as PEERS_MAX
from core.base.ids import PeerId
from tests.unit.averaging.liars import ends
from tests.unit.averaging.pump import Round, make_plan, peer_ids

ROUND_S = 20.0
FADE_S = LONGEST * ROUND_S / 2
PLAN = make_plan([1] * 4, 16 * 8, round_timeout_s=ROUND_S)
LEADER = PLAN.leader
ME, A, B = [peer for peer in PLAN.peers if peer != LEADER]
WHOLE = (0,) * 4


def penalties() -> Penalties:
    return Penalties(ME, round_timeout_s=ROUND_S)


def seen(**kinds: set[PeerId]) -> Observations:
    return {Kind(name): frozenset(peers) for name, peers in kinds.items()}


def members(plan: Plan = PLAN) -> list[Member]:
    return list(plan.members)


def spared(held: Penalties, now: float, *, among: list[Member] | None = None) -> set[PeerId]:
    return {PeerId(m.peer) for m in held.without_excluded(among or members(), now) if m.spared}


def rest_s(held: Penalties, peer: PeerId, now: float) -> float:
    """How long it does not lead."""
    low, high = 0.0, 100_000.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if held.may_lead(peer, now + middle) else (middle, high)
    return high


def test_unnamed_failure_penalises_the_leader_less_than_a_named_one() -> None:
    held = penalties()
    held.failed(PLAN, (), 100.0)
    assert not held.may_lead(LEADER, 100.0)
    assert round(rest_s(held, LEADER, 100.0), 3) == ROUND_S / 2
    assert spared(held, 100.0) == set()
    named = penalties()
    named.failed(PLAN, (LEADER,), 100.0)
    assert round(rest_s(named, LEADER, 100.0), 3) == ROUND_S
    assert spared(named, 100.0) == {LEADER}, "it reduces too"


def test_named_reducer_reduces_nothing_for_a_while_but_may_lead() -> None:
    held = penalties()
    held.failed(PLAN, (A,), 100.0)
    assert held.may_lead(A, 100.0)
    assert held.may_lead(LEADER, 100.0)
    [row] = [member for member in held.without_excluded(members(), 100.0) if member.peer == A]
    assert (row.spared, row.reduces) == (True, False)
    assert spared(held, 100.0 + ROUND_S - 0.1) == {A}
    assert spared(held, 100.0 + ROUND_S) == set()


def test_rests_double_up_to_a_limit_and_fade_with_time() -> None:
    held, now, rests = penalties(), 100.0, []
    for _ in range(6):
        held.failed(PLAN, (LEADER,), now)
        rests.append(round(rest_s(held, LEADER, now), 3))
    assert rests == [20.0, 80.0, 320.0, 320.0, 320.0, 320.0]
    held.failed(PLAN, (LEADER,), now + 6 * FADE_S)
    assert round(rest_s(held, LEADER, now + 6 * FADE_S), 3) == 20.0


def test_member_is_excluded_longer_for_repeated_failures_than_for_one() -> None:
    held = penalties()
    for now in range(100, 120, 2):
        held.failed(PLAN, (LEADER, A), float(now))
        held.committed(PLAN, WHOLE, LEADER, now + 1.0)
    assert rest_s(held, LEADER, 118.0) > 8 * ROUND_S
    once = penalties()
    once.failed(PLAN, (LEADER, A), 100.0)
    for _ in range(2):
        once.committed(PLAN, WHOLE, LEADER, 130.0)
    once.failed(PLAN, (LEADER, A), 140.0)
    assert round(rest_s(once, LEADER, 140.0), 3) == ROUND_S
    assert spared(once, 140.0 + ROUND_S) == set()


def test_leader_is_excluded_ever_longer_only_for_proven_splits() -> None:
    """A few members that sign something else each time cannot keep an honest leader from leading."""
    for sure in (False, True):
        held, now, rests = penalties(), 1000.0, []
        for _ in range(8):
            now += 10 * ROUND_S
            held.committed(PLAN, WHOLE, LEADER, now)
            held.split(LEADER, now + 1.0, sure=sure)
            rests.append(round(rest_s(held, LEADER, now + 1.0), 3))
        assert max(rests) == (16 * ROUND_S if sure else ROUND_S / 2)


def test_share_recomputed_for_others_is_held_against_no_member() -> None:
    """A leader can have that done, or one that says it holds other means: this peer has waited for nobody."""
    held = penalties()
    held.committed(PLAN, (1,) * 4, LEADER, 100.0)
    assert spared(held, 100.0) == set()


def test_member_is_penalised_for_a_round_without_its_work() -> None:
    held = penalties()
    versions = tuple(3 if peer == A else 0 for peer in PLAN.peers)
    held.committed(PLAN, versions, B, 100.0, seen=seen(late={A}))
    assert not held.may_lead(LEADER, 100.0)
    assert held.may_lead(B, 100.0)
    for _ in range(REST_ROUNDS):
        assert spared(held, 100.0 + 10 * FADE_S) == {A}, "rounds count, not time"
        held.committed(PLAN, WHOLE, B, 100.0)
    assert spared(held, 100.0) == set()


def test_late_reducer_gets_no_share_for_some_rounds() -> None:
    held = penalties()
    for times in (1, 2, 4, 4):
        held.committed(PLAN, WHOLE, LEADER, 100.0, seen=seen(late={B, ME}))
        for _ in range(times * REST_ROUNDS):
            assert spared(held, 100.0 + 10 * FADE_S) == {B}
            held.committed(PLAN, WHOLE, LEADER, 100.0)
        assert spared(held, 100.0) == set()


def test_dissenting_member_is_remembered_for_rounds_that_this_peer_leads() -> None:
    held = penalties()
    held.committed(PLAN, WHOLE, ME, 100.0, seen=seen(differed={A}, doubted={B, ME}))
    for _ in range(REST_ROUNDS):
        for _ in range(3):
            assert held.remembered(PLAN.peers, 100.0).vote_ignored == {A}
            assert spared(held, 100.0) == {B}
            held.committed(PLAN, WHOLE, LEADER, 100.0)
        held.committed(PLAN, WHOLE, ME, 100.0)
    assert held.remembered(PLAN.peers, 100.0) == NOTHING
    assert spared(held, 100.0) == set()


@pytest.mark.parametrize("helps", [False, True])
def test_member_that_hangs_up_is_late_only_if_it_helps(*, helps: bool) -> None:
    plan = make_plan([3, 4, 5, 0], 16 * 40)
    members = (*plan.members[:3], msgspec.structs.replace(plan.members[3], receives=not helps))
    round_ = Round(msgspec.structs.replace(plan, members=members, leaders=(0, 1, 2, 3)))
    for _ in range(40):
        round_.pump.step()
    round_.pump.kill(plan.peers[3])
    outcomes = [end.outcome for end in ends(round_.run()).values() if isinstance(end, RoundFinished)]
    assert all(outcome.versions[3] for outcome in outcomes)
    late = frozenset[PeerId]().union(*(outcome.seen[Kind.LATE] for outcome in outcomes))
    assert late == ({plan.peers[3]} if helps else set())


def test_this_peer_and_strangers_are_never_blamed() -> None:
    held = penalties()
    held.failed(PLAN, (ME, PeerId(b"s" * 32)), 100.0)
    assert spared(held, 100.0) == set()
    assert all(held.may_lead(peer, 100.0) for peer in [*PLAN.peers, PeerId(b"s" * 32)])
    own = Penalties(LEADER, round_timeout_s=ROUND_S)
    own.failed(PLAN, (), 100.0)
    own.committed(PLAN, (1,) * 4, A, 100.0, seen=seen(late=set(PLAN.peers)))
    assert own.may_lead(LEADER, 100.0)
    assert LEADER not in spared(own, 100.0)


def test_plan_spares_the_worst_reducers_up_to_its_limit() -> None:
    plan = make_plan([1] * 7, 16 * 14, round_timeout_s=ROUND_S)
    me, *others = plan.peers
    held = Penalties(me, round_timeout_s=ROUND_S)
    held.failed(plan, others, 100.0)
    held.failed(plan, others[3:5], 100.0)
    assert spared(held, 101.0, among=members(plan)) == set(others[3:5])
    clients = [msgspec.structs.replace(m, reduces=m.peer in {me, others[3]}) for m in plan.members]
    assert spared(held, 101.0, among=clients) == {others[3]}
    alone = [msgspec.structs.replace(m, reduces=m.peer == others[3]) for m in plan.members]
    assert spared(held, 101.0, among=alone) == set()


def test_only_so_many_are_remembered() -> None:
    held = penalties()
    held.failed(PLAN, (LEADER,), 100.0)
    for number in range(PEERS_MAX // 2):
        other = [peer for peer in peer_ids(4) if peer != ME]
        renamed = {peer: PeerId(bytes(peer)[:20] + number.to_bytes(12, "big")) for peer in other}
        row = tuple(
            sorted(
                (msgspec.structs.replace(m, peer=renamed.get(PeerId(m.peer), m.peer)) for m in PLAN.members),
                key=lambda member: member.peer,
            )
        )
        plan = msgspec.structs.replace(PLAN, members=row)
        held.failed(plan, plan.peers, 100.0)
    assert spared(held, 100.0) == set()
