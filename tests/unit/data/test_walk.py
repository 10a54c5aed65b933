"""The walk against what a pass must be: every row once, whatever happens on the way."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random

import msgspec
import numpy as np
import pytest

from core.text.order.bookmark import BOOKMARK, Bookmark
from core.text.order.data_pass import BUFFER_ROWS, FIRST, DrawnRow
from core.text.order.walk import Walk
from tests.unit.data.readers import FakeReader, Sizes, all_rows

SMALL: Sizes = [[30], [7, 25, 5], [0], [12, 0], [1], [40, 40], [3, 3, 3, 3]]
OTHER: Sizes = [[15], [20, 20], [9]]


def names(rows: list[DrawnRow]) -> list[tuple[int, int, int, int]]:
    """(source, pass, shard, row) of rows."""
    return [(row.source, row.part.number, row.block.key.shard, row.block.key.first + row.row) for row in rows]


def drained(walk: Walk, reader: FakeReader, count: int, *, batch: int = 16) -> list[DrawnRow]:
    """The next rows, each used at once."""
    found: list[DrawnRow] = []
    while len(found) < count:
        reader.run(walk)
        drawn = walk.draw(min(batch, count - len(found)))
        assert drawn or reader.step(walk), "nothing comes any more"
        walk.use(drawn)
        found += drawn
    return found


@dataclass
class Peer:
    """A worker with its reader, both of which may be killed; what it has absorbed is known for each state."""

    sources: list[Sizes]
    random: Random
    buffer_rows: int = 40
    saved: tuple[bytes, list[tuple[int, int, int, int]]] | None = None
    kills: int = 0
    absorbed: list[tuple[int, int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        mark = None
        if self.saved is not None:
            mark = BOOKMARK.decode(self.saved[0])
            self.absorbed = list(self.saved[1])
        else:
            self.absorbed = []
        shares = [0.7, 0.3][: len(self.sources)]
        self.walk = Walk(b"c" * 32, shares, 5, mark, buffer_rows=self.buffer_rows)
        self.reader = FakeReader(self.sources, self.random)
        self.shelf: list[list[DrawnRow]] = []
        self.counted: list[DrawnRow] = []
        self.aside: list[DrawnRow] = []

    def act(self) -> None:  # noqa: C901 - a table of what may happen
        """One thing that happens to a worker."""
        random, walk = self.random, self.walk
        match random.choices(range(9), [30, 25, 20, 3, 2, 6, 2, 1, 1])[0]:
            case 0:
                self.reader.step(walk)
            case 1:
                self.shelf.append(walk.draw(random.randint(1, 12)))
            case 2 if self.shelf:
                self.counted += self.shelf.pop(0)
            case 3 if self.shelf:  # did not fit into memory
                walk.put_back(self.shelf.pop(0))
            case 4:  # another state was loaded, or a step was undone
                walk.put_back(self.counted + self.aside)
                self.counted, self.aside = [], []
            case 5:  # a round begins and is committed or aborted while computing goes on
                if self.aside and random.random() < 0.7:
                    self.absorb(self.aside)
                    self.aside = []
                else:
                    self.aside, self.counted = self.aside + self.counted, []
            case 6:
                self.absorb(self.aside + self.counted)
                self.counted, self.aside = [], []
            case 7:  # the reader is killed, and with it what it was making
                self.reader = FakeReader(self.sources, random)
            case 8:
                self.kill()

    def absorb(self, rows: list[DrawnRow]) -> None:
        self.walk.use(rows)
        self.absorbed += names(rows)
        self.saved = (BOOKMARK.encode(self.walk.bookmark()), list(self.absorbed))

    def kill(self) -> None:
        self.kills += 1
        self.begin()


@pytest.mark.parametrize("seed", range(10))
def test_passes_are_exact_through_kills_at_random_moments(seed: int) -> None:
    """500 kills in all, of workers, and others of readers."""
    peer = Peer([SMALL, OTHER], Random(seed))
    whole = [all_rows(SMALL), all_rows(OTHER)]
    while peer.kills < 50 or max(number for _, number, _, _ in peer.absorbed) < 5:
        peer.act()
    peer.absorb(peer.aside + peer.counted)
    peer.reader.run(peer.walk)
    counts = Counter(peer.absorbed)
    assert max(counts.values()) == 1, "a row was absorbed twice in one pass"
    for source, rows in enumerate(whole):
        newest = max(number for where, number, _, _ in counts if where == source)
        open_now = {each.number for each in peer.walk.sources[source].passes}
        for number in range(newest + 1):
            found = {(shard, row) for where, which, shard, row in counts if (where, which) == (source, number)}
            assert found <= rows
            assert number in open_now or found == rows, f"pass {number} of source {source} lacks rows"


def test_a_pass_without_trouble_is_exact_and_passes_differ() -> None:
    walk, reader = Walk(b"c" * 32, [1.0], 1, buffer_rows=50), FakeReader([SMALL], Random(1))
    rows = all_rows(SMALL)
    orders = []
    for number in range(3):
        found = names(drained(walk, reader, len(rows)))
        assert {each[1] for each in found} == {number}
        assert Counter(each[2:] for each in found) == Counter(rows)
        orders.append(found)
    assert len({tuple(each[2:] for each in order) for order in orders}) == 3


def test_a_source_smaller_than_a_batch_gives_what_it_has() -> None:
    walk, reader = Walk(b"c" * 32, [1.0], 1), FakeReader([[[3], [2]]], Random(1))
    found = drained(walk, reader, 50, batch=50)
    assert Counter(each[1] for each in names(found)) == Counter(dict.fromkeys(range(10), 5))


def big(shards: int, rows: int) -> Sizes:
    return [[rows] for _ in range(shards)]


def displacement(order: list[int]) -> float:
    """Mean distance of a row's place in the order from its place in the source, as a share of all rows."""
    return float(np.abs(np.argsort(order) - np.arange(len(order))).mean() / len(order))


def test_rows_lie_far_from_where_they_stood() -> None:
    """60 shards of 1,000 rows through a buffer of 10,000: a perfect shuffle moves a row by a third of the whole."""
    walk, reader = Walk(b"c" * 32, [1.0], 1), FakeReader([big(60, 1000)], Random(1))
    order = [shard * 1000 + row for _, _, shard, row in names(drained(walk, reader, 60_000, batch=256))]
    assert sorted(order) == list(range(60_000))
    assert displacement(order) == pytest.approx(1 / 3, abs=0.03)
    apart = np.abs(np.diff(np.argsort(order)))  # of neighbours in the source
    assert np.median(apart) > FIRST
    assert np.mean(apart < 32) < 0.01


def test_draws_are_uniform_over_peers_and_passes() -> None:
    """Which rows come in the first tenth of a pass, over 400 passes: chi-square at one in a million."""
    from scipy import stats

    rows, firsts, counts = 400, 40, np.zeros(400)
    for seed in range(40):
        walk, reader = Walk(b"c" * 32, [1.0], seed), FakeReader([big(20, 20)], Random(seed))
        for _ in range(10):
            found = names(drained(walk, reader, rows, batch=40))
            counts[[shard * 20 + row for _, _, shard, row in found[:firsts]]] += 1
    assert stats.chisquare(counts).statistic < stats.chi2.ppf(1 - 1e-6, rows - 1)


def test_two_peers_overlap_no_more_than_chance() -> None:
    """Each peer takes 10 of 30 shards at first: the overlap is hypergeometric; its mean is within five errors."""
    taken = []
    for seed in range(60):
        walk, reader = Walk(b"c" * 32, [1.0], seed), FakeReader([big(30, 600)], Random(seed))
        drained(walk, reader, 600, batch=200)
        taken.append({key.shard for _, key in reader.said[:10]})
    overlaps = [len(one & other) for place, one in enumerate(taken) for other in taken[:place] if one and other]
    size = np.mean([len(each) for each in taken])
    expected = size**2 / 30
    assert abs(np.mean(overlaps) - expected) < 5 * np.std(overlaps) / np.sqrt(len(taken))


def test_sources_are_mixed_by_their_shares() -> None:
    """0.23 and 0.77 (S000, appendix I.4), within five standard deviations, and through restarts."""
    reader, walk, found = FakeReader([big(40, 500), big(40, 500)], Random(1)), None, []
    mark: Bookmark | None = None
    for _ in range(40):
        walk = Walk(b"c" * 32, [0.23, 0.77], 9, mark)
        reader = FakeReader(reader.sources, Random(1))
        found += [row.source for row in drained(walk, reader, 300, batch=60)]
        mark = walk.bookmark()
    assert abs(np.mean(np.array(found) == 0) - 0.23) < 5 * np.sqrt(0.23 * 0.77 / len(found))


def test_a_slow_source_is_no_rarer() -> None:
    reader = FakeReader([big(30, 300), big(30, 300)], Random(1))
    walk, found = Walk(b"c" * 32, [0.5, 0.5], 9, buffer_rows=64), []
    while len(found) < 4000:
        reader.stalled = {(1, shard) for shard in range(30)} if len(found) // 200 % 2 else set()
        for _ in range(3):
            reader.step(walk)
        drawn = walk.draw(32)
        walk.use(drawn)
        found += [row.source for row in drawn]
        if not drawn:
            reader.stalled = set()
            reader.run(walk)
    assert abs(np.mean(found) - 0.5) < 5 * 0.5 / np.sqrt(len(found))


def test_stalled_shards_come_later_in_the_pass() -> None:
    walk, reader = Walk(b"c" * 32, [1.0], 1, buffer_rows=20), FakeReader([big(8, 100)], Random(1))
    reader.run(walk)
    first = next(key.shard for _, key in reader.said)
    wanted = [shard for shard, _ in walk.sources[0].passes.last.wanted(8)]
    reader.stalled = {(0, wanted[0])}
    found = names(drained(walk, reader, 600))
    assert wanted[0] not in {shard for _, _, shard, _ in found}
    reader.stalled = set()
    found += names(drained(walk, reader, 200))
    assert first in {shard for _, _, shard, _ in found}
    assert Counter(each[2:] for each in found) == Counter(all_rows(big(8, 100)))


def test_another_source_goes_on_while_one_is_stalled() -> None:
    from core.text.order.source_walk import Stall

    walk, reader = Walk(b"c" * 32, [0.5, 0.5], 1, buffer_rows=20), FakeReader([big(9, 90), big(9, 90)], Random(1))
    drained(walk, reader, 100)
    reader.stalled = {(0, shard) for shard in range(9)}
    walk.sources[0].stall = Stall("no-answer")
    late = names(drained(walk, reader, 600))[300:]
    assert {source for source, *_ in late} == {1}
    reader.stalled, walk.sources[0].stall = set(), None
    assert {source for source, *_ in names(drained(walk, reader, 100))} == {0, 1}


@pytest.mark.parametrize("sizes", [SMALL[:3], [*SMALL, [5]]])
def test_another_listing_begins_a_new_pass_and_says_so(sizes: Sizes) -> None:
    walk, reader = Walk(b"c" * 32, [1.0], 1), FakeReader([SMALL], Random(1))
    drained(walk, reader, 70)
    mark = walk.bookmark()
    after, other = Walk(b"c" * 32, [1.0], 1, mark), FakeReader([sizes], Random(2), listing=b"other")
    found = names(drained(after, other, len(all_rows(sizes))))
    assert after.sources[0].notices == [("changed", {"shards": len(sizes)})]
    assert Counter(each[2:] for each in found) == Counter(all_rows(sizes))
    assert len({each[1] for each in found}) == 1 <= found[0][1]
    walk.sources[0].opened(len(sizes), b"other")  # the same while it runs
    assert walk.sources[0].notices == [("changed", {"shards": len(sizes)})]


def test_unreadable_shard_is_left_out_of_this_pass_only() -> None:
    walk, reader = Walk(b"c" * 32, [1.0], 1, buffer_rows=20), FakeReader([big(5, 50)], Random(1))
    reader.step(walk)
    walk.requests()
    walk.sources[0].lost(3, "damaged", {"name": "x"})
    found = names(drained(walk, reader, 200))
    assert Counter(each[2:] for each in found) == Counter(row for row in all_rows(big(5, 50)) if row[0] != 3)
    assert Counter(each[2:] for each in names(drained(walk, reader, 250))) == Counter(all_rows(big(5, 50)))


def test_source_without_readable_shards_is_stalled_and_tried_again() -> None:
    walk, reader = Walk(b"c" * 32, [1.0], 1), FakeReader([big(2, 5)], Random(1))
    reader.step(walk)
    for shard in range(2):
        walk.sources[0].lost(shard, "no-column", {"name": "x", "column": "text"})
    assert walk.draw(3) == []
    assert walk.sources[0].stall is not None
    assert walk.sources[0].stall.code == "no-column"
    walk.sources[0].retry()
    assert len(drained(walk, reader, 10)) == 10


def test_a_source_without_rows_is_empty() -> None:
    walk, reader = Walk(b"c" * 32, [1.0], 1), FakeReader([[[0], [0, 0]]], Random(1))
    reader.run(walk)
    assert walk.is_empty
    assert walk.draw(3) == []
    both = Walk(b"c" * 32, [0.9, 0.1], 1)
    assert len(drained(both, FakeReader([[[0]], [[5]]], Random(1)), 20)) == 20


def test_missed_file_is_said_again_and_rows_come_once() -> None:
    walk, reader = Walk(b"c" * 32, [1.0], 1, buffer_rows=30), FakeReader([SMALL], Random(1))
    found = drained(walk, reader, 40)
    shelf = walk.draw(5)
    for key in [row.block.key for row in shelf]:
        walk.sources[0].missed(key)
    walk.use(shelf)
    found += shelf
    found += drained(walk, reader, len(all_rows(SMALL)) - len(found))
    assert Counter(each[2:] for each in names(found)) == Counter(all_rows(SMALL))


def test_the_buffer_begins_small_and_fills_beside_training() -> None:
    walk, reader = Walk(b"c" * 32, [1.0], 1), FakeReader([big(30, 1000)], Random(1))
    reader.run(walk)
    assert walk.buffered == FIRST
    drained(walk, reader, 1000)
    assert walk.buffered == pytest.approx(FIRST + 1000, abs=40)
    drained(walk, reader, 12_000, batch=500)
    assert walk.buffered == BUFFER_ROWS


def test_a_bookmark_is_small_and_of_its_collaboration() -> None:
    walk, reader = Walk(b"c" * 32, [1.0], 1), FakeReader([big(2000, 1000)], Random(1))
    drained(walk, reader, 30_000, batch=500)
    data = BOOKMARK.encode(walk.bookmark())
    assert len(data) < 20_000
    assert BOOKMARK.decode(data) == walk.bookmark()
    assert Walk(b"d" * 32, [1.0], 1, walk.bookmark()).bookmark().sources == (None,)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(msgspec.to_builtins(walk.bookmark())[:1], Bookmark)


def as_it_comes(seed: int, *, steady: bool) -> list[tuple[int, int, int, int]]:
    """The first rows of two sources, some passes of them, with a reader that is fast and slow by chance."""
    random, found = Random(seed), list[DrawnRow]()
    walk = Walk(b"c" * 32, [0.7, 0.3], 5, buffer_rows=40, steady=steady)
    reader = FakeReader([big(9, 30), OTHER], random)
    while len(found) < 1500:
        for _ in range(random.choice((0, 1, 1, 9))):
            reader.step(walk)
        reader.take(walk)
        drawn = walk.draw(16)
        walk.use(drawn)
        found += drawn
    return names(found[:1500])


def test_a_steady_order_follows_from_the_seed_alone() -> None:
    first, *others = (as_it_comes(seed, steady=True) for seed in range(8))
    assert max(number for _, number, _, _ in first) >= 3
    assert others == 7 * [first]
    assert as_it_comes(0, steady=False) != as_it_comes(1, steady=False)
