"""Disjoint paths, beside the walk that they are made of."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from core.base.ids import distance, hashed_key, node_key
from core.dht.disjoint_lookup import DisjointLookup
from core.dht.lookup import Lookup, LookupOptions
from tests.unit.dht.network import contact, peer_id

KEY = hashed_key(b"key")


def nearest(numbers, count):
    return sorted(numbers, key=lambda n: distance(node_key(peer_id(n)), KEY))[:count]


def drive(lookup, knows):
    """Everybody answers what it knows; returns who was asked, in order."""
    asked = []
    while not lookup.done:
        taken = lookup.take()
        assert taken
        for one in taken:
            asked.append(one.peer_id)
            lookup.answered(one.peer_id)
            lookup.add(knows(one.peer_id), one.peer_id)
    return asked


@given(st.integers(1, 5), st.integers(0, 2**32), st.integers(1, 8))
def test_no_peer_is_asked_twice_and_the_nearest_are_found(paths, seed, width):
    """Everybody knows the true nearest: whatever the number of paths, they are among what was found."""
    random = Random(seed)
    start = [contact(n) for n in random.sample(range(100), 10)]
    best = [contact(n) for n in nearest(range(100), 16)]
    lookup = DisjointLookup(KEY, start, width=width, paths=paths, options=LookupOptions(parallel=4))
    asked = drive(lookup, lambda _: best)
    assert len(asked) == len(set(asked))
    reference = nearest([n for n in range(100) if peer_id(n) in asked], width)
    assert [c.peer_id for c in lookup.found(width)] == [peer_id(n) for n in reference]
    assert lookup.found(1)[0].peer_id == peer_id(nearest(range(100), 1)[0])


def test_one_path_is_a_plain_walk():
    start = [contact(n) for n in range(12)]
    plain = Lookup(KEY, start, width=5, options=LookupOptions(parallel=3))
    paths = DisjointLookup(KEY, start, width=5, paths=1, options=LookupOptions(parallel=3))
    world = [contact(n) for n in nearest(range(60), 12)]
    assert drive(plain, lambda _: world) == drive(paths, lambda _: world)
    assert plain.found(5) == paths.found(5)


def test_a_liar_leads_only_its_own_path_astray():
    """One of the peers to begin with names only friends; the others' paths end at the honest nearest all the same."""
    start = [contact(n) for n in range(4)]
    liar = peer_id(nearest(range(4), 1)[0])
    friends = [contact(n) for n in range(1000, 1012)]
    honest = [contact(n) for n in nearest(range(4, 60), 12)]
    hostile = {liar, *(c.peer_id for c in friends)}
    lookup = DisjointLookup(KEY, start, width=4, paths=4, options=LookupOptions(parallel=4))
    asked = drive(lookup, lambda peer: friends if peer in hostile else honest)
    assert len(hostile.intersection(asked)) < len(asked) / 2
    assert honest[0].peer_id in asked


def test_width_is_shared_and_names_from_nobody_are_ignored():
    lookup = DisjointLookup(KEY, [contact(1), contact(2)], width=4, paths=8, options=LookupOptions(parallel=2))
    assert lookup.width == 4
    lookup.width = 8
    assert lookup.width == 8
    assert {c.peer_id for c in lookup.take()} == {peer_id(1), peer_id(2)}
    lookup.add([contact(3)], peer_id(77))
    lookup.answered(peer_id(77))
    lookup.slow(peer_id(77))
    lookup.failed(peer_id(1))
    lookup.slow(peer_id(2))
    assert lookup.take() == []
    lookup.failed(peer_id(2))
    assert lookup.done
    assert lookup.found(3) == []


def test_a_network_gets_only_so_many_candidates():
    crowd = [type(contact(1))(peer_id(n), f"198.51.100.{n}", 4000) for n in range(1, 30)]
    lookup = Lookup(KEY, crowd, width=20, options=LookupOptions(parallel=20, prefix_limit=3))
    assert len(lookup.take()) == 3
    local = [type(contact(1))(peer_id(n), f"192.168.1.{n}", 4000) for n in range(1, 30)]
    assert len(Lookup(KEY, local, width=20, options=LookupOptions(parallel=20, prefix_limit=3)).take()) == 20
