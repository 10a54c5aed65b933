"""Bulk of a round leaves evenly, and a link that was held up catches up."""

import pytest

from core.base.budget import BURST_BYTES_LEAST, BURST_S, CATCH_UP, FOLLOWS, LOOK_S, SPARE, WINDOW_S, Budget
from core.base.machine import Transfer

TRANSFER = Transfer(8e6, 8.0)
PLANNED = TRANSFER.bulk_bytes / TRANSFER.seconds


def sent(budget: Budget, *, until: float, held_up: tuple[float, float] = (0.0, 0.0), piece: int = 5000) -> float:
    """When the last byte leaves a link on which there is always more to send, by its tokens."""
    now, left = 0.0, TRANSFER.bulk_bytes
    while left > 0 and now < until:
        wait_s = budget.wait_s(now)
        if held_up[0] <= now < held_up[1]:
            now = held_up[1]
        elif wait_s:
            now += wait_s
        else:
            budget.spend(piece)
            left -= piece
            now += 1e-5
    return now


def test_budget_spreads_bytes_evenly_over_its_seconds() -> None:
    assert sent(Budget(TRANSFER, 0.0), until=20.0) == pytest.approx(TRANSFER.seconds, rel=0.02)


def test_budget_catches_up_after_a_pause() -> None:
    pause_s = (CATCH_UP - 1) * 2.0
    assert sent(Budget(TRANSFER, 0.0), until=20.0, held_up=(3.0, 3.0 + pause_s)) == pytest.approx(8.0, rel=0.02)


def test_budget_never_exceeds_its_plan_by_more_than_catching_up() -> None:
    budget = Budget(TRANSFER, 0.0)
    rates = [budget.rate(now / 10) for now in range(round(10 * SPARE * TRANSFER.seconds))]
    assert all(rate is not None and PLANNED <= rate <= CATCH_UP * PLANNED for rate in rates)
    assert budget.rate(SPARE * TRANSFER.seconds) is None


def test_budget_without_a_plan_lets_bulk_leave_at_once() -> None:
    budget = Budget(Transfer(8e6, 60.0, even=False), 0.0)
    assert budget.active(1.0)
    assert budget.rate(1.0) is None
    assert budget.wait_s(1.0) == 0.0


@pytest.mark.parametrize(("part", "follows"), [(1.0, True), (FOLLOWS * 0.9, False)])
def test_link_follows_its_budget_when_it_carries_the_rate(part: float, *, follows: bool) -> None:
    budget, looks = Budget(TRANSFER, 0.0), round(4 * WINDOW_S / LOOK_S)
    seen = []
    for look in range(looks):
        now = look * LOOK_S
        seen.append(budget.follows(now, 1, round(part * PLANNED * now)))
        budget.spend(round(part * PLANNED * LOOK_S))
    assert seen[-1] is follows


@pytest.mark.parametrize("seconds", [8.0, 8000.0])
def test_budget_lets_little_wait_where_control_must_overtake(seconds: float) -> None:
    budget = Budget(Transfer(8e6, seconds), 0.0)
    assert budget.burst_bytes(0.0) == max(BURST_BYTES_LEAST, int(BURST_S * 8e6 / seconds))


def test_links_of_one_peer_follow_the_budget_together() -> None:
    budget, seen = Budget(TRANSFER, 0.0), []
    for look in range(round(4 * WINDOW_S / LOOK_S)):
        now = look * LOOK_S
        for link, earlier in ((1, 10**9), (2, 0)):
            seen.append(budget.follows(now, link, earlier + round(PLANNED * now / 2)))
        budget.spend(round(PLANNED * LOOK_S))
    assert all(seen)
