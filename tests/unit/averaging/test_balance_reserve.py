"""Rounds that are as short by what lines offer, divided by what they have shown."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from scipy.optimize import linprog

from core.averaging.balance.portions import best_portions
from core.averaging.balance.solver import AS_SHORT, round_seconds, share_chunks
from core.averaging.balance.traffic import Line, Work, fleet, rows
from core.averaging.plan import WHOLE_PORTION

WORK = Work(numel=1_000_000, number_bytes=4.0)
TOTAL = 400


def line(up: float, down: float | None = None, *, gives: bool = True, reduces: bool = True) -> Line:
    return Line(up_bytes_per_s=up * 1e6, down_bytes_per_s=(down or up) * 1e6, gives=gives, reduces=reduces)


def seconds(lines: list[Line], chunks: tuple[int, ...], portions: tuple[int, ...]) -> float:
    return round_seconds(fleet(lines, WORK), chunks=chunks, portions=portions)


def busy(lines: list[Line], chunks: tuple[int, ...]) -> list[float]:
    """Each line's seconds."""
    members = fleet(lines, WORK)
    return list(rows(members, members.gives).seconds(np.array(chunks) / sum(chunks)))


def test_offer_that_does_not_shorten_the_round_is_not_taken() -> None:
    """Two of 80 that offer 160 beside four of 40, all waiting for two of 20: nobody needs the second 80."""
    true = [line(80)] * 2 + [line(40)] * 4 + [line(20)] * 2
    offered = [line(160)] * 2 + true[2:]
    best = best_portions(fleet(offered, WORK))
    greedy = share_chunks(fleet(offered, WORK), best, total=TOTAL)
    chunks = share_chunks(fleet(offered, WORK), best, total=TOTAL, shown=fleet(true, WORK))
    assert seconds(offered, chunks, best.portions) <= best.seconds * (1 + AS_SHORT)
    slowest = max(busy(true, chunks)[:6])
    assert max(busy(true, greedy)[:6]) > 1.1 * slowest, "or there would be nothing to reserve"
    assert slowest == pytest.approx(
        max(busy(true, share_chunks(fleet(true, WORK), best_portions(fleet(true, WORK)), total=TOTAL))[:6])
    )


def test_an_offer_that_shortens_the_round_is_taken() -> None:
    shown = [line(40)] * 8 + [line(40, gives=False)]
    offered = [line(40)] * 8 + [line(80, gives=False)]
    best = best_portions(fleet(offered, WORK))
    chunks = share_chunks(fleet(offered, WORK), best, total=TOTAL, shown=fleet(shown, WORK))
    assert seconds(offered, chunks, best.portions) <= (1 + AS_SHORT) * best.seconds * 1.01
    assert chunks[-1] >= 0.9 * share_chunks(fleet(offered, WORK), best, total=TOTAL)[-1]


def test_where_all_is_shown_it_is_the_shortest_round() -> None:
    lines = [line(16), line(8), line(4, 40), line(4, reduces=False), line(2)]
    best = best_portions(fleet(lines, WORK))
    chunks = share_chunks(fleet(lines, WORK), best, total=TOTAL, shown=fleet(lines, WORK))
    assert chunks == share_chunks(fleet(lines, WORK), best, total=TOTAL)


@pytest.mark.parametrize("seed", range(30))
def test_division_is_shortest_by_shown_rates_within_the_offers_time(seed: int) -> None:
    """Against the linear program: the least time by what was shown, while the offers' time is kept.

    Where a line would be faster with more work, it is only no longer than without what was shown.
    """
    random = Random(seed)
    shown = [line(random.uniform(1, 40), random.uniform(1, 40)) for _ in range(random.randint(3, 9))]
    offered = [
        replace(
            one,
            up_bytes_per_s=one.up_bytes_per_s * random.uniform(1, 2),
            down_bytes_per_s=one.down_bytes_per_s * random.uniform(1, 2),
        )
        for one in shown
    ]
    best = best_portions(fleet(offered, WORK))
    chunks = share_chunks(fleet(offered, WORK), best, total=100_000, shown=fleet(shown, WORK))
    limit = best.seconds * (1 + AS_SHORT)
    assert best.portions == (WHOLE_PORTION,) * len(shown)
    assert seconds(offered, chunks, best.portions) <= limit * 1.001
    least = _least(offered, shown, limit)
    greedy = share_chunks(fleet(offered, WORK), best, total=100_000)
    members = fleet(offered, WORK)
    found = rows(members, members.gives)
    if found.slope.min() >= 0:
        assert seconds(shown, chunks, best.portions) <= 1.001 * least
    assert seconds(shown, chunks, best.portions) <= 1.001 * seconds(shown, greedy, best.portions)


def _least(offered: list[Line], shown: list[Line], limit_s: float) -> float:
    """Variables: the shares, and the time by what was shown."""
    count = len(shown)
    matrix, right = [], []
    for lines, is_shown in ((offered, False), (shown, True)):
        members = fleet(lines, WORK)
        found = rows(members, members.gives)
        for base, slope in zip(found.base, found.slope, strict=True):
            for index in range(count):
                row = np.zeros(count + 1)
                row[index] = slope[index]
                row[count] = -1.0 if is_shown else 0.0
                matrix.append(row)
                right.append(-base[index] if is_shown else limit_s - base[index])
    cost = np.zeros(count + 1)
    cost[count] = 1.0
    solved = linprog(
        cost,
        A_ub=np.array(matrix),
        b_ub=np.array(right),
        A_eq=[[1.0] * count + [0.0]],
        b_eq=[1.0],
        bounds=[(0, 1)] * count + [(0, None)],
    )
    assert solved.status == 0
    return float(solved.fun)
