"""Bounds of a fleet's lines: the optimum of the plan's program, and plain TCP flows with the bytes of a plan."""

import statistics
from collections.abc import Sequence

import msgspec

from core.averaging.balance import traffic
from core.averaging.balance.portions import best_portions
from core.averaging.balance.solver import round_seconds
from core.averaging.balance.traffic import Work
from core.averaging.matchmaking.division import work_of
from core.averaging.plan import WHOLE_PORTION
from core.net.clock import Clock
from tests.bench.averaging.messages import RoundDone
from tests.bench.children import children, hear_all
from tests.bench.network.fleets import Computer
from tests.bench.network.flows import Flown, FlowsListening, Listen, SendBytes, sizes
from tests.bench.network.lines import Lines

REPEATS = 3
SETTLE_S = 1.0
LIMIT_S = 300.0
TELLING_S = 0.1
"""Rounds for which the lines need less say nothing about lines."""


class FleetLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds that a fleet's lines set to a round."""

    bound_s: float
    """The optimum of the program of S000 appendix B with the true lines; nothing but the lines counts."""
    planned_s: float
    """Duration of the peers' own plan on these lines, seconds."""
    tcp_s: float
    """Plain TCP flows with the bytes of the peers' plan (median)."""
    over_tcp: float
    """Our round over them."""
    over_bound: float

    @property
    def sentence(self) -> str:
        """One sentence on the limits for people."""
        if self.bound_s < TELLING_S:
            return f"The lines would need {self.bound_s:.3f} s: too little to say anything about them."
        return (
            f"{self.over_tcp:.2f} times what plain TCP takes for as many bytes between the same peers, all at once "
            f"and in no order ({self.tcp_s:.2f} s), {self.over_bound:.2f} times what the best plan would take if "
            f"nothing but the lines cost time ({self.bound_s:.2f} s; the plan that was used: {self.planned_s:.2f} s)."
        )


async def flown(
    lines: Lines, fleet: Sequence[Computer], numel: int, *, codec: str, last: RoundDone, seconds: float
) -> FleetLimits:
    """Measure plain flows with the bytes of the last round's plan.

    Args:
        lines: The fleet's lines, which stand.
        fleet: The fleet.
        numel: Numbers in the vector.
        codec: Codec of the round.
        last: The last round, as one of the peers reports it.
        seconds: Duration of this program's round.
    """
    work = work_of(numel, codec)
    known = [computer.line for computer in fleet]
    members = traffic.fleet(known, work)
    best = best_portions(members)
    portions = last.portions or [WHOLE_PORTION if line.gives else 0 for line in known]
    tcp_s = await _tcp_s(lines, bytes_between(fleet, work, last.chunks, portions))
    planned_s = round_seconds(members, chunks=last.chunks, portions=portions)
    return FleetLimits(
        bound_s=round(best.seconds, 3),
        planned_s=round(planned_s, 3),
        tcp_s=round(tcp_s, 3),
        over_tcp=round(seconds / tcp_s, 3),
        over_bound=round(seconds / best.seconds, 3),
    )


def bytes_between(
    fleet: Sequence[Computer], work: Work, chunks: Sequence[int], portions: Sequence[int]
) -> list[list[float]]:
    """Bytes from each (row) to each (column) in a round with these shares."""
    total = sum(chunks)
    shares = [work.numel * count / total for count in chunks]

    def between(i: int, j: int) -> float:
        part = 0.0 if fleet[i].helps else shares[j] * work.number_bytes * portions[i] / WHOLE_PORTION
        mean = 0.0 if fleet[j].helps else shares[i] * work.number_bytes
        return part + mean

    return [[between(i, j) for j in range(len(fleet))] for i in range(len(fleet))]


async def _tcp_s(lines: Lines, matrix: Sequence[Sequence[float]]) -> float:
    count, clock = len(matrix), Clock()
    addresses = [lines.address(index) for index in range(count)]
    times = []
    async with children("tests.bench.network.flows", count, inside=lines.inside) as group:
        for index, child in enumerate(group):
            child.tell(Listen(address=addresses[index]))
        await hear_all(group, FlowsListening, timeout_s=LIMIT_S)
        for _ in range(REPEATS):
            at = clock.now() + SETTLE_S
            for index, child in enumerate(group):
                child.tell(SendBytes(at=at, to=sizes(matrix, addresses, index)))
            times.append(max(one.seconds for one in await hear_all(group, Flown, timeout_s=LIMIT_S)))
    return statistics.median(times)
