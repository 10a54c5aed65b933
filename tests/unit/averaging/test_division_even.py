"""Equal shares where they are as good as any others."""

import pytest

from core.averaging.matchmaking.division import divide, equal_shares, work_of
from core.averaging.plan import Member, Rates
from tests.unit.averaging.pump import peer_ids

MEGA = 1_000_000
WORK = work_of(4 * MEGA, "raw")


def shares(offered: list[Rates], shown: list[Rates]) -> tuple[int, ...]:
    group = [Member(peer, 1, 1.0) for peer in peer_ids(len(offered))]
    chunks, gifts = divide(group, offered, shown=shown, chunks=64, work=WORK)
    assert gifts == ()
    return chunks


def rates(*mega: float) -> list[Rates]:
    return [Rates(int(rate * MEGA), int(rate * MEGA)) for rate in mega]


@pytest.mark.parametrize("other", [4.0, 5.0, 9.0])
def test_two_members_get_equal_shares_whatever_their_lines(other: float) -> None:
    assert shares(rates(5, other), rates(4.8, other)) == (32, 32)
    assert shares(rates(5, other), []) == (32, 32)


def test_lines_that_are_known_a_little_differently_get_equal_shares() -> None:
    assert shares(rates(5, 5.04, 4.97, 5), rates(5, 5, 4.97, 5)) == (16, 16, 16, 16)


def test_different_lines_get_different_shares() -> None:
    """Nor where only what they have shown differs."""
    for offered, shown in ((rates(10, 5, 5, 5), []), (rates(10, 10, 5, 5), rates(10, 5, 5, 5))):
        found = shares(offered, shown)
        group = [Member(peer, 1, 1.0) for peer in peer_ids(len(offered))]
        assert found != equal_shares(group, 64)
        assert found[0] > 1.5 * found[-1]
