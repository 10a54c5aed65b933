"""Many nodes in a simulated network; the whole network, seen from outside, is the reference."""

import pytest

from core.base.ids import Contact, PeerId, hashed_key
from core.base.signing import Ed25519Verifier, KeyPair
from core.dht.events import Found, Joined
from core.dht.settings import DhtSettings
from tests.unit.dht.network import Network, contact, peer_id

KEY = hashed_key(b"progress")
REPLICAS = DhtSettings().replicas


def holders(net, key):
    return {peer for peer, node in net.nodes.items() if peer not in net.dead and node.records.get(key, net.now)}


@pytest.mark.parametrize("seed", range(3))
def test_everything_stored_is_found_and_stands_at_the_true_nearest(seed):
    net = Network(60, seed=seed, checked=True)
    net.join_all()
    assert sum(isinstance(event, Joined) for _, event in net.events) >= 60
    spare = 0
    for number in range(30):
        key = hashed_key(b"%d" % number)
        stored = net.store(net.random.randrange(60), key, b"value %d" % number)
        assert stored.replicas >= REPLICAS, f"seed {seed}"
        assert set(net.nearest(key, REPLICAS)) <= holders(net, key), f"seed {seed}"
        spare += len(holders(net, key)) - REPLICAS
        found = net.get(net.random.randrange(60), key)
        assert [r.value for r in found.records] == [b"value %d" % number], f"seed {seed}"
    assert spare / 30 <= 4, f"seed {seed}"  # given to those who seemed to be among the nearest
    assert net.get(3, hashed_key(b"nothing")) == Found(hashed_key(b"nothing"), ())


@pytest.mark.parametrize("seed", range(3))
def test_keys_are_found_with_loss_and_dead_peers(seed):
    net = Network(60, seed=seed, loss=0.02)
    net.join_all()
    keys = [hashed_key(b"%d" % number) for number in range(30)]
    for key in keys:
        net.store(net.random.randrange(60), key, b"before")
    net.dead = set(net.random.sample(list(net.nodes)[1:], 12))
    living = [number for number in range(60) if peer_id(number) not in net.dead]
    lost = 0
    for key in keys:
        found = net.get(net.random.choice(living), key)
        lost += not found.records
    assert lost <= 1, f"seed {seed}"
    exact = 0
    for number in range(30):
        key = hashed_key(b"after %d" % number)
        stored = net.store(net.random.choice(living), key, b"after")
        assert stored.replicas >= REPLICAS / 2, f"seed {seed}"
        exact += set(net.nearest(key, 3)) <= holders(net, key)
        assert net.get(net.random.choice(living), key).records, f"seed {seed}"
    assert exact >= 27, f"seed {seed}"


def test_a_key_with_a_hundred_subkeys_is_read_whole():
    net = Network(24, checked=True)
    net.join_all()
    values = {}
    for number in range(24):
        for part in range(5 if number < 4 else 4):
            value = bytes((number, part)) * 100
            net.store(number, KEY, value, suffix=bytes((part,)))
            values[bytes(peer_id(number)) + bytes((part,))] = value
    assert len(values) == 100
    for reader in (0, 7, 23):
        assert {r.subkey: r.value for r in net.get(reader, KEY).records} == values


def test_replicas_that_missed_something_are_merged():
    net = Network(24)
    net.join_all()
    near = net.nearest(KEY, 5)
    writers = [number for number in range(24) if peer_id(number) not in near][:10]
    for index, writer in enumerate(writers):
        net.dead = {near[index % 5], near[(index + 1) % 5]}
        net.store(writer, KEY, bytes(200), suffix=b"")
        net.run(15)
    net.dead = set()
    net.run(90)
    found = net.get(writers[0], KEY)
    assert {r.owner for r in found.records} == {peer_id(number) for number in writers}


def test_later_store_replaces_the_record_and_then_expires():
    net = Network(24)
    net.join_all()
    net.store(3, KEY, b"one", lifetime_s=100)
    assert [r.value for r in net.get(5, KEY).records] == [b"one"]
    net.store(3, KEY, b"two", lifetime_s=50)
    for reader in (3, 5, 9):
        assert [r.value for r in net.get(reader, KEY).records] == [b"two"]
    net.run(100)
    for reader in (3, 5, 9):
        assert net.get(reader, KEY).records == ()
    net.run(40)
    assert sum(len(node.records) for node in net.nodes.values()) == 0


def test_client_nodes_read_and_write_but_are_not_asked():
    net = Network(12)
    clients = [20, 21, 22]
    for number in clients:
        net.add(number, settings=DhtSettings(client=True))
    net.join_all()
    net.store(20, KEY, b"from a client")
    assert [r.value for r in net.get(21, KEY).records] == [b"from a client"]
    assert all(len(net.nodes[peer_id(number)].records) == 0 for number in clients)
    known = {c.peer for node in net.nodes.values() for c in node.contacts}
    assert known.isdisjoint(peer_id(number) for number in clients)
    assert net.count("dht.drop.asked_client") == 0


def test_newcomers_receive_the_records_near_to_them():
    net = Network(16)
    net.join_all()
    keys = [hashed_key(b"%d" % number) for number in range(20)]
    for key in keys:
        net.store(1, key, b"old")
    for number in range(100, 116):
        net.do(net.add(number), net.nodes[peer_id(number)].bootstrap([contact(0)], net.now))
    net.run(40)
    net.dead = {peer_id(number) for number in range(1, 16)}
    net.run(60)
    found = sum(bool(net.get(100, key).records) for key in keys)
    assert found == len(keys)


def test_a_divided_network_grows_together_again():
    net = Network(16)
    net.join_all()
    net.divided = {peer_id(number) for number in range(8, 16)}
    for _ in range(20):
        for number in range(16):
            net.do(net.nodes[peer_id(number)], net.nodes[peer_id(number)].get(KEY, net.now))
        net.run(10)
    assert all(c.peer not in net.divided for c in net.nodes[peer_id(0)].contacts)
    net.divided = set()
    net.run(200)
    net.store(12, KEY, b"from the other side")
    assert net.get(3, KEY).records
    assert holders(net, KEY) >= set(net.nearest(KEY, 5))


def test_a_seed_that_starts_late_is_found():
    net = Network(3)
    net.dead = {peer_id(0)}
    net.join_all()
    assert all(not node.contacts for node in net.nodes.values())
    net.dead = set()
    net.run(90)
    assert all(len(node.contacts) == 2 for node in net.nodes.values())


def test_a_seed_that_began_anew_is_no_island_for_newcomers():
    net = Network(20)
    net.join_all()
    net.run(300)
    anew = net.add(0)
    net.seen = {pair: at for pair, at in net.seen.items() if pair[0] != anew.me}
    net.do(anew, anew.bootstrap([], net.now))
    newcomer = net.add(20)
    net.do(newcomer, newcomer.bootstrap([contact(0)], net.now))
    net.run(60)
    net.store(20, KEY, b"from the newcomer")
    assert net.get(7, KEY).records
    assert len(newcomer.contacts) >= net.settings.replicas


def test_a_peer_that_moved_is_reached_at_its_new_address():
    net = Network(8)
    net.join_all()
    moved = Contact(peer_id(3), "192.0.2.3", 3333)
    net.contacts[peer_id(3)] = moved
    net.get(3, KEY)
    net.run(20)
    assert moved in net.nodes[net.nearest(KEY, 1)[0]].contacts


def test_the_same_seed_gives_the_same_run():
    def run(seed):
        net = Network(20, seed=seed, loss=0.05)
        net.join_all()
        for number in range(10):
            net.store(number, KEY, b"v", suffix=b"%d" % number)
            net.get(19 - number, KEY)
        return net.now, net.sent, [event for _, event in net.events]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_with_real_keys():
    net = Network(0)
    net.verifier = Ed25519Verifier()
    pairs = [KeyPair(bytes((number,)) * 32) for number in range(6)]
    for number, pair in enumerate(pairs):
        node = net.add(number, signer=pair)
        for table in (net.nodes, net.traces, net.contacts, net.told):
            table[pair.peer_id] = table.pop(peer_id(number))
        net.contacts[pair.peer_id] = Contact(pair.peer_id, "192.0.2.1", 1 + number)
        assert node.me == pair.peer_id
    net.join_all()
    writer, reader = net.nodes[pairs[1].peer_id], net.nodes[pairs[4].peer_id]
    net.do(writer, writer.store(KEY, b"signed", lifetime_s=60, now=net.now))
    net.run(3)
    net.do(reader, reader.get(KEY, net.now))
    found = net.await_event(reader, Found, 0, 5.0)
    assert [(r.owner, r.value) for r in found.records] == [(writer.me, b"signed")]


def test_lookups_cost_few_messages():
    """24 peers: each read asks the five nearest; a known way makes a store eight messages."""
    net = Network(24)
    net.join_all()
    net.run(60)
    outsider = next(number for number in range(24) if peer_id(number) not in net.nearest(KEY, 6))
    net.get(outsider, KEY)
    net.sent.clear()
    net.get(outsider, KEY)
    assert net.sent["Get"] <= 12
    net.sent.clear()
    net.store(outsider, KEY, b"v")
    net.get(outsider, KEY)
    assert (net.sent["Store"], net.sent["Find"]) == (8, 0)
    assert net.sent["Get"] <= 6


def test_peer_can_enter_and_leave_client_mode():
    net = Network(12)
    net.join_all()
    hidden = net.nodes[peer_id(5)]
    hidden.client = True
    net.store(5, KEY, b"from behind a router")
    net.get(5, hashed_key(b"elsewhere"))
    assert net.get(2, KEY).records
    asked = [node for node in net.nodes.values() if node is not hidden and hidden.me in {c.peer for c in node.contacts}]
    for node in asked:
        net.do(hidden, hidden.get(hashed_key(bytes(node.me)), net.now))
    net.run(30)
    assert hidden.me not in {c.peer for node in net.nodes.values() for c in node.contacts}
    before = len(hidden.records)
    net.store(3, hashed_key(bytes(hidden.me)), b"not for the hidden one")
    assert len(hidden.records) == before
    hidden.client = False
    for number in range(4):
        net.get(5, hashed_key(b"key %d" % number))
    net.run(10)
    assert hidden.me in {c.peer for node in net.nodes.values() for c in node.contacts}


def together(net: Network, peers: list[PeerId]) -> bool:
    return all({c.peer for c in net.nodes[peer].contacts} >= set(peers) - {peer} for peer in peers)


@pytest.mark.parametrize(
    ("count", "apart", "cut_s"), [(4, 1, 2), (4, 1, 1800), (4, 2, 110), (4, 2, 1800), (12, 6, 2), (12, 6, 110)]
)
def test_peers_find_each_other_without_their_only_seed(count, apart, cut_s):
    net = Network(count)
    net.join_all()
    net.dead = {peer_id(0)}
    peers = [peer_id(number) for number in range(1, count)]
    net.divided = set(peers[:apart])
    live_for(net, peers, cut_s)
    net.divided = set()
    waited_s = 0
    while not together(net, peers):
        live_for(net, peers, 5)
        waited_s += 5
        assert waited_s <= 60


def live_for(net: Network, peers: list[PeerId], seconds: float) -> None:
    """Each reads a key every two seconds, as a peer that trains does."""
    for _ in range(int(seconds / 2) + 1):
        for peer in peers:
            net.do(net.nodes[peer], net.nodes[peer].get(KEY, net.now))
        net.run(2)
