"""When parts leave: in proportion over all shares, and evenly over the planned time."""

import msgspec
import pytest

from core.averaging.codecs import CODECS
from core.averaging.plan import Rates
from core.averaging.topologies.lane import Lane
from core.averaging.topologies.outflow import Outflow
from core.averaging.topologies.windows import PACE_ROOM, PACED_FROM_S, schedule_s
from tests.unit.averaging.pump import make_plan

T0 = 1000.0


def outflow(*counts: int, seconds: float) -> tuple[list[Lane], Outflow]:
    lanes = [Lane(count, reducer=share + 1, window=count, now=T0) for share, count in enumerate(counts)]
    flow = Outflow(lanes, me=0, parts=sum(counts), seconds=seconds)
    for share, lane in enumerate(lanes):
        lane.warm_up()
        lane.ready = True
        flow.changed(share)
    return lanes, flow


def test_all_leave_at_once_where_the_plan_says_no_time() -> None:
    _, flow = outflow(4, 8, seconds=0.0)
    assert len(list(flow.leaving(T0))) == 12
    assert flow.again_at is None


def test_the_parts_of_each_share_leave_evenly_over_the_time() -> None:
    _, flow = outflow(4, 10, seconds=20.0)
    left: list[tuple[int, int, float]] = []
    now: float | None = T0
    while now is not None:
        left += [(share, chunk, now - T0) for share, chunk in flow.leaving(now)]
        now = flow.again_at
    parts = sorted((c + 0.5) / n for n in (4, 10) for c in range(n))
    assert [(chunk + 0.5) / (4, 10)[share] for share, chunk, _ in left] == parts
    for share, chunk, at in left:
        count = (4, 10)[share]
        before = [(c - 0.5) / n for n in (4, 10) for c in range(n) if (c + 0.5) / n <= (chunk + 0.5) / count]
        assert at == pytest.approx(20.0 * max(0.0, *before))


def test_whoever_is_late_catches_up_at_once() -> None:
    _, flow = outflow(10, seconds=20.0)
    assert len(list(flow.leaving(T0))) == 1
    assert [chunk for _, chunk in flow.leaving(T0 + 11.0)] == [1, 2, 3, 4, 5, 6]


def test_the_time_is_what_the_busiest_line_of_the_plan_takes() -> None:
    plan = make_plan([1, 1, 1], 16 * 30)
    paced = msgspec.structs.replace(plan, lines=(Rates(0, 0), Rates(1000, 500), Rates(0, 0)), paced=True)
    raw_bytes = 16 * 4
    inward = (20 + 2 * 10) * raw_bytes  # the means of two shares, and two parts of each chunk of its own
    assert schedule_s(paced, CODECS["raw"]) == pytest.approx(PACE_ROOM * inward / 500)


def test_short_rounds_and_those_without_lines_are_not_paced() -> None:
    plan = msgspec.structs.replace(make_plan([1, 1], 16 * 30), paced=True)
    rate = int(2 * 15 * 16 * 4 / PACED_FROM_S)
    for rates, expected in (
        ((), False),
        ((Rates(rate + 100, rate + 100),) * 2, False),
        ((Rates(rate, rate),) * 2, True),
    ):
        assert (schedule_s(msgspec.structs.replace(plan, lines=rates), CODECS["raw"]) > 0) is expected
    slow = msgspec.structs.replace(plan, lines=(Rates(10, 10),) * 2, paced=False)
    assert schedule_s(slow, CODECS["raw"]) == 0.0
