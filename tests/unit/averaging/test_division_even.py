"""Equal shares where they are as good as any others."""

import msgspec
import pytest

from core.averaging.matchmaking.division import divide, equal_shares
from core.averaging.plan import Plan, Rates
from tests.unit.averaging.pump import make_plan

MEGA = 1_000_000


def plan_of(offered: list[Rates]) -> Plan:
    plan = make_plan([1] * len(offered), 4 * MEGA, chunk_numel=4 * MEGA // 64)
    return msgspec.structs.replace(plan, lines=tuple(offered))


def shares(offered: list[Rates], shown: list[Rates]) -> tuple[int, ...]:
    chunks, portions = divide(plan_of(offered), shown=shown)
    assert portions == ()
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
        assert found != equal_shares(plan_of(offered))
        assert found[0] > 1.5 * found[-1]
