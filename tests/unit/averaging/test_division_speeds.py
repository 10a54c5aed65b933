"""What members are taken to compute."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.averaging.matchmaking import BROUGHT_FACTOR
from core.averaging.matchmaking.division import check_shares, divide, speeds_of
from core.averaging.plan import Member, Rates
from tests.unit.averaging.pump import make_plan, peer_ids

MEGA = 1_000_000


def members(*brought: tuple[int, float]) -> list[Member]:
    peers = peer_ids(len(brought))
    return [
        Member(peer, samples, 1.0, samples_per_s=speed) for peer, (samples, speed) in zip(peers, brought, strict=True)
    ]


def test_an_honest_group_is_taken_at_its_word() -> None:
    assert speeds_of(members((100, 10.0), (201, 20.0), (150, 15.0))) == [10.0, 20.0, 15.0]


def test_claimed_speed_is_bounded_by_samples_brought() -> None:
    speeds = speeds_of(members((100, 10.0), (200, 20.0), (300, 30.0), (10, 1e9)))
    assert speeds == [10.0, 20.0, 30.0, pytest.approx(BROUGHT_FACTOR * 1.0)]


@given(st.lists(st.tuples(st.integers(0, 10**9), st.floats(0, 1e12)), min_size=2, max_size=12))
def test_no_member_counts_for_more_than_all_others(brought: list[tuple[int, float]]) -> None:
    speeds = speeds_of(members(*brought))
    assert (
        max(speeds) <= sum(speeds) - max(speeds) + 1e-6 * max(speeds)
        or max(speeds) == 0
        or not any(samples and speed for samples, speed in brought)
    )
    assert all(speed <= word for speed, (_, word) in zip(speeds, brought, strict=True))


def test_boaster_pushes_no_contribution_out_of_the_mean() -> None:
    """Believed, 1e9 samples a second would make everybody else's samples worth nothing beside the time they take."""
    group = members((100, 10.0), (100, 10.0), (100, 10.0), (100, 1e9))
    plan = make_plan([1] * 4, 4 * MEGA, chunk_numel=4 * MEGA // 64)
    plan = msgspec.structs.replace(plan, members=tuple(group), lines=(Rates(MEGA, MEGA),) * 4)
    assert divide(plan, target_samples=1200)[1] == (), "all give all"


@pytest.mark.parametrize("speeds", [(5.0, 1e-200), (5.0, 0.0, 1e-200), (5.0, 5.0, 1e-200, 1e-200), (5e-324, 1e-310)])
def test_member_that_computes_next_to_nothing_ends_no_leader(speeds: tuple[float, ...]) -> None:
    """The leader divided by its square, in its own timer: its process ended."""
    group = members(*((2048, speed) for speed in speeds))
    plan = make_plan([1] * len(group), MEGA, chunk_numel=4096)
    lines = tuple(Rates(MEGA * (1 + place), MEGA) for place in range(len(group)))
    plan = msgspec.structs.replace(plan, members=tuple(group), lines=lines)
    chunks, portions = divide(plan, target_samples=4096, overlaps=False)
    divided = msgspec.structs.replace(plan, chunks=chunks, portions=portions)
    check_shares(divided, target_samples=4096, overlaps=False)
