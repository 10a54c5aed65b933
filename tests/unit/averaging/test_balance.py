import itertools
import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.averaging.balance.portions import WEIGHT_UNIT, Choice, best_portions
from core.averaging.balance.shares import apportion
from core.averaging.balance.solver import round_seconds, share_chunks
from core.averaging.balance.traffic import Line, Work, fleet
from tests.unit.averaging.balance_reference import pairwise_seconds

MEGA = 1e6 / 8
RAW = Work(numel=1_000_000, number_bytes=4)


def line(down, up=None, **how):
    """Rates in Mbit/s."""
    return Line(down_bytes_per_s=down * MEGA, up_bytes_per_s=(down if up is None else up) * MEGA, **how)


def helper(down, up=None):
    return line(down, up, gives=False, receives=False)


def shares(divided: Choice):
    return np.array(divided.weights) / sum(divided.weights)


RATES = st.sampled_from([1, 2, 5, 10, 20, 40, 100, 250, 1000])
LINES = st.lists(
    st.builds(
        line, RATES, RATES, gives=st.booleans(), reduces=st.sampled_from([True, True, False]), receives=st.booleans()
    ),
    min_size=1,
    max_size=7,
)
WORKS = st.builds(
    Work,
    numel=st.integers(1, 10**9),
    number_bytes=st.sampled_from([0.5, 1.02, 2.0, 4.0]),
)


# --- the special cases of S000 3.2 -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [3, 4, 8, 16, 256])
def test_equal_peers_do_a_butterfly_all_reduce(size):
    divided = best_portions(fleet([line(100)] * size, RAW))
    assert set(divided.weights) == {divided.weights[0]}
    assert divided.seconds == pytest.approx(2 * (size - 1) / size * 4e6 / (100 * MEGA))


def test_one_fast_helper_is_a_parameter_server():
    divided = best_portions(fleet([*[line(100)] * 3, helper(2000)], RAW))
    assert shares(divided) == pytest.approx([0, 0, 0, 1], abs=1e-5)
    assert divided.seconds == pytest.approx(4e6 / (100 * MEGA))


def test_as_many_equal_helpers_are_byteps():
    divided = best_portions(fleet([*[line(100)] * 4, *[helper(100)] * 4], RAW))
    assert shares(divided) == pytest.approx([0] * 4 + [1 / 4] * 4, abs=1e-5)
    assert divided.seconds == pytest.approx(4e6 / (100 * MEGA))


def test_fewer_helpers_share_with_the_workers():
    divided = best_portions(fleet([*[line(100)] * 6, helper(300)], RAW))
    server = np.linspace(0, 1, 100_001)
    worker = (1 - server) / 6
    best = np.min(np.maximum((1 + 4 * worker) / 100, 6 * server / 300)) * 4e6 / MEGA
    assert divided.seconds == pytest.approx(best, rel=1e-4)


def test_two_peers_average_as_in_decentralised_sgd():
    divided = best_portions(fleet([line(100), line(100)], RAW))
    assert shares(divided) == pytest.approx([0.5, 0.5])
    assert divided.seconds == pytest.approx(4e6 / (100 * MEGA))


# --- closed forms ----------------------------------------------------------------------------------------------------


def test_clients_get_no_share_and_the_others_get_equal_ones():
    divided = best_portions(fleet([*[line(10, reduces=False)] * 3, *[line(10)] * 3], RAW))
    assert divided.weights[:3] == (0, 0, 0)
    assert shares(divided)[3:] == pytest.approx([1 / 3] * 3, abs=1e-6)
    assert divided.seconds == pytest.approx((1 - 1 / 3 + 5 / 3) * 4e6 / (10 * MEGA))


def test_where_nobody_may_reduce_everybody_does():
    assert set(best_portions(fleet([line(10, reduces=False)] * 4, RAW)).weights) == {WEIGHT_UNIT // 4}


def test_member_that_is_always_slowest_gets_nothing_to_reduce():
    divided = best_portions(fleet([line(1), *[line(100)] * 4], RAW))
    assert divided.weights[0] == 0
    assert len(set(divided.weights[1:])) == 1
    assert divided.seconds == pytest.approx(4e6 / MEGA)


@pytest.mark.parametrize(
    ("lines", "numel", "seconds"),
    [
        ([line(40)] * 8, 4.5e6, 6.3),
        ([*[line(80)] * 2, *[line(40)] * 4, *[line(20)] * 2], 4.5e6, 7.2),
        ([*[line(80)] * 2, *[line(40)] * 4, *[line(20)] * 2, helper(400)], 4.5e6, 7.2),
        ([*[line(40)] * 8, helper(400)], 4.5e6, 3.6),
        ([*[line(100, 40)] * 2, *[line(50, 10)] * 4, *[line(20, 5)] * 2], 2e6, 12.8),
    ],
)
def test_fleets_whose_bound_is_known(lines, numel, seconds):
    work = Work(numel=int(numel), number_bytes=4)
    assert best_portions(fleet(lines, work)).seconds == pytest.approx(seconds, rel=0.005)


def test_a_peer_alone_takes_no_time():
    alone = best_portions(fleet([line(10)], RAW))
    assert (alone.weights, alone.portions, alone.seconds) == ((WEIGHT_UNIT,), (256,), 0.0)


def test_rates_from_a_modem_to_a_data_centre():
    lines = [Line(up_bytes_per_s=1e3, down_bytes_per_s=1e3), *[Line(up_bytes_per_s=1e10, down_bytes_per_s=1e10)] * 255]
    divided = best_portions(fleet(lines, RAW))
    assert divided.seconds == pytest.approx(4e6 / 1e3)
    assert divided.weights[0] == 0
    assert len(set(divided.weights[1:])) == 1


def test_a_round_without_members_is_our_own_mistake():
    with pytest.raises(ValueError, match="at least one member"):
        best_portions(fleet([], RAW))


# --- against independent references ----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(LINES, WORKS)
def test_it_is_the_optimum_of_the_pairwise_program(lines, work):
    divided = best_portions(fleet(lines, work))
    assert divided.seconds == pytest.approx(pairwise_seconds(lines, work), rel=1e-5, abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.builds(line, RATES, RATES, gives=st.booleans()), min_size=2, max_size=4), WORKS)
def test_no_division_on_a_grid_is_better(lines, work):
    portions = [256 * one.gives for one in lines]
    steps = 12
    cuts = itertools.combinations_with_replacement(range(steps + 1), len(lines) - 1)
    grid = [np.diff([0, *cut, steps]).tolist() for cut in cuts]
    best = min(round_seconds(fleet(lines, work), chunks=chunks, portions=portions) for chunks in grid)
    assert best_portions(fleet(lines, work)).seconds <= best * (1 + 1e-9)


@settings(deadline=None, max_examples=60)
@given(LINES, WORKS)
def test_its_weights_take_the_time_that_it_says(lines, work):
    divided = best_portions(fleet(lines, work))
    taken_s = round_seconds(fleet(lines, work), chunks=divided.weights, portions=divided.portions)
    assert taken_s == pytest.approx(divided.seconds, rel=1e-4, abs=1e-9)


# --- what must hold --------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(LINES, WORKS, st.floats(0.01, 100))
def test_lines_k_times_as_fast_divide_the_time_by_k(lines, work, k):
    faster = [
        Line(
            up_bytes_per_s=one.up_bytes_per_s * k,
            down_bytes_per_s=one.down_bytes_per_s * k,
            gives=one.gives,
            reduces=one.reduces,
            receives=one.receives,
        )
        for one in lines
    ]
    assert best_portions(fleet(faster, work)).seconds == pytest.approx(
        best_portions(fleet(lines, work)).seconds / k, rel=1e-9, abs=1e-12
    )


@settings(deadline=None, max_examples=50)
@given(LINES, WORKS, st.randoms(use_true_random=False))
def test_members_in_another_order_get_the_same(lines, work, chance):
    order = list(range(len(lines)))
    chance.shuffle(order)
    one, other = best_portions(fleet(lines, work)), best_portions(fleet([lines[i] for i in order], work))
    assert np.array(other.weights) == pytest.approx(np.array(one.weights)[order], abs=2)


@settings(deadline=None, max_examples=50)
@given(LINES, WORKS, RATES)
def test_one_more_helper_makes_it_no_slower(lines, work, rate):
    if any(one.reduces for one in lines):
        assert (
            best_portions(fleet([*lines, helper(rate)], work)).seconds
            <= best_portions(fleet(lines, work)).seconds * (1 + 1e-9) + 1e-12
        )


@settings(deadline=None, max_examples=50)
@given(LINES, WORKS)
def test_equal_members_get_equal_weights(lines, work):
    divided = best_portions(fleet([*lines, *lines], work))
    assert divided.weights[: len(lines)] == divided.weights[len(lines) :]


# --- whole chunks ----------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(st.lists(st.builds(line, RATES, RATES, gives=st.booleans()), min_size=2, max_size=4), st.integers(1, 9))
def test_no_other_division_into_whole_chunks_is_better(lines, total):
    assume(any(one.gives for one in lines))  # nobody calls a round to which nobody has anything to give
    divided = best_portions(fleet(lines, RAW))
    found = share_chunks(fleet(lines, RAW), divided, total=total)
    assert sum(found) == total
    cuts = itertools.combinations_with_replacement(range(total + 1), len(lines) - 1)
    best = min(
        round_seconds(fleet(lines, RAW), chunks=np.diff([0, *cut, total]).tolist(), portions=divided.portions)
        for cut in cuts
    )
    assert round_seconds(fleet(lines, RAW), chunks=found, portions=divided.portions) <= best * (1 + 1e-5)


def test_many_chunks_are_divided_as_the_weights_say():
    lines = [line(100, 40), line(50, 10), line(20, 5), line(400)]
    divided = best_portions(fleet(lines, RAW))
    found = share_chunks(fleet(lines, RAW), divided, total=10_000)
    assert np.array(found) == pytest.approx(apportion(10_000, divided.weights), abs=1)


# --- and quickly -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "seconds"), [(16, 0.01), (64, 0.05)])
def test_a_round_is_divided_in_little_time(size, seconds):
    lines = [line(20 + 7 * i % 90, 5 + 3 * i % 40) for i in range(size)]
    took = []
    for _ in range(5):
        began = time.process_time()
        best_portions(fleet(lines, RAW))
        took.append(time.process_time() - began)
    assert min(took) < seconds
