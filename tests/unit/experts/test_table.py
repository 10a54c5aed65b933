"""What a trainer knows of hosts, and for how long."""

from math import prod
from random import Random
from time import process_time

import numpy as np
import pytest

import core.experts.table as table_module
from core.base.ids import PeerId
from core.experts.grid import ExpertGrid, best_places
from core.experts.table import REFRESH_S, ExpertTable, RowNews

A, B = (PeerId(bytes([n]) * 32) for n in (1, 2))


def table(sizes=(4, 4), live=16, most=100):
    return ExpertTable(ExpertGrid(sizes, live), most, now=100.0)


def test_row_lives_as_long_as_somebody_says_so():
    known = table()
    assert list(known.after(())) == [0, 1, 2, 3]
    assert known.after((1,)) is None
    known.heard((1,), {A: RowNews(0b0101, 145.0, 0.5), B: RowNews(0b0110, 120.0, 0.1)})
    assert known.after((1,)) == [0, 1, 2]
    assert known.hosts((1, 2)) == [B, A], "who lets wait least"
    assert known.hosts((1, 0)) == [A]
    known.now = 120.0
    assert known.after((1,)) == [0, 2]
    assert known.hosts((1, 2)) == [A]
    assert known.hosts((2, 2)) == []
    known.now = 145.0
    assert known.after((1,)) is None, "they may have said it anew"


def test_host_whose_connection_broke_is_sought_when_it_speaks_again():
    known = table(sizes=(4,), live=4)
    known.heard((), {A: RowNews(0b0111, 120.0), B: RowNews(0b1100, 125.0)})
    scores = np.array([[4.0, 3.0, 2.0, 1.0]], np.float32)
    assert known.best(scores, 2).tolist() == [[0, 1]]
    known.lost(A)
    assert known.best(scores, 3).tolist() == [[2, 3, -1]]
    assert known.live == 2
    assert known.hosts((0,)) == [A], "who asks it all the same may find it"
    known.heard((), {A: RowNews(0b0111, 120.0), B: RowNews(0b1100, 125.0)})
    assert known.best(scores, 3).tolist() == [[2, 3, -1]], "it is the old word"
    known.heard((), {A: RowNews(0b0111, 130.0), B: RowNews(0b1100, 125.0)})
    assert known.best(scores, 2).tolist() == [[0, 1]]


def test_host_reached_through_another_is_asked_last():
    known = table()
    known.heard((0,), {A: RowNews(1, 145.0, 0.0, relayed=True), B: RowNews(1, 145.0, 9.0)})
    assert known.hosts((0, 0)) == [B, A]


def test_empty_row_is_not_read_again_for_a_minute():
    known = table()
    known.heard((1,), {})
    assert known.after((1,)) == []
    known.now = 159.0
    assert known.after((1,)) == []
    known.now = 160.0
    assert known.after((1,)) is None


def test_place_that_fails_twice_is_left_out_for_a_minute():
    known = table()
    known.heard((1,), {A: RowNews(0b1111, 1000.0)})
    known.failed((1, 2))
    known.answered((1, 2))
    known.failed((1, 2))
    assert known.after((1,)) == [0, 1, 2, 3]
    known.failed((1, 2))
    assert known.after((1,)) == [0, 1, 3]
    known.now = 160.0
    assert known.after((1,)) == [0, 1, 2, 3]
    known.failed((1, 2))
    assert known.after((1,)) == [0, 1, 2, 3], "counted anew"


def test_rows_in_use_are_read_again_beside_the_work():
    known = table()
    assert known.wants((0,))
    for row in range(3):
        known.heard((row,), {A: RowNews(1, 1000.0)} if row < 2 else {})
    known.now = 100.0 + REFRESH_S - 1
    known.after((0,))
    assert [row for row in range(4) if known.wants((row,))] == [3]
    known.now = 100.0 + REFRESH_S
    assert [row for row in range(4) if known.wants((row,))] == [0, 1, 3], "the empty one is left"
    known.now = 170.0
    assert [row for row in range(3) if known.wants((row,))] == [0], "the others were not used for a minute"
    known.heard((0,), {A: RowNews(1, 1000.0)})
    assert not known.wants((0,))


def told_places(known, scores, count):
    """What a search sample by sample finds, in the form of the search of all samples at once."""
    ends = np.cumsum(known.grid.sizes)[:-1]
    for sample in scores:
        heads = [head.tolist() for head in np.split(sample, ends)]
        sought = best_places(heads, known, known.grid, count)
        places = [known.grid.number(place) for _, place in sought.places]
        yield places + [-1] * (count - len(places))


@pytest.mark.parametrize("seed", range(40))
def test_search_of_many_samples_equals_the_search_of_each(seed):
    """While rows are told, end and fail, and one host claims more than its share."""
    random = Random(seed)
    sizes = tuple(random.randint(2, 6) for _ in range(random.randint(1, 3)))
    known = table(sizes, random.randint(2, prod(sizes)), most=random.choice([3, 1000]))
    draws, rows = np.random.default_rng(seed), list(known.grid.prefixes(len(sizes) - 1))
    if len(sizes) == 3:
        for coordinate in range(sizes[0]):
            known.heard((coordinate,), {B: RowNews((1 << sizes[1]) - 1, 1e9)})
    for turn in range(30):
        for row in rows if turn == 0 else random.sample(rows, min(len(rows), 2)):
            bits = {host: RowNews(random.getrandbits(6), known.now + random.uniform(5, 60)) for host in (A, B)}
            known.heard(row, bits)
        for _ in range(random.randint(0, 3)):
            known.failed(known.grid.place(random.randrange(known.grid.live)))
        scores = draws.standard_normal((5, sum(sizes))).astype(np.float32)
        assert known.best(scores, 4).tolist() == list(told_places(known, scores, 4))
        known.now += random.uniform(0, 3)


def test_search_of_many_samples_needs_all_rows():
    known = table()
    for row in range(3):
        known.heard((row,), {A: RowNews(1, 1000.0)})
    assert known.best(np.zeros((1, 8), np.float32), 2) is None


@pytest.mark.parametrize("bits", [1 << 4, 1 << 255, 0])
def test_bits_of_no_place_are_nothing(bits):
    known = table(live=14)
    known.heard((1,), {A: RowNews(bits, 145.0)})
    assert known.after((1,)) == []
    known.heard((3,), {A: RowNews(0b1111, 145.0)})
    assert known.after((3,)) == [0, 1], "of the last row only two places are to be live"


def test_one_host_counts_for_its_share_of_places():
    known = table((16, 16), 256, most=64)
    for row in range(16):
        known.heard((row,), {A: RowNews(0xFFFF, 145.0)})
    there = [(row, last) for row in range(16) for last in known.after((row,))]
    assert len(there) == 64
    assert len({row for row, _ in there}) > 8, "not the rows that it likes"
    for row in range(16):
        known.heard((row,), {A: RowNews(0xFFFF if row < 4 else 0, 145.0), B: RowNews(0b11, 145.0)})
    assert len([last for row in range(4) for last in known.after((row,))]) == 64
    assert known.hosts((9, 1)) == [B]


def test_claims_of_a_liar_are_ranked_once(monkeypatch):
    ranked = []
    monkeypatch.setattr(
        table_module, "claim_rank", lambda host, place: ranked.append(place) or 32 * place[0] + place[1]
    )
    known = table((32, 32), 1024, most=256)
    for turn in range(3):
        for row in range(32):
            known.heard((row,), {A: RowNews((1 << 32) - 1, 1000.0 + turn)})
            known.best(np.zeros((1, 64), np.float32), 4)
    assert len(ranked) == 1024
    assert sum(len(known.after((row,))) for row in range(32)) == 256


def test_claims_of_a_liar_in_a_large_grid_cost_little():
    """It says to host all of 65,536 places, and in each turn another one of each row not."""
    known = table((256, 256), 65_536, most=16_384)
    began = process_time()
    for turn in range(2):
        for row in range(256):
            known.heard((row,), {A: RowNews((1 << 256) - 1 - turn, 145.0)})
    assert process_time() - began < 10, "it is one; a sort of all claims for each row took 25 s"
    assert sum(len(known.after((row,))) for row in range(256)) == 16_384


def test_prefixes_of_three_dimensions_are_read_step_by_step():
    known = table((3, 4, 5), 60)
    assert list(known.after(())) == [0, 1, 2]
    known.heard((1,), {A: RowNews(0b1010, 145.0)})
    assert known.after((1,)) == [1, 3]
    assert known.after((1, 3)) is None
    known.heard((1, 3), {A: RowNews(0b10001, 145.0)})
    assert known.after((1, 3)) == [0, 4]
    assert known.hosts((1, 3, 4)) == [A]
