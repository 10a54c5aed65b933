"""What a member is waited for: it has earned that, and strangers together have."""

from dataclasses import replace

import msgspec
import pytest

from core.averaging.allreduce.share_map import ShareMap
from core.averaging.outcome import Outcome, outcome_of
from core.averaging.patience import EARNED, FORGOTTEN_AFTER, PEERS_MAX, Patience, Waited
from core.averaging.plan import Plan
from core.base.ids import PeerId
from tests.unit.averaging.pump import make_plan

CYCLE_S = 10.0
PLAN = make_plan([1] * 4, 16 * 8, round_timeout_s=20.0)
ME, A, B, C = PLAN.peers
MOST_S = PLAN.stall_timeout_s
EARNED_S = EARNED * CYCLE_S


def outcome(plan: Plan = PLAN, *, without: dict[PeerId, int] | None = None, **waited: float) -> Outcome:
    """Outcome of a round whose mean lacks chunks of some members; `waited`: seconds, by the names above."""
    shares, lacking = ShareMap(plan), without or {}
    present = [shares.planned[place] - lacking.get(peer, 0) for place, peer in enumerate(plan.peers)]
    made = outcome_of(shares, present=present, versions=(0,) * len(plan.peers), bits=b"")
    return replace(made, waited={plan.peers["_abc".index(name)]: seconds for name, seconds in waited.items()})


class Rounds:
    """Committed rounds, one in each `CYCLE_S`, as one member sees them."""

    def __init__(self) -> None:
        self.patience = Patience()
        self.now = 1000.0

    def committed(self, seen: Outcome, *, plan: Plan = PLAN, after_s: float = CYCLE_S) -> "Rounds":
        self.now += after_s
        self.patience.committed(plan, seen, self.now, me=ME)
        return self

    def seconds(self, peer: PeerId) -> float:
        """What it has earned itself."""
        return self.waits(peer).seconds - self.waits(PeerId(b"s" * 32)).seconds

    def waits(self, peer: PeerId) -> Waited:
        return self.patience.waits([peer], self.now)[peer]

    @property
    def strangers(self) -> set[PeerId]:
        return {peer for peer in PLAN.peers if self.patience.is_stranger(peer, self.now)}


def silent(plan: Plan = PLAN) -> dict[PeerId, int]:
    """C gives nothing."""
    return {plan.peers[3]: ShareMap(plan).planned[3]}


def with_new_key(number: int) -> Plan:
    """The same with another key for C."""
    member = msgspec.structs.replace(PLAN.members[3], peer=b"\xff" * 28 + number.to_bytes(4, "big"))
    return msgspec.structs.replace(PLAN, members=(*PLAN.members[:3], member))


def test_nobody_is_a_stranger_before_the_first_round() -> None:
    rounds = Rounds()
    assert rounds.patience.waits(PLAN.peers, rounds.now) == {}
    assert not rounds.strangers


def test_members_of_the_first_round_have_earned_the_most() -> None:
    rounds = Rounds().committed(outcome(without=silent()))
    assert [rounds.seconds(peer) for peer in PLAN.peers] == [MOST_S, MOST_S, MOST_S, 0.0]
    assert rounds.strangers == {C}
    assert rounds.waits(C) == Waited(0.0, stranger=True), "nobody knows yet how long it takes to a round"


def test_newcomer_earns_with_what_it_gives_of_its_part() -> None:
    rounds = Rounds().committed(outcome(without=silent()))
    rounds.committed(outcome(without={C: ShareMap(PLAN).planned[3] // 2}))
    assert rounds.seconds(C) == pytest.approx(EARNED_S / 2)
    assert not rounds.strangers


def test_member_pays_what_it_is_waited_for() -> None:
    rounds = Rounds().committed(outcome()).committed(outcome(a=2.0))
    assert rounds.seconds(A) == pytest.approx(MOST_S - 2.0 + EARNED * (CYCLE_S - 2.0))
    assert rounds.seconds(B) == MOST_S


def test_silent_member_has_earned_nothing() -> None:
    rounds = Rounds().committed(outcome()).committed(outcome(without=silent()))
    assert rounds.strangers == {C}
    assert rounds.waits(C) == Waited(EARNED_S, stranger=True)


def test_member_that_was_asked_for_nothing_keeps_what_it_has() -> None:
    members = (*PLAN.members[:3], msgspec.structs.replace(PLAN.members[3], samples=0))
    plan = msgspec.structs.replace(PLAN, members=members, chunks=(*PLAN.chunks[:2], sum(PLAN.chunks[2:]), 0))
    rounds = Rounds().committed(outcome()).committed(outcome(plan), plan=plan)
    assert rounds.seconds(C) == MOST_S


@pytest.mark.parametrize("gives_each", [0, 1, 5])
@pytest.mark.parametrize("keys", [False, True])
def test_waiting_takes_a_fifth_of_the_time_at_most(*, gives_each: int, keys: bool) -> None:
    """It takes all that it may whenever it gives nothing, and gives a part now and then; or others with new keys do."""
    rounds, waited_s, began = Rounds().committed(outcome(without=silent())), 0.0, 1000.0 + CYCLE_S
    for number in range(400):
        plan = with_new_key(number // (gives_each + 1)) if keys else PLAN
        may_s = rounds.waits(plan.peers[3]).seconds
        if number % (gives_each + 1) < gives_each:
            rounds.committed(outcome(plan), plan=plan)
        else:
            waited_s += may_s
            rounds.committed(outcome(plan, without=silent(plan), c=may_s), plan=plan, after_s=CYCLE_S + may_s)
    assert waited_s <= 2 * EARNED * (rounds.now - began - waited_s) + 2 * MOST_S


def test_time_in_which_members_are_waited_for_earns_nothing() -> None:
    rounds = Rounds().committed(outcome(without=silent()))
    rounds.committed(outcome(a=5.0), after_s=5.0 + CYCLE_S)
    assert rounds.seconds(C) == pytest.approx(EARNED_S)


def test_single_round_is_forgotten_like_others() -> None:
    """Two members were each in one round with somebody else, and refuse each other's call while they remember."""
    other = with_new_key(9)
    rounds = Rounds().committed(replace(outcome(other), seconds=2.0), plan=other)
    assert C in rounds.strangers
    rounds.now += PLAN.round_timeout_s + FORGOTTEN_AFTER * 2.0
    assert rounds.strangers == set()


def test_two_that_take_each_other_for_strangers_begin_anew() -> None:
    rounds = Rounds().committed(outcome()).committed(outcome(without=silent(), c=2 * MOST_S))
    assert rounds.strangers == {C}
    rounds.now += PLAN.round_timeout_s + FORGOTTEN_AFTER * CYCLE_S - 0.1
    assert rounds.strangers == {C}
    rounds.now += 0.1
    assert not rounds.strangers
    assert rounds.patience.waits([C], rounds.now) == {}
    assert rounds.committed(outcome(), after_s=0.0).seconds(C) == MOST_S


def test_member_that_was_alone_knows_no_strangers_but_silent_ones() -> None:
    alone = make_plan([PLAN.chunk_total], 16 * 8, round_timeout_s=20.0)
    alone = msgspec.structs.replace(alone, members=(PLAN.members[0],))
    rounds = Rounds().committed(outcome(alone), plan=alone)
    assert not rounds.strangers
    assert rounds.patience.waits([A], rounds.now) == {}
    lost = {peer: ShareMap(PLAN).planned[place] for place, peer in enumerate(PLAN.peers) if place}
    assert rounds.committed(outcome(without=lost)).strangers == {A, B, C}


def test_member_left_out_of_a_commit_keeps_half() -> None:
    rounds = Rounds().committed(outcome())
    rounds.committed(replace(outcome(), left_out=frozenset({A})), after_s=1.0)
    assert rounds.seconds(A) == pytest.approx(MOST_S / 2 + EARNED * 1.0)
    assert rounds.seconds(B) == MOST_S


def test_rounds_far_apart_are_remembered() -> None:
    rounds = Rounds().committed(outcome(without=silent()))
    for _ in range(3):
        rounds.committed(outcome(without=silent()), after_s=3600.0)
    assert rounds.strangers == {C}


def test_helper_earns_with_the_share_that_it_makes() -> None:
    members = (*PLAN.members[:3], msgspec.structs.replace(PLAN.members[3], samples=0, receives=False))
    plan = msgspec.structs.replace(PLAN, members=members)
    rounds = Rounds().committed(outcome(plan), plan=plan)
    assert rounds.strangers == set()
    anew = replace(outcome(plan), versions=(0, 0, 0, 1))
    assert Rounds().committed(anew, plan=plan).strangers == {C}


def test_only_so_many_are_remembered() -> None:
    rounds = Rounds().committed(outcome())
    for number in range(PEERS_MAX // 3 + 2):
        others = sorted(PeerId(bytes([place]) * 28 + number.to_bytes(4, "big")) for place in range(3))
        members = [msgspec.structs.replace(m, peer=p) for m, p in zip(PLAN.members, [*others, b"z" * 32], strict=True)]
        plan = msgspec.structs.replace(PLAN, members=tuple(members))
        rounds.committed(outcome(plan), plan=plan, after_s=1.0)
    assert rounds.strangers == {A, B, C}
