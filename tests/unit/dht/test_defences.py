"""Attacks of strangers against one node, with and without the defence."""

from collections import Counter
from random import Random

import pytest

from core.base.ids import Contact, hashed_key
from core.base.machine import Received, Trace
from core.base.problems import WireProblem
from core.base.wire import MessageCodec
from core.dht.events import Found, RecordStored
from core.dht.key_classes import classed_key
from core.dht.messages import DHT_MESSAGES, PAD, Find, Get, Ping, Pong, Record, Store, Values
from core.dht.node import DhtNode, Put
from core.dht.routing import RoutingTable
from core.dht.settings import DhtSettings
from core.dht.space import position
from tests.unit.dht.network import START, Network, ToySigner, ToyVerifier, contact, peer_id
from tests.unit.dht.test_node import make, meet, record, sends

KEY = hashed_key(b"key")
NOW = START


def test_position_in_the_key_space_follows_from_the_key():
    """A change of one bit of the public key leads elsewhere: for a place an attacker makes keys until one fits."""
    random = Random(1)
    shared = []
    for _ in range(500):
        peer = random.randbytes(32)
        bit = random.randrange(256)
        other = (int.from_bytes(peer, "big") ^ 1 << bit).to_bytes(32, "big")
        shared.append(256 - (position(peer) ^ position(other)).bit_length())
    assert sum(shared) / len(shared) < 1.5
    node, _ = make()
    claimed = Contact(bytes(KEY), "203.0.113.1", 1)  # a "peer" whose id is the very key
    node.handle(Received(peer_id(1), Find(1, True, KEY, PAD)), NOW)
    assert position(claimed.peer) != int.from_bytes(KEY, "big")


def crowd(limits):
    return len(crowding(limits))


def crowding(limits):
    """Contacts of one network in a table that knows several."""
    table = RoutingTable(peer_id(0), limits)
    for number in range(1, 9):
        table.heard(Contact(peer_id(number), f"203.0.{number}.1", 1), NOW)
    for number in range(100, 400):
        table.heard(Contact(peer_id(number), f"198.51.100.{number % 250}", number), NOW)
    return [c for c in table.contacts() if c.host.startswith("198.51.100.")]


def test_ids_of_one_network_do_not_fill_the_table():
    assert crowd(DhtSettings(prefix_per_bucket=0, prefix_per_table=0)) > 60
    assert crowd(DhtSettings(prefix_per_bucket=2, prefix_per_table=0)) <= 2 * 12
    assert crowd(DhtSettings(prefix_per_bucket=2, prefix_per_table=10)) == 10


def test_default_limits_leave_each_bucket_to_other_networks():
    settings = DhtSettings()
    assert 0 < settings.prefix_per_bucket < settings.prefix_per_table < settings.bucket_size
    buckets = Counter((position(c.peer_id) ^ position(peer_id(0))).bit_length() for c in crowding(settings))
    assert max(buckets.values()) == settings.prefix_per_bucket
    assert sum(buckets.values()) == settings.prefix_per_table


def test_in_a_small_world_networks_do_not_count():
    table = RoutingTable(peer_id(0), DhtSettings())
    for number in range(1, 30):
        table.heard(Contact(peer_id(number), "198.51.100.1", number), NOW)
    assert len(table) == 29


def poisoned(nodes, **changes):
    node, trace = make(**changes)
    meet(node, 1)
    [(to, ask)] = sends(node.get(KEY, NOW), Get)
    outputs = node.handle(Received(to, Values(ask.query, nodes, (), b"", False)), NOW)
    return sends(outputs, Get), trace


def test_contacts_in_a_wrong_order_are_dropped():
    far_first = tuple(
        sorted(map(contact, range(5, 9)), key=lambda c: position(c.peer) ^ int.from_bytes(KEY, "big"), reverse=True)
    )
    asked, trace = poisoned(far_first)
    assert (asked, trace["dht.drop.nodes.order"]) == ([], 1)
    asked, _ = poisoned(far_first, check_replies=False)
    assert asked
    asked, _ = poisoned(far_first[::-1])
    assert asked


def test_distant_peers_cannot_name_addresses_in_our_network():
    node, trace = make()
    stranger = Contact(peer_id(1), "203.0.113.1", 1)
    [(to, ping)] = sends(node.learn(stranger, NOW), Ping)
    node.handle(Received(to, Pong(ping.query)), NOW)
    [(_, ask)] = sends(node.get(KEY, NOW), Get)
    hint = (Contact(peer_id(5), "127.0.0.1", 22),)
    assert sends(node.handle(Received(to, Values(ask.query, hint, (), b"", False)), NOW)) == []
    assert trace["dht.drop.contact.reach"] == 1


def test_a_named_contact_enters_only_by_its_own_answer():
    node, _ = make()
    meet(node, 1)
    [(to, ask)] = sends(node.get(KEY, NOW), Get)
    node.handle(Received(to, Values(ask.query, (contact(7),), (), b"", False)), NOW)
    assert contact(7) not in node.contacts


def test_flood_from_one_peer_does_not_silence_others():
    node, trace = make(requests_per_s=10, requests_burst=20)
    answered = sum(bool(node.handle(Received(peer_id(1), Find(n, True, KEY, PAD)), NOW)) for n in range(500))
    assert (answered, trace["dht.drop.flood"]) == (20, 480)
    assert node.handle(Received(peer_id(2), Find(1, True, KEY, PAD)), NOW)
    open_node, _ = make(requests_per_s=0)
    assert all(open_node.handle(Received(peer_id(1), Find(n, True, KEY, PAD)), NOW) for n in range(500))


def test_an_oversized_record_does_not_even_decode():
    codec = MessageCodec(DHT_MESSAGES)
    big = Store(1, False, KEY, Record(bytes(32), bytes(513), 1, bytes(64)))
    with pytest.raises(WireProblem):
        codec.decode(codec.encode(big))


def test_records_outside_their_class_are_neither_kept_nor_read():
    trace = Trace()
    node = DhtNode(
        signer=ToySigner(peer_id(0)),
        verifier=ToyVerifier(),
        random=Random(1),
        settings=DhtSettings(),
        trace=trace,
        validators={"short": lambda _, one: len(one.value) < 6},
    )
    key = classed_key("short", b"x")
    bad, good = record(5, b"too long", key=key), record(6, b"good", key=key)
    with pytest.raises(ValueError, match="class"):
        node.store(key, b"too long", lifetime_s=60, now=NOW)
    [answer] = node.handle(Received(peer_id(1), Store(1, True, key, bad)), NOW)
    assert not answer.message.accepted
    meet(node, 2)
    [(to, ask)] = sends(node.get(key, NOW), Get)
    outputs = node.handle(Received(to, Values(ask.query, (), (bad, good), b"", False)), NOW)
    assert outputs == [Found(key, (good,))]
    assert trace["dht.drop.record.schema"] == 2


def test_negative_caching_never_hides_what_was_just_stored():
    node, _ = make(absent_s=5)
    meet(node, 1)
    [(to, ask)] = sends(node.get(KEY, NOW), Get)
    assert node.handle(Received(to, Values(ask.query, (), (), b"", False)), NOW) == [Found(KEY, ())]
    assert node.get(KEY, NOW + 1) == [Found(KEY, ())]
    node.handle(Received(peer_id(1), Store(1, False, KEY, record(9))), NOW + 2)
    assert node.get(KEY, NOW + 2) != [Found(KEY, ())]
    other = hashed_key(b"other")
    [(to, ask)] = sends(node.get(other, NOW), Get)
    node.handle(Received(to, Values(ask.query, (), (), b"", False)), NOW)
    node.store(other, b"mine", lifetime_s=60, now=NOW)
    assert sends(node.get(other, NOW), Get)
    assert node.get(hashed_key(b"never read"), NOW)


def test_recent_read_is_repeated_without_a_message():
    node, _ = make()
    meet(node, 1)
    [(to, ask)] = sends(node.get(KEY, NOW), Get)
    node.handle(Received(to, Values(ask.query, (), (record(5),), b"", False)), NOW)
    assert node.get(KEY, NOW + 5, max_age_s=10) == [Found(KEY, (record(5),))]
    assert sends(node.get(KEY, NOW + 11, max_age_s=10), Get)


def test_many_values_travel_together_and_come_back_together():
    net = Network(12, checked=True)
    net.join_all()
    net.run(30)
    keys = [hashed_key(b"%d" % number) for number in range(20)]
    node = net.nodes[peer_id(3)]
    net.do(node, [output for key in keys for output in node.get(key, net.now)])
    net.run(3)
    before, net.datagrams = len(net.events), 0
    net.sent.clear()
    net.do(node, node.store_many([Put(key, b"value %d" % n, 600.0) for n, key in enumerate(keys)], net.now))
    net.run(5)
    stored = [e for peer, e in net.events[before:] if peer == node.me and isinstance(e, RecordStored)]
    assert {e.key: e.replicas for e in stored} == dict.fromkeys(keys, 8)
    assert net.datagrams < sum(net.sent.values()) / 2
    reader, before = net.nodes[peer_id(7)], len(net.events)
    net.datagrams = 0
    net.sent.clear()
    net.do(reader, reader.get(keys, net.now))
    net.run(5)
    found = {e.key: [r.value for r in e.records] for _, e in net.events[before:] if isinstance(e, Found)}
    assert found == {key: [b"value %d" % n] for n, key in enumerate(keys)}
    assert net.datagrams < sum(net.sent.values()) * 0.8


def test_records_outlive_all_their_first_holders_and_their_owner():
    net = Network(24, settings=DhtSettings(republish_s=600, max_lifetime_s=40_000, stale_after_s=200, replicas=4))
    net.join_all()
    net.store(3, KEY, b"lasting", lifetime_s=36_000)
    first = net.nearest(KEY, 4)
    for peer in [*first, peer_id(3)]:
        net.dead.add(peer)
        net.run(1000)
    reader = next(n for n in range(24) if peer_id(n) not in net.dead)
    assert [r.value for r in net.get(reader, KEY).records] == [b"lasting"]
    held = [p for p, n in net.nodes.items() if p not in net.dead and n.records.get(KEY, net.now)]
    assert set(net.nearest(KEY, 3)) <= set(held)


def test_default_settings_republish_records_that_outlive_the_interval():
    net = Network(24)
    net.join_all()
    every_s = DhtSettings().republish_s
    assert 0 < every_s < DhtSettings().max_lifetime_s / 2
    net.store(3, KEY, b"lasting", lifetime_s=2 * every_s)
    net.dead.add(peer_id(3))
    net.run(10)
    net.sent.clear()
    net.run(1.3 * every_s)  # the jitter is a quarter
    assert net.sent["Store"] > 0


def test_a_quiet_node_wakes_and_speaks_seldom():
    net = Network(24)
    net.join_all()
    net.run(3600)
    net.sent.clear()
    net.run(3600)
    assert sum(net.sent.values()) / 24 < 300
