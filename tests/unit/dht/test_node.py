"""One node, spoken to by hand."""

from random import Random

import pytest

from core.base.ids import Contact, Observed, distance, hashed_key, node_key
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.dht.events import Found, Joined, Learned, RecordStored
from core.dht.messages import PAD, Bundled, Find, Get, Nodes, Ping, Pong, Record, Request, RequestBundle, Store, Values
from core.dht.messages import Stored as StoredAnswer
from core.dht.node import DhtNode
from core.dht.query_runner import PROBES_MAX
from core.dht.records import sign_record
from core.dht.settings import DhtSettings
from core.dht.space import point, position
from tests.unit.dht.network import START, ToySigner, ToyVerifier, contact, peer_id

KEY = hashed_key(b"key")
NOW = START


def make(**changes):
    trace = Trace()
    node = DhtNode(
        signer=ToySigner(peer_id(0)),
        verifier=ToyVerifier(),
        random=Random(1),
        settings=DhtSettings(**changes),
        trace=trace,
    )
    return node, trace


def record(owner, value=b"value", *, expires=NOW + 60, key=KEY):
    signer = ToySigner(peer_id(owner))
    return sign_record(signer, key, value, subkey=bytes(signer.peer_id), expires_ms=int(expires * 1000))


def sends(outputs, kind=object):
    """Recipients and messages; bundles are opened."""
    pairs = [(o.to, o.message) for o in outputs if isinstance(o, Send)]
    pairs = [(to, one) for to, m in pairs for one in (m.requests if isinstance(m, RequestBundle) else (m,))]
    return [(to, message) for to, message in pairs if isinstance(message, kind)]


def meet(node, *numbers, now=NOW):
    """Each of these peers is learned, asked, and answers."""
    for number in numbers:
        for to, ping in sends(node.learn(contact(number), now), Ping):
            node.handle(Received(to, Pong(ping.query)), now)


def test_alone_it_stores_for_itself_and_reads_it_back():
    node, _ = make()
    assert node.deadline is None
    assert node.store(KEY, b"a", lifetime_s=60, now=NOW) == [RecordStored(KEY, 1)]
    [found] = node.get(KEY, NOW)
    assert isinstance(found, Found)
    assert [(r.owner, r.value, r.expiration) for r in found.records] == [(node.me, b"a", NOW + 60)]
    assert node.get(KEY, NOW + 61) == [Found(KEY, ())]
    assert node.bootstrap([], NOW) == [Joined(0)]
    assert node.deadline > NOW


def test_a_second_store_at_the_same_moment_wins():
    node, _ = make()
    node.store(KEY, b"z", lifetime_s=60, now=NOW)
    node.store(KEY, b"a", lifetime_s=10, now=NOW)
    [found] = node.get(KEY, NOW)
    assert [r.value for r in found.records] == [b"a"]


def test_our_own_misuse_raises():
    node, _ = make()
    for arguments in (
        {"value": bytes(513), "lifetime_s": 1},
        {"value": b"", "lifetime_s": 0},
        {"value": b"", "lifetime_s": 1e9},
        {"value": b"", "lifetime_s": 1, "subkey": bytes(peer_id(1))},
    ):
        with pytest.raises(ValueError):
            node.store(KEY, now=NOW, **arguments)


def test_learned_precedes_the_first_send_and_answering_enters_the_table():
    node, _ = make()
    learned, send = node.learn(contact(1), NOW)
    assert learned == Learned(contact(1))
    assert isinstance(send.message, Ping)
    assert node.learn(contact(1), NOW) == []  # being asked already
    assert node.contacts == []
    node.handle(Received(peer_id(1), Pong(send.message.query)), NOW)
    assert node.contacts == [contact(1)]
    assert node.learn(contact(1), NOW) == []
    assert node.learn(contact(0), NOW) == []


def test_an_asker_proves_its_address_before_it_enters():
    node, trace = make()
    asked = Received(peer_id(1), Find(7, False, KEY, PAD))
    assert [type(m) for _, m in sends(node.handle(asked, NOW))] == [Nodes]
    assert trace["dht.note.address_unknown"] == 1
    node.handle(Observed(peer_id(1), contact(1).host, contact(1).port), NOW)
    [(_, both)] = sends(node.handle(asked, NOW), Bundled)
    assert [type(answer) for answer in both.answers] == [Nodes]
    assert node.contacts == []
    node.handle(Received(peer_id(1), Pong(both.ping)), NOW)
    assert node.contacts == [contact(1)]
    node.handle(Observed(peer_id(1), "192.0.2.1", 99), NOW)
    assert node.contacts == [Contact(peer_id(1), "192.0.2.1", 99)]
    node.handle(Observed(peer_id(1), "", 99), NOW)
    assert trace["dht.drop.address"] == 1


def test_ping_beside_an_answer_is_answered_even_if_unasked():
    node, trace = make()
    [(to, pong)] = sends(node.handle(Received(peer_id(1), Bundled(0, (Pong(5),), 77)), NOW))
    assert (to, pong.query) == (peer_id(1), 77)
    assert isinstance(pong, Pong)
    assert trace["dht.drop.unasked"] == 1
    client, trace = make(client=True)
    assert client.handle(Received(peer_id(1), Bundled(0, (), 77)), NOW) == []
    assert trace["dht.drop.asked_client"] == 1


def test_clients_ask_without_being_entered_and_answer_nobody():
    node, _ = make()
    node.handle(Observed(peer_id(1), "192.0.2.1", 99), NOW)
    assert len(node.handle(Received(peer_id(1), Find(7, True, KEY, PAD)), NOW)) == 1
    client, trace = make(client=True)
    assert client.handle(Received(peer_id(1), Find(7, False, KEY, PAD)), NOW) == []
    assert trace["dht.drop.asked_client"] == 1
    assert client.store(KEY, b"", lifetime_s=1, now=NOW) == [RecordStored(KEY, 0)]
    assert len(client.records) == 0
    assert sends(client.learn(contact(1), NOW), Ping)[0][1].client


def test_named_contacts_are_not_believed():
    """The reader itself, one contact twice, and a false address of a known contact."""
    node, trace = make(check_replies=False)
    meet(node, 1, 2)
    asks = sends(node.get(KEY, NOW), Get)
    assert {to for to, _ in asks} == {peer_id(1), peer_id(2)}
    false = Contact(peer_id(2), "192.0.2.66", 666)
    named = (contact(0), contact(3), contact(3), false)
    outputs = node.handle(Received(peer_id(1), Values(asks[0][1].query, named, (), b"", False)), NOW)
    if asks[0][0] != peer_id(1):
        outputs = node.handle(Received(peer_id(1), Values(asks[1][1].query, named, (), b"", False)), NOW)
    assert trace["dht.drop.contact"] == 2
    assert outputs[0] == Learned(contact(3))
    assert [to for to, _ in sends(outputs, Get)] == [peer_id(3)]
    assert contact(3) not in node.contacts
    assert false not in node.contacts


def test_an_asker_is_not_told_of_itself():
    node, _ = make()
    meet(node, 1, 2)
    [(_, nodes)] = sends(node.handle(Received(peer_id(1), Find(7, True, KEY, PAD)), NOW), Nodes)
    assert nodes.nodes == (contact(2),)


def test_where_the_nearest_hold_nothing_the_next_nearest_are_asked():
    node, _ = make()
    meet(node, *range(1, 15))
    waiting, asked = sends(node.get(KEY, NOW), Get), []
    nearest = sorted(range(1, 15), key=lambda n: distance(node_key(peer_id(n)), KEY))
    outputs = []
    while waiting:
        to, ask = waiting.pop()
        asked.append(to)
        held = (record(50),) if to == peer_id(nearest[6]) else ()
        outputs = node.handle(Received(to, Values(ask.query, (), held, b"", False)), NOW)
        waiting += sends(outputs, Get)
    assert set(asked) == {peer_id(n) for n in nearest[:10]}
    assert outputs == [Found(KEY, (record(50),))]


def test_answers_nobody_asked_for_are_dropped():
    node, trace = make()
    [(_, ping)] = sends(node.learn(contact(1), NOW), Ping)
    for sender, answer in (
        (peer_id(1), Pong(ping.query ^ 1)),
        (peer_id(2), Pong(ping.query)),
        (peer_id(1), Nodes(ping.query, (contact(9),))),
    ):
        assert node.handle(Received(sender, answer), NOW) == []
    assert trace["dht.drop.unasked"] == 3
    assert node.handle(Received(node.me, Ping(1, False)), NOW) == []
    assert trace["dht.drop.from_me"] == 1
    assert node.handle(Lost(peer_id(1), "x"), NOW) == []
    assert node.handle(Received(peer_id(1), "no message"), NOW) == []
    assert node.contacts == []


@pytest.mark.parametrize(
    ("bad", "mark"),
    [
        (Record(bytes(peer_id(1)), b"forged", int((NOW + 60) * 1000), bytes(64)), "dht.drop.record.signature"),
        (record(1, expires=NOW - 1), "dht.drop.record.expired"),
        (record(1, expires=NOW + 172_800 + 61), "dht.drop.record.too_long"),
        (record(1, key=hashed_key(b"another key")), "dht.drop.record.signature"),
    ],
)
def test_bad_records_are_refused_and_marked(bad, mark):
    node, trace = make()
    [answer] = node.handle(Received(peer_id(1), Store(5, True, KEY, bad)), NOW)
    assert answer == Send(peer_id(1), StoredAnswer(5, False))
    assert trace[mark] == 1
    assert len(node.records) == 0
    meet(node, 2)
    [(_, ask)] = sends(node.get(KEY, NOW), Get)
    [found] = node.handle(Received(peer_id(2), Values(ask.query, (), (bad,), b"", False)), NOW)[-1:]
    assert found == Found(KEY, ()) or isinstance(found, Send)


def test_replayed_stores_change_nothing():
    node, _ = make()
    old, new = record(1, b"old"), record(1, b"new", expires=NOW + 61)
    for one in (old, new, old, new, old):
        [answer] = node.handle(Received(peer_id(2), Store(5, True, KEY, one)), NOW)
        assert answer.message.accepted
    assert len(node.records) == 1
    [found] = node.get(KEY, NOW)
    assert found.records == (new,)


def test_simultaneous_gets_of_one_key_share_a_lookup():
    node, _ = make()
    meet(node, 1)
    [(to, ask)] = sends(node.get(KEY, NOW), Get)
    assert node.get(KEY, NOW) == []
    outputs = node.handle(Received(to, Values(ask.query, (), (record(5),), b"", False)), NOW)
    assert outputs == [Found(KEY, (record(5),))]
    assert len(sends(node.get(KEY, NOW), Get)) == 1


def test_full_bucket_pings_its_oldest_contact_before_replacing_it():
    node, _ = make(bucket_size=1, ping_after_s=10)
    near = [n for n in range(1, 60) if (node_key(peer_id(n))[0] ^ node_key(peer_id(0))[0]) & 0x80][:2]
    meet(node, near[0])
    [(to, ping)] = sends(node.learn(contact(near[1]), NOW + 20), Ping)
    [(doubted, question)] = sends(node.handle(Received(to, Pong(ping.query)), NOW + 20), Ping)
    assert doubted == peer_id(near[0])
    assert node.contacts == [contact(near[0])]
    node.handle(Received(doubted, Pong(question.query)), NOW + 20.1)
    assert node.contacts == [contact(near[0])]
    assert node.learn(contact(near[1]), NOW + 60) == []  # it waits for its place already
    asked, now = set(), NOW + 60
    while node.contacts == [contact(near[0])]:
        now += 1
        asked |= {to for to, _ in sends(node.handle(Tick(), now), Request)}
    assert asked == {doubted}
    assert node.contacts == [contact(near[1])]


def test_a_silent_peer_is_asked_twice_and_then_left_alone():
    node, _ = make(housekeeping_s=1000)
    meet(node, 1, 2)
    first = sends(node.get(KEY, NOW), Get)
    again = sends(node.handle(Tick(), NOW + 0.8), Get)
    assert set(first) == set(again)
    assert [type(o) for o in node.handle(Tick(), NOW + 1.6)] == [Found]
    assert sends(node.get(KEY, NOW + 1.7)) == []
    assert len(sends(node.get(KEY, NOW + 30), Get)) == 2


def test_strangers_can_not_make_it_ask_without_limit():
    node, _ = make()
    pings = 0
    for number in range(1, 500):
        node.handle(Observed(peer_id(number), contact(number).host, contact(number).port), NOW)
        outputs = node.handle(Received(peer_id(number), Ping(1, False)), NOW)
        pings += sum(bool(both.ping) for _, both in sends(outputs, Bundled)) + len(sends(outputs, Ping))
    assert pings == PROBES_MAX


def test_records_are_handed_to_a_newcomer_that_is_nearer():
    node, _ = make(replicas=1, forward_life_s=15.0)
    newcomers = [n for n in range(1, 50) if node_key(peer_id(n))[0] ^ KEY[0] < node_key(peer_id(0))[0] ^ KEY[0]]
    for owner in range(100, 110):
        node.handle(Received(peer_id(owner), Store(1, True, KEY, record(owner))), NOW)
    node.handle(Received(peer_id(120), Store(1, True, KEY, record(120, expires=NOW + 5))), NOW)
    [(to, ping)] = sends(node.learn(contact(newcomers[0]), NOW), Ping)
    waiting = sends(node.handle(Received(to, Pong(ping.query)), NOW), Store)
    handed = []
    while waiting:
        assert len(waiting) <= 8
        _, store = waiting.pop()
        handed.append(store.record)
        waiting += sends(node.handle(Received(to, StoredAnswer(store.query, True)), NOW), Store)
    assert len(handed) == 10
    assert set(handed) == {record(owner) for owner in range(100, 110)}


def test_newcomer_at_an_invented_address_is_sent_little():
    node, _ = make(replicas=1)
    newcomer = next(n for n in range(1, 50) if node_key(peer_id(n))[0] ^ KEY[0] < node_key(peer_id(0))[0] ^ KEY[0])
    for owner in range(100, 164):
        full = record(owner, bytes(512), expires=NOW + 600)
        node.handle(Received(peer_id(owner), Store(1, True, KEY, full)), NOW)
    node.handle(Observed(peer_id(newcomer), contact(newcomer).host, contact(newcomer).port), NOW)
    question = Ping(7, False)
    [(_, both)] = sends(node.handle(Received(peer_id(newcomer), question), NOW), Bundled)
    node.handle(Observed(peer_id(newcomer), "203.0.113.7", 53), NOW)
    outputs = list(node.handle(Received(peer_id(newcomer), Pong(both.ping)), NOW))
    for second in range(1, 10):
        outputs += node.handle(Tick(), NOW + second)
    stores = [message for to, message in sends(outputs, Store) if to == peer_id(newcomer)]
    assert 1 <= len(stores) <= 2


def test_of_several_holders_only_the_nearest_end_a_read():
    node, _ = make()
    order = sorted(range(1, 20), key=lambda number: position(peer_id(number)) ^ point(KEY))
    near, far = order[:8], order[-2:]
    meet(node, *far)
    first = sends(node.get(KEY, NOW, quorum=2), Get)
    assert {to for to, _ in first} == set(map(peer_id, far))
    named = tuple(map(contact, near))
    outputs = [node.handle(Received(to, Values(ask.query, named, (record(1),), b"", False)), NOW) for to, ask in first]
    assert not [one for output in outputs for one in output if isinstance(one, Found)]
    asked = [pair for output in outputs for pair in sends(output, Get)]
    answers = [node.handle(Received(to, Values(ask.query, (), (record(2),), b"", False)), NOW) for to, ask in asked[:2]]
    [found] = [one for output in answers for one in output if isinstance(one, Found)]
    assert {each.owner for each in found.records} == {peer_id(1), peer_id(2)}
