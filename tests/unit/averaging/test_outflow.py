"""When parts leave: in proportion over all shares, and evenly over the planned time."""

import msgspec
import pytest

from core.averaging.allreduce.lane import Lane
from core.averaging.allreduce.outflow import TURNS_PART, Outflow
from core.averaging.allreduce.windows import HELD_PART, HELPERS_MORE, PACE_ROOM, PACED_FROM_S, schedule_s, windows_of
from core.averaging.codecs import CODECS
from core.averaging.plan import Rates
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
    counts, early = (4, 10), (0.0, 0.5 * TURNS_PART)  # of two members, the second share's parts go half a turn earlier
    due = {(s, c): (c + 0.5) / counts[s] - early[s] for s in (0, 1) for c in range(counts[s])}
    assert [due[share, chunk] for share, chunk, _ in left] == sorted(due.values())
    for share, chunk, at in left:
        before = [due[s, c] - 1 / counts[s] for s, c in due if due[s, c] <= due[share, chunk]]
        assert at == pytest.approx(20.0 * max(0.0, *before))


def test_members_take_turns_within_a_parts_length() -> None:
    members, count, seconds = 5, 100, 1000.0
    seventh = []
    for me in range(1, members):
        lanes = [Lane(count, reducer=share, window=count, now=T0) for share in range(members)]
        lanes[0].warm_up()
        lanes[0].ready = True
        flow = Outflow(lanes, me=me, parts=count, seconds=seconds)
        flow.changed(0)
        now: float | None = T0
        while now is not None:
            seventh += [now - T0 for _, chunk in flow.leaving(now) if chunk == 7]
            now = flow.again_at
    even = seconds / count / members
    assert sorted(seventh) == pytest.approx([65.0 - even * turn for turn in (4, 3, 2, 1)])


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


@pytest.mark.parametrize("name", ["raw", "fp16", "u8"])
@pytest.mark.parametrize("helps", [False, True])
def test_more_may_wait_where_there_is_neither_a_contribution_nor_a_result(name: str, *, helps: bool) -> None:
    """In parts of the vector, over all senders: at a member beside both of these, at a helper in their place."""
    codec = CODECS[name]
    plan = make_plan([1] * 8 + [int(not helps)], 1600 * 69, chunk_numel=1600)
    helper = msgspec.structs.replace(plan.members[8], receives=not helps)
    plan = msgspec.structs.replace(plan, members=(*plan.members[:8], helper), chunks=(0,) * 8 + (69,))
    *_, window = windows_of(plan, codec).shares
    part = 8 * codec.wire_bytes(1600) / (4 * plan.numel)
    most = (HELPERS_MORE if helps else 1) / HELD_PART
    assert most - part < window * part <= 1.01 * most  # parts of blocks have a little more head than the whole has
