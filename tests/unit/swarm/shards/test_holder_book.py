"""Who holds what, against counting by hand."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.problems import WireProblem
from core.swarm.shards.holder_book import HolderBook
from core.swarm.shards.holdings import RANGE, decode_holdings, encode_holdings
from core.swarm.shards.names import ShardName
from tests.unit.swarm.shards.parts import peer

COUNT = RANGE + 100


@given(st.sets(st.integers(0, COUNT - 1)), st.integers(0, 1))
def test_holdings_survive_the_way_through_a_record(numbers, place):
    value = encode_holdings(numbers, place)
    bits = decode_holdings(value)
    assert {place * RANGE + bit for bit in range(RANGE) if bits >> bit & 1} == {
        number for number in numbers if number // RANGE == place
    }
    assert len(value) <= 300


@pytest.mark.parametrize("value", [b"", b"\x91", b"\x91\xc4\xff" + bytes(25), b"\x91\xc5\x01\x01" + bytes(257)])
def test_other_records_are_no_holdings(value):
    with pytest.raises(WireProblem):
        decode_holdings(value)


def counts(book):
    return [book.count(ShardName(0, number)) for number in range(3)]


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(0, 1), st.sets(st.integers(0, COUNT - 1), max_size=20)), max_size=12
    )
)
def test_counts_are_those_of_the_last_words(said):
    book, held = HolderBook({0: COUNT}), {}
    for number, place, numbers in said:
        book.heard(0, place, peer(number), decode_holdings(encode_holdings(numbers, place)), until=10.0)
        held[number, place] = {n for n in numbers if n // RANGE == place}
    for shard in {n for numbers in held.values() for n in numbers} | {0, COUNT - 1}:
        holders = {number for (number, _), numbers in held.items() if shard in numbers}
        assert book.count(ShardName(0, shard)) == len(holders)
        assert set(book.holders(ShardName(0, shard))) == {peer(number) for number in holders}
    book.expire(10.0)
    assert not any(book.count(ShardName(0, number)) for number in range(COUNT))


def test_claims_beyond_the_last_shard_count_for_nothing():
    book = HolderBook({0: 3})
    book.heard(0, 0, peer(1), (1 << RANGE) - 1, until=10.0)
    assert counts(book) == [1, 1, 1]
    book.lacks(peer(1), ShardName(0, 1))
    assert counts(book) == [1, 0, 1]
    book.forget(peer(1))
    assert counts(book) == [0, 0, 0]


def test_rarest_is_drawn_evenly_among_the_fewest():
    book = HolderBook({0: 6})
    book.heard(0, 0, peer(1), 0b000111, until=10.0)
    names = [ShardName(0, number) for number in range(6)]
    drawn = [book.rarest(names, Random(seed)).number for seed in range(300)]
    assert all(70 <= drawn.count(number) <= 130 for number in (3, 4, 5))
    assert {book.commonest(names, Random(seed)).number for seed in range(50)} == {0, 1, 2}
    assert book.rarest([], Random(0)) is book.commonest([], Random(0)) is None
