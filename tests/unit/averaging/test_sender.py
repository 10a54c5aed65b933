"""How many parts may be on their way, and how many may wait at a reducer."""

import msgspec
import pytest

from core.averaging.allreduce.lane import AHEAD_MIN, HELD_PART, windows_of
from core.averaging.bandwidth.demand import OTHERS_PART, PACED_PART, even_s
from core.averaging.plan import FAST_BYTES_S, Rates
from core.codecs.registry import CODECS
from tests.unit.averaging.pump import make_plan


@pytest.mark.parametrize("name", ["raw", "fp16", "u8"])
@pytest.mark.parametrize("helps", [False, True])
def test_parts_that_wait_take_half_a_vector(name: str, *, helps: bool) -> None:
    """In parts of the vector, over all senders."""
    codec = CODECS[name]
    plan = make_plan([1] * 8 + [int(not helps)], 1600 * 69, chunk_numel=1600)
    helper = msgspec.structs.replace(plan.members[8], receives=not helps)
    plan = msgspec.structs.replace(plan, members=(*plan.members[:8], helper), chunks=(0,) * 8 + (69,))
    *_, window = windows_of(plan, codec)
    part = 8 * codec.max_bytes(1600) / (4 * plan.numel)
    most = 1 / HELD_PART
    assert most - part < window * part <= 1.01 * most  # parts of blocks have a little more head than the whole has


def test_small_shares_keep_two_chunks_on_their_way() -> None:
    windows = windows_of(make_plan([1] * 8, 16 * 8), CODECS["raw"])
    assert windows == (AHEAD_MIN,) * 8


def rates_of(up: float) -> Rates:
    return Rates(int(up), int(up))


def test_one_word_about_a_line_slows_no_other_link() -> None:
    plan = make_plan([1] * 6, 60_000, chunk_numel=1000)
    usual = msgspec.structs.replace(plan, lines=tuple(rates_of(20_000) for _ in range(6)))
    slow = msgspec.structs.replace(plan, lines=(Rates(1, 1), *usual.lines[1:]))
    before, after = (even_s(each) for each in (usual, slow))
    assert 0 < after <= min(OTHERS_PART * before, plan.round_timeout_s / 2) / PACED_PART * (1 + 1e-9)


def test_computers_faster_than_lines_are_not_paced() -> None:
    plan = make_plan([1] * 4, 60_000_000, chunk_numel=100_000)
    slower, fast = rates_of(FAST_BYTES_S - 1), rates_of(FAST_BYTES_S)
    mostly_slow, mostly_fast = (
        msgspec.structs.replace(plan, lines=lines)
        for lines in ((fast, slower, slower, slower), (slower, fast, fast, fast))
    )
    assert even_s(mostly_slow) > 0
    assert even_s(mostly_fast) == 0
