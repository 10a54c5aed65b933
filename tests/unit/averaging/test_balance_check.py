import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.averaging.balance.portions import best_portions
from core.averaging.balance.shares import apportion
from core.averaging.balance.solver import check_balance, share_chunks
from core.averaging.balance.traffic import Work, fleet
from core.base.problems import RemoteProblem
from tests.unit.averaging.test_balance import LINES, RAW, WORKS, line
from tests.unit.averaging.test_balance_gives import homes, work
from tests.unit.averaging.test_balance_limited import LIMITS

FLEET = [line(100, 40), line(100, 40), line(50, 10), line(50, 10), line(20, 5), line(200, reduces=False)]


@settings(deadline=None, max_examples=60)
@given(LINES, WORKS, LIMITS, st.integers(1, 1000), st.booleans())
def test_our_own_plan_passes(lines, task, limits, total, limited):
    limits = limits if limited else None
    ours = best_portions(fleet(lines, task, limits))
    chunks = share_chunks(fleet(lines, task, limits), ours, total=total)
    check_balance(fleet(lines, task, limits), chunks=chunks, portions=ours.portions)
    check_balance(fleet(lines, task, limits), chunks=apportion(total, ours.weights), portions=ours.portions)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000), st.integers(2, 12), st.floats(0.1, 1000), st.booleans())
def test_our_own_plan_with_portions_passes(seed, size, batch_s, limited):
    lines = homes(seed, size)
    task = work(lines, batch_s)
    limits = {(i, (i * 7 + seed) % size): 50_000.0 for i in range(size)} if limited else None
    ours = best_portions(fleet(lines, task, limits))
    chunks = share_chunks(fleet(lines, task, limits), ours, total=70)
    check_balance(fleet(lines, task, limits), chunks=chunks, portions=ours.portions)


@pytest.mark.parametrize(
    ("chunks", "sentence"),
    [
        ((0, 0, 0, 0, 100, 0), "takes .* s where .* s are enough"),
        ((20, 20, 20, 20, 20, 0), "takes .* s where .* s are enough"),
        ((0, 0, 0, 0, 0, 100), "reduces none"),
        ((49, 49, 0, 0, 0, 2), "reduces none"),
    ],
)
def test_bad_shares_are_refused(chunks, sentence):
    with pytest.raises(RemoteProblem, match=sentence):
        check_balance(fleet(FLEET, RAW), chunks=chunks, portions=(256,) * 6)


@pytest.mark.parametrize("portions", [(0,) * 6, (256,) * 5 + (0,), (256,) * 5 + (255,)])
def test_portions_are_whole_where_there_is_no_target_batch(portions):
    ours = best_portions(fleet(FLEET, RAW))
    with pytest.raises(RemoteProblem):
        check_balance(fleet(FLEET, RAW), chunks=share_chunks(fleet(FLEET, RAW), ours, total=100), portions=portions)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("batch_s", [5.0, 30.0, 1e5])
def test_portions_that_starve_a_member_are_refused(seed, batch_s):
    lines = homes(seed, 8)
    task = work(lines, batch_s)
    ours = best_portions(fleet(lines, task))
    refused = 0
    for victim in np.flatnonzero(np.array(ours.portions) >= 64):
        portions = [0 if i == victim else portion for i, portion in enumerate(ours.portions)]
        chunks = share_chunks(fleet(lines, task), ours, total=500)
        with pytest.raises(RemoteProblem):
            check_balance(fleet(lines, task), chunks=chunks, portions=portions)
        refused += 1
    assert refused


def test_a_target_batch_is_no_excuse_for_no_portions():
    lines = homes(2, 6)
    task = work(lines, 10.0)
    ours = best_portions(fleet(lines, task))
    with pytest.raises(RemoteProblem, match="nobody gives"):
        check_balance(fleet(lines, task), chunks=share_chunks(fleet(lines, task), ours, total=100), portions=(0,) * 6)


def test_plan_with_whole_portions_is_refused_when_far_too_slow():
    lines = homes(2, 6)
    task = work(lines, 1.0)
    whole = best_portions(fleet(lines, Work(numel=task.numel, number_bytes=1)))
    chunks = share_chunks(fleet(lines, task), whole, total=500)
    with pytest.raises(RemoteProblem, match="steps a second"):
        check_balance(fleet(lines, task), chunks=chunks, portions=whole.portions)


def test_a_plan_that_is_a_little_worse_passes():
    ours = best_portions(fleet(FLEET, RAW))
    chunks = list(share_chunks(fleet(FLEET, RAW), ours, total=10_000))
    chunks[int(np.argmax(chunks))] -= 40
    chunks[4] += 40
    check_balance(fleet(FLEET, RAW), chunks=chunks, portions=ours.portions, tolerance=0.05)
    with pytest.raises(RemoteProblem):
        check_balance(fleet(FLEET, RAW), chunks=chunks, portions=ours.portions)
