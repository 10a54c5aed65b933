"""Best-first search beside a search through all places."""

from itertools import product
from random import Random

import pytest

from core.experts.grid import ExpertGrid, best_places

GRIDS = [(7,), (4, 4), (16, 16), (32, 8), (256, 3), (4, 4, 4), (9, 3, 11)]


class Known:
    """Who lives, and which prefixes were read."""

    def __init__(self, alive, grid, unread=()):
        self.alive, self.grid, self.unread = set(alive), grid, set(unread)
        self.asked = []

    def after(self, prefix):
        self.asked.append(prefix)
        if prefix in self.unread:
            return None
        return sorted({place[len(prefix)] for place in self.alive if place[: len(prefix)] == prefix})


def drawn(seed):
    random = Random(seed)
    sizes = random.choice(GRIDS)
    count = 1
    for size in sizes:
        count *= size
    grid = ExpertGrid(sizes, random.randint(2, count))
    places = [grid.place(number) for number in range(grid.live)]
    alive = random.sample(places, max(1, int(len(places) * random.choice([0.05, 0.25, 0.5, 1.0]))))
    scores = [[random.gauss(0, 1) for _ in range(size)] for size in sizes]
    if random.random() < 0.2:
        scores = [[float(round(score)) for score in own] for own in scores]
    return grid, alive, scores, random.randint(1, 6)


def in_all_places(alive, scores, count):
    """Read every place, and sort."""
    summed = []
    for place in alive:
        total = 0.0
        for own, coordinate in zip(scores, place, strict=True):
            total += own[coordinate]
        summed.append((-total, place))
    return [place for _, place in sorted(summed)[:count]]


@pytest.mark.parametrize("first", range(0, 10_000, 1000))
def test_best_first_search_finds_what_lies_best_of_all(first):
    for seed in range(first, first + 1000):
        grid, alive, scores, count = drawn(seed)
        sought = best_places(scores, Known(alive, grid), grid, count)
        assert [place for _, place in sought.places] == in_all_places(alive, scores, count), seed
        assert not sought.unknown


def test_search_names_what_it_has_to_read_and_goes_on():
    grid = ExpertGrid((3, 3), 9)
    scores = [[1.0, 5.0, 0.0], [0.0, 2.0, 1.0]]
    known = Known([grid.place(n) for n in range(9)], grid, unread=[(1,)])
    sought = best_places(scores, known, grid, 2)
    assert sought.unknown == [(1,)], "the third row cannot have better ones than the first"
    assert sought.places == [(3.0, (0, 1)), (2.0, (0, 2))]
    assert (2,) not in known.asked


def test_places_are_counted_row_by_row():
    grid = ExpertGrid((3, 4, 2), 17)
    every = list(product(range(3), range(4), range(2)))[:17]
    assert [grid.place(number) for number in range(17)] == every
    assert [grid.number(place) for place in every] == list(range(17))
    assert list(grid.prefixes(1)) == [(0,), (1,), (2,)]
    assert list(grid.prefixes(2)) == sorted({place[:2] for place in every})
    assert [grid.width(prefix) for prefix in [(), (1,), (2,), (2, 0), (2, 1)]] == [3, 4, 1, 1, 0]
    assert list(grid.prefixes(3)) == every


@pytest.mark.parametrize("place", [(), (0, 0), (2, 0, 1), (-1, 0, 0), (3, 0, 0), (0, 4, 0), (0, 0, 0, 0)])
def test_grid_does_not_have_a_place_of_another_form(place):
    assert not ExpertGrid((3, 4, 2), 17).has(place)
    assert ExpertGrid((3, 4, 2), 17).has((2, 0, 0))


@pytest.mark.parametrize(
    ("sizes", "live", "words"),
    [
        ((), 2, "1 to 3"),
        ((2,) * 4, 2, "1 to 3"),
        ((257,), 2, "2 to 256"),
        ((1, 4), 2, "2 to 256"),
        ((4, 4), 17, "16 places"),
        ((4, 4), 1, "16 places"),
        ((256, 256, 2), 65_537, "65536 can be live"),
    ],
)
def test_grid_that_is_too_small_is_refused(sizes, live, words):
    with pytest.raises(ValueError, match=words):
        ExpertGrid(sizes, live)
