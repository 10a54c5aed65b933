"""What a member counts for: never more than it claims, than it has earned, and than its share."""

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.averaging.plan import Member, leveled
from core.averaging.weights import (
    GROWTH,
    JUDGES_AFTER,
    LEAD,
    NEWCOMER,
    PEERS_MAX,
    TOLERANCE,
    EarnedSpeeds,
    State,
    believed_rows,
    check_weights,
    equal_bounds,
)
from core.base.bounds import SAMPLES_MAX
from core.base.ids import PeerId, account_of, hashed_key
from core.base.problems import RemoteProblem
from tests.unit.averaging.pump import make_plan, peer_ids

SHARE = 0.25
A, B, C, LIAR, NEW = peer_ids(5)
claims = st.lists(st.integers(0, SAMPLES_MAX), min_size=1, max_size=20)


def state_of(epoch: int) -> State:
    return epoch, bytes([epoch % 256]) * 32


class Swarm:
    """Rounds of members that claim samples, as one of them sees it."""

    def __init__(self, *, epoch_s: float = 10.0) -> None:
        self.earned = EarnedSpeeds()
        self.epoch_s = epoch_s
        self.now = 1000.0
        self.epoch = 0

    def counted(self, claims: Mapping[PeerId, int]) -> dict[PeerId, int]:
        bounds = self.earned.bounds(state_of(self.epoch), claims, self.now + self.epoch_s)
        return {PeerId(row.peer): row.samples for row in believed_rows(rows_of(claims), bounds)}

    def weights(self, claims: Mapping[PeerId, int]) -> dict[PeerId, int]:
        counted = self.counted(claims)
        return dict(zip(counted, leveled([*counted.values()], SHARE), strict=True))

    def rounds(self, count: int, claims: Mapping[PeerId, int]) -> list[dict[PeerId, int]]:
        return [self.round(claims) for _ in range(count)]

    def round(self, claims: Mapping[PeerId, int]) -> dict[PeerId, int]:
        counted = self.counted(claims)
        self.now += self.epoch_s
        self.epoch += 1
        before, after = state_of(self.epoch - 1), state_of(self.epoch)
        self.earned.committed(before, after, counted, began_at=self.now)
        return counted

    def believed(self, claims: Mapping[PeerId, float], after_s: float) -> float:
        return self.earned.believed(state_of(self.epoch), claims, self.now + after_s)


def rows_of(samples: Mapping[PeerId, int]) -> list[Member]:
    return [Member(peer, count, 1.0) for peer, count in sorted(samples.items())]


@given(claims, st.floats(0.05, 1))
def test_no_member_has_more_than_its_share(samples: list[int], share: float) -> None:
    weights = leveled(samples, share)
    giving = sum(map(bool, samples))
    most = max(share, 2 / max(1, giving))
    for claim, weight in zip(samples, weights, strict=True):
        assert min(claim, 1) <= weight <= claim
        assert weight <= most * (sum(weights) + giving) * (1 + 1e-9)
    ranked = sorted(zip(samples, weights, strict=True))
    assert [weight for _, weight in ranked] == sorted(weights), "nobody overtakes"


@given(claims)
def test_equal_claims_are_never_cut(samples: list[int]) -> None:
    equal = [samples[0]] * len(samples)
    assert leveled(equal, SHARE) == equal


def test_one_or_two_members_have_no_share_to_keep_to() -> None:
    assert leveled([900], SHARE) == [900]
    assert leveled([900, 1, 0], SHARE) == [900, 1, 0]
    assert leveled([900, 10, 10], SHARE)[1:] == [10, 10]
    assert leveled([900, 10, 10], SHARE)[0] in {39, 40}
    assert leveled([SAMPLES_MAX, SAMPLES_MAX, 10, 10, 10], SHARE)[:2] in ([59, 59], [60, 60])


def test_at_the_start_everybody_is_believed() -> None:
    assert Swarm().counted({A: 30, B: 90}) == {A: 30, B: 90}
    assert Swarm().counted({A: 10**6}) == {A: 10**6}
    assert Swarm().believed({A: 30, B: 90, C: 10, LIAR: 900}, 1.0) == 130 + LEAD * 60


def test_peer_without_a_past_believes_more_while_nothing_happens() -> None:
    swarm = Swarm()
    claims = {A: 1000.0, B: 0.0, LIAR: 0.0}
    believed = [swarm.believed(claims, 10.0 * tens) for tens in range(8)]
    assert believed == sorted(believed)
    assert believed[0] == LEAD
    assert believed[-1] == 1000


def test_manifest_that_trusts_its_members_believes_every_claim() -> None:
    swarm = Swarm()
    swarm.earned = EarnedSpeeds(1.0)
    honest = {A: 100, B: 120, C: 80}
    swarm.rounds(5, honest)
    assert swarm.counted({**honest, LIAR: 10**6})[LIAR] == 10**6


def test_claim_beyond_what_was_earned_is_cut() -> None:
    swarm = Swarm()
    honest = {A: 100, B: 120, C: 80}
    swarm.rounds(3, {**honest, LIAR: 90})
    assert swarm.counted({**honest, LIAR: SAMPLES_MAX}) == {**honest, LIAR: int(GROWTH * 90)}


def test_new_computers_of_one_person_share_a_newcomers_part() -> None:
    swarm, honest, many = Swarm(), {A: 100, B: 120, C: 80}, [PeerId(bytes([200 + number]) * 32) for number in range(5)]
    swarm.earned = EarnedSpeeds(account=lambda peer: account_of(many[0] if peer in many else peer))
    swarm.rounds(3, honest)
    claims = honest | dict.fromkeys(many, 1000)
    one = swarm.counted({**honest, many[0]: 1000})[many[0]]
    assert sum(swarm.counted(claims)[peer] for peer in many) <= one + len(many)
    swarm.earned = EarnedSpeeds()
    swarm.rounds(3, honest)
    assert [swarm.counted(claims)[peer] for peer in many] == [one] * len(many), "people of their own"


def test_newcomer_counts_little_and_for_more_with_each_round() -> None:
    swarm = Swarm()
    honest = {A: 100, B: 120, C: 80}
    swarm.rounds(3, honest)
    counted = [each[LIAR] for each in swarm.rounds(12, {**honest, LIAR: SAMPLES_MAX})]
    assert counted[0] == int(NEWCOMER * GROWTH * 100)
    assert counted[1] == pytest.approx(GROWTH * counted[0], rel=0.05)
    assert max(counted) <= LEAD * 120, "a liar that is patient leads the median member by so much"
    assert swarm.weights({**honest, LIAR: SAMPLES_MAX})[LIAR] == 300, "and has half of the weight of four"


def test_two_liars_in_five_do_not_carry_each_other_up() -> None:
    swarm = Swarm()
    honest = {A: 100, B: 120, C: 80}
    swarm.rounds(20, {**honest, LIAR: SAMPLES_MAX, NEW: SAMPLES_MAX})
    weights = swarm.weights({**honest, LIAR: SAMPLES_MAX, NEW: SAMPLES_MAX})
    assert sum(weights[liar] for liar in (LIAR, NEW)) <= 0.8 * sum(weights.values())


def test_twenty_newcomers_do_not_outweigh_the_others_at_once() -> None:
    swarm = Swarm()
    honest = dict.fromkeys(peer_ids(20), 100)
    swarm.rounds(3, honest)
    sybils = {PeerId(hashed_key(b"sybil", bytes([i]))): SAMPLES_MAX for i in range(20)}
    weights = swarm.weights({**honest, **sybils})
    assert sum(weights[sybil] for sybil in sybils) < 0.3 * sum(weights.values())


@pytest.mark.parametrize("factor", [3, 10])
def test_swarm_that_becomes_faster_is_soon_believed(factor: int) -> None:
    swarm = Swarm()
    honest = {A: 100, B: 120, C: 80}
    swarm.rounds(5, honest)
    faster = {peer: factor * samples for peer, samples in honest.items()}
    swarm.rounds(3, faster)
    assert swarm.counted(faster) == faster


def test_whole_swarm_that_slows_down_is_never_cut() -> None:
    swarm = Swarm()
    honest = {A: 100, B: 120, C: 80}
    swarm.rounds(5, honest)
    swarm.epoch_s = 1000.0
    assert swarm.round(honest) == honest


def test_member_that_comes_back_is_remembered() -> None:
    swarm = Swarm()
    swarm.rounds(3, {A: 100, B: 120, C: 80})
    swarm.rounds(50, {A: 100, B: 120})
    assert swarm.counted({A: 100, B: 120, C: 80})[C] == 80


def test_slow_round_takes_no_earned_speed_away() -> None:
    swarm = Swarm()
    honest = {A: 100, B: 120, C: 80}
    swarm.rounds(3, honest)
    swarm.round({**honest, C: 1})
    assert swarm.counted(honest) == honest


def test_members_that_claim_next_to_nothing_hold_up_nobody() -> None:
    swarm = Swarm()
    swarm.rounds(3, {A: 100})
    swarm.rounds(50, {A: 100, LIAR: 1, NEW: 1})
    assert swarm.believed({A: 100, LIAR: 1, NEW: 1}, 10.0) > 95
    assert swarm.believed({A: 1000, LIAR: 1, NEW: 1}, 100.0) > 950


def test_claims_do_not_make_a_batch_full_at_once() -> None:
    swarm = Swarm()
    honest = dict.fromkeys((A, B, C), 100)
    swarm.rounds(30, {**honest, LIAR: SAMPLES_MAX})
    believed = swarm.believed({**dict.fromkeys(honest, 20.0), LIAR: SAMPLES_MAX}, 2.0)
    assert believed <= 60 + LEAD * 20


def test_peer_at_another_state_believes_what_it_hears() -> None:
    swarm = Swarm()
    swarm.rounds(3, {A: 100, B: 100})
    assert swarm.earned.believed((99, b"x" * 32), {LIAR: 5000.0}, swarm.now + 1) == 5000
    assert swarm.earned.believed(state_of(swarm.epoch), {A: 5000.0}, swarm.now - 1) == 5000, "a clock went back"


def test_memory_is_bounded() -> None:
    swarm = Swarm()
    swarm.rounds(2, {A: 100})
    for i in range(PEERS_MAX // 100 + 5):
        swarm.round({PeerId(hashed_key(b"x", bytes([i, j]))): 5 for j in range(100)})
    assert len(swarm.earned._speeds) == PEERS_MAX


# --- plans ---

HONEST = {A: 100, B: 120, C: 80, LIAR: 90}


def seen(rounds: int) -> Swarm:
    swarm = Swarm()
    swarm.rounds(rounds + 1, HONEST)
    return swarm


def check(swarm: Swarm, samples: Mapping[PeerId, int], *, offered: int = 100, me: PeerId = A) -> None:
    epoch, lineage = state_of(swarm.epoch)
    plan = make_plan([1] * len(samples), 1000)
    plan = msgspec.structs.replace(plan, members=tuple(rows_of(samples)), epoch=epoch, lineage=lineage)
    check_weights(plan, Member(me, offered, 1.0), swarm.earned, swarm.now + swarm.epoch_s)


def test_plan_of_an_honest_leader_passes() -> None:
    for rounds in range(JUDGES_AFTER + 2):
        check(seen(rounds), HONEST)
        check(seen(rounds), {**HONEST, NEW: 100})


def test_plan_beyond_what_a_member_has_earned_is_refused() -> None:
    most = int(TOLERANCE * GROWTH * 90)
    check(seen(JUDGES_AFTER), {**HONEST, LIAR: most})
    with pytest.raises(RemoteProblem, match="more samples"):
        check(seen(JUDGES_AFTER), {**HONEST, LIAR: most + 10})
    check(seen(JUDGES_AFTER - 1), {**HONEST, LIAR: most + 10})
    check(seen(JUDGES_AFTER), {**HONEST, NEW: SAMPLES_MAX}, me=B, offered=120)


def test_plan_that_silences_a_member_is_refused_by_it() -> None:
    with pytest.raises(RemoteProblem, match="this member"):
        check(seen(JUDGES_AFTER), {**HONEST, A: 40})
    check(seen(JUDGES_AFTER), {**HONEST, A: 50})


@given(st.lists(st.integers(1, 10**6), min_size=5, max_size=5), st.integers(0, JUDGES_AFTER + 2))
def test_plain_plan_is_refused_by_nobody(samples: list[int], rounds: int) -> None:
    swarm = seen(rounds)
    offered = rows_of(dict(zip((*HONEST, NEW), samples, strict=True)))
    plain = {PeerId(row.peer): row.samples for row in believed_rows(offered, equal_bounds(offered))}
    for mine in offered:
        check(swarm, plain, me=PeerId(mine.peer), offered=mine.samples)
