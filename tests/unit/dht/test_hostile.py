"""Findings of a hostile reader of the DHT, each as a test."""

from core.base.ids import Contact, hashed_key
from core.base.machine import Received, Tick
from core.dht.disjoint_lookup import DisjointLookup
from core.dht.events import Found
from core.dht.lookup import Lookup, LookupOptions
from core.dht.messages import Cache, Find, Get, Record, RequestBundle, Store, Values
from core.dht.records import KeepResult, Proofs, RecordStore, sign_record
from core.dht.routing import RoutingTable
from core.dht.settings import DhtSettings
from core.dht.space import position
from tests.sim.probes import reachable_bytes
from tests.unit.dht.network import START as NOW
from tests.unit.dht.network import ToySigner, ToyVerifier, peer_id
from tests.unit.dht.test_node import make, meet, sends

KEY = hashed_key(b"key")


def rec(owner, value=b"v", life=600, key=KEY):
    s = ToySigner(peer_id(owner))
    return sign_record(s, key, value, subkey=bytes(s.peer_id), expires_ms=int((NOW + life) * 1000))


def store_after(owners):
    """A store under whose key so many owners had a record, of which one is left."""
    store = RecordStore(Proofs(ToyVerifier()), DhtSettings())
    store.put(KEY, rec(1, life=5000), NOW)
    for n in range(2, owners):
        assert store.put(KEY, rec(n, life=1), NOW) is KeepResult.KEPT
        store.expire(NOW + 2 if n % 100 == 0 or n + 1 == owners else NOW)
    return store


def test_owner_counters_shrink():
    few, many = store_after(1500), store_after(3000)  # more than the proofs that are remembered
    assert len(few) == len(many) == 1
    assert reachable_bytes(many) < reachable_bytes(few) + 20_000


def test_empty_bundles_cost():
    node, trace = make(requests_per_s=10, requests_burst=5)
    for _ in range(100):
        node.handle(Received(peer_id(1), RequestBundle(1, False, ())), NOW)
    assert trace["dht.drop.flood"] > 0


def test_client_cache_says_client():
    node, _ = make(client=True)
    for n in (1, 2, 3):
        meet(node, n)
    asks = sends(node.get(KEY, NOW), Get)
    out = []
    for i, (to, ask) in enumerate(asks):
        out += node.handle(Received(to, Values(ask.query, (), (rec(9),) if i == 0 else (), b"", False)), NOW)
    caches = sends(out, Cache)
    assert caches
    assert all(m.client for _, m in caches)


def test_one_sender_cannot_fill_the_store():
    node, _ = make(records_max=50, requests_per_s=0)
    for n in range(100, 160):
        k = hashed_key(b"junk%d" % n)
        node.handle(Received(peer_id(1), Store(n, True, k, rec(n, key=k))), NOW)
    [a] = node.handle(Received(peer_id(2), Store(1, True, KEY, rec(2))), NOW)
    assert a.message.accepted


def test_moved_contact_counts_under_new_prefix():
    t = RoutingTable(peer_id(0), DhtSettings())
    for n in range(1, 60):
        t.heard(Contact(peer_id(n), f"60.{n}.0.1", 1), NOW)
    for n in range(1, 50):
        t.bucket(position(peer_id(n))).moved(Contact(peer_id(n), "198.51.100.1", n))
    assert sum(c.host.startswith("198.51.100.") for c in t.contacts()) <= 10


def _honest_and_fake():
    near = sorted(range(10, 90), key=lambda n: position(peer_id(n)) ^ int.from_bytes(KEY, "big"))
    honest = [Contact(peer_id(n), f"60.{n}.0.1", 1) for n in near[:8]]
    return honest, [Contact(c.peer, f"61.{i}.0.1", 1) for i, c in enumerate(honest)]


def test_wrong_address_of_a_holder_does_not_hide_it():
    honest, fake = _honest_and_fake()
    bad, good = (Contact(peer_id(n), f"70.{n}.0.1", 1) for n in (200, 201))
    w = Lookup(KEY, [bad, good], width=5, options=LookupOptions(parallel=16, ghosts_max=3))
    w.take()
    w.answered(bad.peer_id)
    w.add(fake, bad.peer_id)
    for c in w.take():
        w.slow(c.peer_id)
        w.failed(c.peer_id)
    w.answered(good.peer_id)
    w.add(honest, good.peer_id)
    asked = w.take()
    assert len([c for c in asked if c in honest]) >= 5, len(asked)


def test_a_lie_on_one_path_takes_no_peer_from_another():
    honest, fake = _honest_and_fake()
    bad, good = (Contact(peer_id(n), f"70.{n}.0.1", 1) for n in (200, 201))
    p = DisjointLookup(KEY, [bad, good], width=5, paths=2, options=LookupOptions(parallel=6, ghosts_max=3))
    p.take()
    p.answered(bad.peer_id)
    p.add(fake, bad.peer_id)
    p.answered(good.peer_id)
    p.add(honest, good.peer_id)
    assert [c for c in p.take() if c in honest]


def test_ghosts_in_an_honest_24_do_not_refuse_it():
    honest, _ = _honest_and_fake()
    bad, good = (Contact(peer_id(n), f"70.{n}.0.1", 1) for n in (200, 201))
    w = Lookup(KEY, [bad, good], width=5, options=LookupOptions(parallel=4, prefix_limit=3, ghosts_max=3))
    w.take()
    w.answered(bad.peer_id)
    pre = honest[0].host.rpartition(".")[0]
    w.add([Contact(peer_id(n), f"{pre}.{n - 290}", 9) for n in range(300, 303)], bad.peer_id)
    for c in w.take():
        w.slow(c.peer_id)
        w.failed(c.peer_id)
    w.answered(good.peer_id)
    w.add(honest[:1], good.peer_id)
    assert honest[0] in w.take()


def test_quorum_one_ends_with_a_strangers_own_record():
    node, _ = make()
    meet(node, 1)
    meet(node, 2)
    asks = sends(node.get(KEY, NOW, quorum=1, owner=peer_id(9)), Get)
    out = node.handle(Received(asks[0][0], Values(asks[0][1].query, (), (rec(666),), b"", False)), NOW)
    assert not [o for o in out if isinstance(o, Found)]


def test_forged_known_record_does_not_put_off_republish():
    node, _ = make(republish_s=600)
    meet(node, *range(3, 9))
    node.handle(Received(peer_id(1), Store(1, True, KEY, rec(1, life=9000))), NOW)
    g = rec(1, life=8000)
    g = Record(g.subkey, b"x", g.expires_ms, bytes(64))
    node.handle(Received(peer_id(2), Store(2, True, KEY, g)), NOW + 400)
    asked: list[bytes] = []
    while node.deadline is not None and node.deadline <= NOW + 1.25 * 600:
        asked += [find.key for _, find in sends(node.handle(Tick(), node.deadline), Find)]
    assert KEY in asked


def test_the_wanted_owners_record_does_end_the_read():
    node, _ = make()
    meet(node, 1)
    meet(node, 2)
    (to, ask), *_ = sends(node.get(KEY, NOW, quorum=1, owner=peer_id(9)), Get)
    out = node.handle(Received(to, Values(ask.query, (), (rec(9),), b"", False)), NOW)
    assert [found.records for found in out if isinstance(found, Found)] == [(rec(9),)]


def test_a_full_key_still_takes_what_somebody_else_gives():
    store = RecordStore(Proofs(ToyVerifier()), DhtSettings(records_per_key=10))
    for n in range(10):
        store.put(KEY, rec(n), NOW, giver=peer_id(77))
    assert store.put(KEY, rec(50), NOW, giver=peer_id(77)) == "full"
    assert store.put(KEY, rec(51), NOW, giver=peer_id(78)) == "kept"
    forged = rec(52)
    forged = Record(forged.subkey, forged.value, forged.expires_ms, bytes(64))
    assert store.put(KEY, forged, NOW, giver=peer_id(79)) == "signature"
    owners = {record.owner for record in store.get(KEY, NOW).values()}
    assert owners == {*map(peer_id, range(9)), peer_id(51)}
    assert len(store) == 10


def test_biggest_giver_of_bytes_makes_room():
    store = RecordStore(Proofs(ToyVerifier()), DhtSettings(record_bytes_max=1000))
    for n in range(5):
        store.put(KEY, rec(n, value=bytes(200)), NOW, giver=peer_id(77))
    assert store.put(KEY, rec(60, value=bytes(300)), NOW, giver=peer_id(78)) == "kept"
    assert store.put(KEY, rec(0, value=bytes(512), life=700), NOW, giver=peer_id(78)) == "full"
    held = store.get(KEY, NOW).values()
    assert sum(len(record.value) for record in held) <= 1000


def test_a_read_that_nobody_answered_asks_everybody_once_more():
    node, _ = make()
    for n in range(1, 6):
        meet(node, n)
    now, asked = NOW, [to for to, _ in sends(node.get(KEY, NOW, quorum=1), Get)]
    while len(asked) < 30 and node.deadline is not None and node.deadline < NOW + 9:
        now = node.deadline
        out = node.handle(Tick(), now)
        asked += [to for to, _ in sends(out, Get)]
        late = sends(out, Get)
        if len(asked) > 10 and late:  # each has been asked twice: this is the second attempt
            to, ask = late[0]
            out = node.handle(Received(to, Values(ask.query, (), (rec(9),), b"", False)), now + 0.01)
            assert [found.records for found in out if isinstance(found, Found)] == [(rec(9),)]
            return
    raise AssertionError("nobody was asked again")
