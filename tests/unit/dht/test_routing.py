from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.ids import KEY_BYTES, Key, distance, hashed_key, node_key
from core.dht.bucket import FAILURES_MAX
from core.dht.routing import RoutingTable
from core.dht.settings import DhtSettings
from core.dht.space import point, position
from tests.unit.dht.network import contact, peer_id

keys = st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES).map(Key)


def make_table(**numbers):
    return RoutingTable(peer_id(0), DhtSettings(**numbers))


def bucket_of(table, number):
    return table.bucket(position(peer_id(number)))


def full_bucket(table, *, size, bit=255):
    """Numbers of `size` peers that belong into the farthest bucket of peer 0."""
    mine = node_key(peer_id(0))
    numbers = (n for n in range(1, 10_000) if distance(mine, node_key(peer_id(n))).bit_length() - 1 == bit)
    return [next(numbers) for _ in range(size)]


@given(keys, keys, keys)
def test_distance_is_a_metric_with_one_peer_at_each_distance(a, b, c):
    assert distance(a, a) == 0
    assert distance(a, b) == distance(b, a)
    assert distance(a, c) <= distance(a, b) + distance(b, c)
    assert (distance(a, b) == distance(a, c)) == (b == c)


@settings(max_examples=40, deadline=None)
@given(st.sets(st.integers(1, 5000), max_size=120), keys, st.integers(1, 40))
def test_closest_is_the_beginning_of_a_plain_sort(numbers, key, count):
    table = make_table(bucket_size=200)
    for number in numbers:
        assert table.heard(contact(number), now=0.0).added
    expected = sorted(map(contact, numbers), key=lambda c: distance(node_key(c.peer_id), key))
    assert table.closest(key, count) == expected[:count]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 60), max_size=150))
def test_bucket_holds_no_duplicates_nor_us_nor_too_many(numbers):
    table = make_table(bucket_size=3, replacements_per_bucket=2)
    for now, number in enumerate(numbers):
        table.heard(contact(number), now=float(now))
    buckets = [distance(node_key(peer_id(0)), node_key(c.peer_id)).bit_length() for c in table.contacts()]
    assert all(buckets.count(bucket) <= 3 for bucket in buckets)
    assert len({c.peer for c in table.contacts()}) == len(table) == len(buckets)
    assert table.get(peer_id(0)) is None


def test_oldest_contact_is_pinged_and_stays_if_it_answers():
    table = make_table(bucket_size=3, replacements_per_bucket=2, ping_after_s=10)
    a, b, c, d = full_bucket(table, size=4)
    for now, number in enumerate((a, b, c)):
        table.heard(contact(number), now=float(now))
    table.heard(contact(a), now=5.0)
    assert table.heard(contact(d), now=6.0).to_ping is None  # everybody was heard of just now
    heard = table.heard(contact(d), now=20.0)
    assert (heard.added, heard.to_ping) == (False, contact(b))
    assert table.heard(contact(d), now=20.1).to_ping == contact(b)  # whoever pings does so once at a time
    table.heard(contact(b), now=20.2)
    assert table.get(peer_id(b)) is not None
    assert table.get(peer_id(d)) is None
    assert table.heard(contact(d), now=20.3).to_ping == contact(c)


def test_unanswering_contact_is_replaced_by_the_newest_spare():
    table = make_table(bucket_size=2, replacements_per_bucket=2, ping_after_s=0)
    a, b, c, d, e = full_bucket(table, size=5)
    for now, number in enumerate((a, b, c, d, e)):
        table.heard(contact(number), now=float(now))
    bucket_of(table, a).failed(peer_id(a))
    assert {x.peer for x in table.contacts()} == {peer_id(b), peer_id(e)}
    bucket_of(table, b).failed(peer_id(b))
    assert {x.peer for x in table.contacts()} == {peer_id(d), peer_id(e)}  # c had to wait elsewhere: two spares


def test_silent_contact_without_a_spare_leaves_after_three_failures():
    table = make_table()
    table.heard(contact(1), now=0.0)
    bucket_of(table, 1).failed(peer_id(1))
    assert table.closest(node_key(peer_id(1)), 5) == []
    assert bucket_of(table, 1).wants(contact(1))
    assert not bucket_of(table, 1).touched(peer_id(1), now=1.0)
    assert len(table) == 1
    table.heard(contact(1), now=1.0)
    assert table.closest(node_key(peer_id(1)), 5) == [contact(1)]
    for _ in range(FAILURES_MAX):
        bucket_of(table, 1).failed(peer_id(1))
    assert len(table) == 0
    bucket_of(table, 1).failed(peer_id(1))


def test_refresh_keys_fall_into_the_bucket_that_waited_longest():
    table = make_table()
    for number in range(1, 40):
        table.heard(contact(number), now=0.0)
    indices = {distance(node_key(peer_id(0)), node_key(c.peer_id)).bit_length() for c in table.contacts()}
    random = Random(1)
    drawn = []
    while (bucket := table.stalest()).refreshed < 10.0:
        key = table.random_key(bucket, random)
        assert table.bucket(point(key)) is bucket
        bucket.refreshed = 20.0
        drawn.append(distance(node_key(peer_id(0)), key).bit_length())
    assert sorted(drawn) == sorted(indices)
    bucket_of(table, 1).refreshed = 100.0
    assert table.stalest().refreshed == 20.0


def test_moved_and_stale():
    table = make_table()
    for number in (1, 2, 3):
        table.heard(contact(number), now=float(number))
    moved = type(contact(2))(peer_id(2), "192.0.2.1", 7)
    bucket_of(table, 2).moved(moved)
    bucket_of(table, 9).moved(contact(9))
    assert table.get(peer_id(2)) == moved
    assert bucket_of(table, 1).touched(peer_id(1), now=50.0)
    assert table.contacts() == [contact(1), contact(3), moved]
    assert {c.peer: seen for c, seen in table.near_me(9)} == {peer_id(1): 50.0, peer_id(2): 2.0, peer_id(3): 3.0}


@given(st.lists(st.integers(1, 400), min_size=1, max_size=120, unique=True), st.integers(0, 2**32), st.integers(1, 25))
def test_the_closest_are_those_that_brute_force_finds(numbers, seed, count):
    """Reference: sort all contacts of the table by distance; those that did not answer lately are left out."""
    table = make_table(bucket_size=20)
    for number in numbers:
        table.heard(contact(number), now=0.0)
    for number in numbers[::7]:
        bucket_of(table, number).failed(peer_id(number))
    silent = {peer_id(number) for number in numbers[::7]}
    key = hashed_key(b"%d" % seed)
    healthy = [c for c in table.contacts() if c.peer_id not in silent]
    healthy.sort(key=lambda c: distance(node_key(c.peer_id), key))
    assert table.closest(key, count) == healthy[:count]


@given(st.lists(st.integers(1, 400), min_size=1, max_size=60, unique=True), st.integers(1, 20))
def test_nearest_contacts_agree_with_brute_force(numbers, count):
    table = make_table()
    for number in numbers:
        table.heard(contact(number), now=0.0)
    everybody = sorted(table.contacts(), key=lambda c: distance(node_key(c.peer_id), node_key(peer_id(0))))
    assert [c for c, _ in table.near_me(count)] == everybody[:count]


def test_much_quicker_contact_replaces_a_slow_recent_one():
    table = make_table(bucket_size=4, replacements_per_bucket=2, ping_after_s=1000)
    a, b, c, d, e, f = full_bucket(table, size=6)
    for now, (number, rtt_s) in enumerate([(a, 0.4), (b, 0.3), (c, 0.2), (d, 0.1)]):
        assert table.heard(contact(number), now=float(now), rtt_s=rtt_s).added
    assert not table.heard(contact(e), now=10.0, rtt_s=0.15).added  # not much quicker than the slowest that may go
    assert not table.heard(contact(e), now=11.0).added  # nobody knows how quick
    assert table.heard(contact(f), now=12.0, rtt_s=0.13).added
    assert table.get(peer_id(c)) is None
    assert all(table.get(peer_id(number)) is not None for number in (a, b, d, f))
    bucket_of(table, d).failed(peer_id(d))
    assert table.get(peer_id(c)) is not None  # it waited beside


def test_a_bucket_cannot_be_taken_over_by_being_quick():
    table = make_table(bucket_size=4, replacements_per_bucket=2, ping_after_s=1000)
    honest = full_bucket(table, size=60)
    for number in honest[:4]:
        table.heard(contact(number), now=0.0, rtt_s=0.2)
    for now, number in enumerate(honest[4:]):
        table.heard(contact(number), now=1.0 + now, rtt_s=0.2 / (now + 2))
    assert sum(table.get(peer_id(number)) is not None for number in honest[:4]) == 2


@pytest.mark.parametrize("peers", [3, 30, 300, 3000])
def test_span_holds_about_the_wanted_number_of_peers(peers):
    table = make_table()
    for number in range(1, peers):
        table.heard(contact(number), 0.0)
    places = [hashed_key(b"span %d" % number) for number in range(40)]
    span = table.span_of(8)
    within = sum(distance(node_key(peer_id(n)), place) < span for place in places for n in range(1, peers))
    assert 4 <= within / len(places) <= 16 or within / len(places) >= peers - 1


def test_how_far_contacts_are_is_not_how_busy_we_are():
    table = make_table()
    for n in range(1, 41):
        table.heard(contact(n), 1.0, rtt_s=0.002)
    for n in range(1, 41):
        table.heard(contact(n), 2.0, rtt_s=0.002)
        table.heard(contact(n), 3.0, rtt_s=0.5)
    assert table.typical_rtt_s < 0.003
    far = make_table()
    for _ in range(40):
        far.heard(contact(1), 1.0, rtt_s=0.1)
    assert 0.08 < far.typical_rtt_s < 0.1
