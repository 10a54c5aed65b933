from collections import Counter
from itertools import count, islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data.shuffle import FIRST, GROWTH, shuffled


@given(st.lists(st.integers()), st.integers(1, 50), st.integers())
def test_every_element_comes_exactly_once(elements: list[int], size: int, seed: int) -> None:
    assert Counter(shuffled(elements, Random(seed), size=size)) == Counter(elements)


def test_same_seed_same_order_other_seed_other_order() -> None:
    orders = [list(shuffled(range(500), Random(seed), size=100)) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert orders[0] != list(range(500))


def test_starts_at_once_and_never_holds_more_than_the_buffer() -> None:
    read: list[int] = []

    def source():
        for number in count():
            read.append(number)
            yield number

    stream = shuffled(source(), Random(0), size=1000)
    next(stream)
    assert len(read) == FIRST
    for taken, _ in enumerate(islice(stream, 4000), start=2):
        assert len(read) - taken < 1000
        assert len(read) <= FIRST + GROWTH * (taken - 1) or len(read) - taken == 999
    assert len(read) - taken == 999


def test_a_small_buffer_is_full_before_anything_is_drawn() -> None:
    source = iter(range(10))
    next(shuffled(source, Random(0), size=5))
    assert next(source) == 5


def test_a_full_buffer_mixes_far_apart_elements() -> None:
    """Where element k of a long stream comes out: it waits on average for about as many draws as the buffer holds."""
    out = list(shuffled(range(20_000), Random(3), size=500))
    waits = [place - element for place, element in enumerate(out) if 5_000 <= element < 15_000]
    mean = sum(waits) / len(waits) + 500  # it is drawn at place `element - 500` if it never waits
    assert 440 < mean < 560


def test_a_buffer_without_room_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least one"):
        next(shuffled([1], Random(0), size=0))
