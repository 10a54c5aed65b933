from random import Random

from core.base.ids import distance, hashed_key, node_key
from core.dht.lookup import ASKED_MAX, CANDIDATES_MAX, Lookup, LookupOptions
from tests.unit.dht.network import contact

KEY = hashed_key(b"key")


def by_distance(numbers):
    return sorted(map(contact, numbers), key=lambda c: distance(node_key(c.peer_id), KEY))


def test_lookup_asks_the_nearest_first_within_its_parallelism():
    nearest = by_distance(range(20))
    lookup = Lookup(KEY, map(contact, range(20)), width=5, options=LookupOptions(parallel=3))
    assert lookup.take() == nearest[:3]
    assert lookup.take() == []
    lookup.answered(nearest[1].peer_id)
    assert lookup.take() == nearest[3:4]
    for one in nearest[:5]:
        assert not lookup.done
        lookup.take()
        lookup.answered(one.peer_id)
    assert lookup.done
    assert lookup.take() == []
    assert lookup.found(10) == nearest[:5]


def test_silent_peer_is_replaced_and_a_slow_one_returns():
    nearest = by_distance(range(8))
    lookup = Lookup(KEY, nearest, width=2, options=LookupOptions(parallel=2))
    a, b = lookup.take()
    lookup.slow(a.peer_id)
    assert lookup.take() == [nearest[2]]
    lookup.failed(b.peer_id)
    assert lookup.take() == [nearest[3]]
    lookup.answered(nearest[2].peer_id)
    lookup.answered(a.peer_id)
    assert lookup.done
    assert lookup.found(2) == [a, nearest[2]]


def test_ends_when_nobody_is_left():
    assert Lookup(KEY, (), width=3, options=LookupOptions(parallel=2)).done
    lookup = Lookup(KEY, [contact(1)], width=3, options=LookupOptions(parallel=2))
    assert not lookup.done
    lookup.take()
    lookup.slow(contact(1).peer_id)
    assert not lookup.done
    lookup.failed(contact(1).peer_id)
    assert lookup.done
    assert lookup.found(3) == []
    lookup.answered(contact(1).peer_id)  # too late
    lookup.answered(contact(2).peer_id)  # never asked
    assert lookup.found(3) == []


def test_nearer_peers_push_out_farther_ones():
    numbers = range(3 * CANDIDATES_MAX)
    lookup = Lookup(
        KEY, map(contact, numbers), width=CANDIDATES_MAX, options=LookupOptions(parallel=10 * CANDIDATES_MAX)
    )
    assert lookup.take() == by_distance(numbers)[:CANDIDATES_MAX]


def test_misleading_answers_end_after_a_bounded_number_of_queries():
    lookup = Lookup(KEY, [contact(0)], width=5, options=LookupOptions(parallel=4))
    number, asked = 1, 0
    while not lookup.done:
        for one in lookup.take():
            asked += 1
            lookup.add(by_distance(range(number, number + 12)))
            number += 12
            lookup.failed(one.peer_id)
    assert asked <= ASKED_MAX


def test_lookup_with_random_answers_agrees_with_a_plain_sort():
    for seed in range(30):
        random = Random(seed)
        living = random.sample(range(1000), 200)
        known = {n: random.sample(living, 15) for n in living}
        ring = by_distance(living)
        numbers = {contact(n).peer: n for n in living}
        for i, one in enumerate(ring):  # everybody knows its neighbours in the order of distance
            known[numbers[one.peer]] += [numbers[c.peer] for c in ring[max(0, i - 6) : i + 3]]
        lookup = Lookup(KEY, [contact(random.choice(living))], width=5, options=LookupOptions(parallel=4))
        waiting = []
        while not lookup.done:
            waiting += lookup.take()
            one = waiting.pop(random.randrange(len(waiting)))
            lookup.add(contact(n) for n in known[numbers[one.peer]])
            lookup.answered(one.peer_id)
        assert lookup.found(5) == ring[:5], seed


def test_pending_farther_query_does_not_delay_a_nearer_one():
    nearest = by_distance(range(20))
    lookup = Lookup(KEY, nearest[10:], width=5, options=LookupOptions(parallel=2))
    first, second = lookup.take()
    lookup.answered(first.peer_id)
    lookup.add(nearest[:3], first.peer_id)
    assert lookup.take() == nearest[:2]  # the second one is still under way, but no longer among the nearest
    assert lookup.take() == []
    lookup.answered(second.peer_id)
    assert lookup.take() == []


def test_fewer_are_asked_at_once_where_each_probably_knows():
    contacts = by_distance(range(30))
    away = [distance(node_key(one.peer_id), KEY) for one in contacts]
    expected = (LookupOptions(parallel=6, parallel_near=3, span=span) for span in away[2:4])
    far, near = (Lookup(KEY, contacts, width=8, options=options) for options in expected)
    assert [len(lookup.take()) for lookup in (far, near)] == [6, 3]
    assert [one for one in contacts if distance(node_key(one.peer_id), KEY) < near.span] == contacts[:3]
