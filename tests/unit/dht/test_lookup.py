from random import Random

from core.base.ids import distance, hashed_key, node_key
from core.dht.lookup import ASKED_MAX, CANDIDATES_MAX, Lookup
from tests.unit.dht.network import contact

KEY = hashed_key(b"key")


def by_distance(numbers):
    return sorted(map(contact, numbers), key=lambda c: distance(node_key(c.peer_id), KEY))


def test_lookup_asks_the_nearest_first_within_its_parallelism():
    nearest = by_distance(range(20))
    walk = Lookup(KEY, map(contact, range(20)), width=5, parallel=3)
    assert walk.take() == nearest[:3]
    assert walk.take() == []
    walk.answered(nearest[1].peer_id)
    assert walk.take() == nearest[3:4]
    for one in nearest[:5]:
        assert not walk.done
        walk.take()
        walk.answered(one.peer_id)
    assert walk.done
    assert walk.take() == []
    assert walk.found(10) == nearest[:5]


def test_silent_peer_is_replaced_and_a_slow_one_returns():
    nearest = by_distance(range(8))
    walk = Lookup(KEY, nearest, width=2, parallel=2)
    a, b = walk.take()
    walk.slow(a.peer_id)
    assert walk.take() == [nearest[2]]
    walk.failed(b.peer_id)
    assert walk.take() == [nearest[3]]
    walk.answered(nearest[2].peer_id)
    walk.answered(a.peer_id)
    assert walk.done
    assert walk.found(2) == [a, nearest[2]]


def test_ends_when_nobody_is_left():
    assert Lookup(KEY, (), width=3, parallel=2).done
    walk = Lookup(KEY, [contact(1)], width=3, parallel=2)
    assert not walk.done
    walk.take()
    walk.slow(contact(1).peer_id)
    assert not walk.done
    walk.failed(contact(1).peer_id)
    assert walk.done
    assert walk.found(3) == []
    walk.answered(contact(1).peer_id)  # too late
    walk.answered(contact(2).peer_id)  # never asked
    assert walk.found(3) == []


def test_nearer_peers_push_out_farther_ones():
    numbers = range(3 * CANDIDATES_MAX)
    walk = Lookup(KEY, map(contact, numbers), width=CANDIDATES_MAX, parallel=10 * CANDIDATES_MAX)
    assert walk.take() == by_distance(numbers)[:CANDIDATES_MAX]


def test_misleading_answers_end_after_a_bounded_number_of_queries():
    walk = Lookup(KEY, [contact(0)], width=5, parallel=4)
    number, asked = 1, 0
    while not walk.done:
        for one in walk.take():
            asked += 1
            walk.add(by_distance(range(number, number + 12)))
            number += 12
            walk.failed(one.peer_id)
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
        walk = Lookup(KEY, [contact(random.choice(living))], width=5, parallel=4)
        waiting = []
        while not walk.done:
            waiting += walk.take()
            one = waiting.pop(random.randrange(len(waiting)))
            walk.add(contact(n) for n in known[numbers[one.peer]])
            walk.answered(one.peer_id)
        assert walk.found(5) == ring[:5], seed


def test_pending_farther_query_does_not_delay_a_nearer_one():
    nearest = by_distance(range(20))
    walk = Lookup(KEY, nearest[10:], width=5, parallel=2)
    first, second = walk.take()
    walk.answered(first.peer_id)
    walk.add(nearest[:3], first.peer_id)
    assert walk.take() == nearest[:2]  # the second one is still under way, but no longer among the nearest
    assert walk.take() == []
    walk.answered(second.peer_id)
    assert walk.take() == []


def test_fewer_are_asked_at_once_where_each_probably_knows():
    contacts = by_distance(range(30))
    away = [distance(node_key(one.peer_id), KEY) for one in contacts]
    far, near = (Lookup(KEY, contacts, width=8, parallel=6) for _ in range(2))
    far.expect(away[2], parallel=3)
    near.expect(away[3], parallel=3)
    assert [len(walk.take()) for walk in (far, near)] == [6, 3]
    assert [one for one in contacts if near.is_near(one.peer_id)] == contacts[:3]
