"""What strangers may say to a node: anything, and it never raises."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.ids import Contact, Observed, PeerId
from core.base.machine import Received, Send, Tick
from core.dht.events import Found, Joined, Learned, RecordStored
from core.dht.messages import DHT_MESSAGES, Answer, AnyAnswer, AnyRequest, Bundled, Record, Request, RequestBundle
from tests.unit.dht.network import contact, peer_id
from tests.unit.dht.test_node import KEY, NOW, make, record, sends

PEOPLE = st.integers(0, 5).map(peer_id)


def arbitrary(kind):
    """Messages of a class, every field at random within its schema."""
    peers = PEOPLE.map(bytes)
    contacts = st.builds(Contact, peers, st.text(min_size=1, max_size=60), st.integers(1, 65535))
    milliseconds = st.integers(0, 2**48 - 1) | st.integers(int(NOW * 1000), int(NOW * 1000) + 10**6)
    raw = st.builds(
        Record,
        peers.flatmap(lambda p: st.binary(max_size=16).map(p.__add__)),
        st.binary(max_size=512),
        milliseconds,
        st.binary(min_size=64, max_size=64),
    )
    signed = st.builds(record, st.integers(0, 5), st.binary(max_size=9), expires=st.floats(NOW - 5, NOW + 5000))
    fields = {
        "query": st.integers(0, 2**63 - 1),
        "client": st.booleans(),
        "key": st.just(KEY) | st.binary(min_size=32, max_size=32),
        "pad": st.binary(max_size=240),
        "nodes": st.lists(contacts, max_size=12).map(tuple),
        "after": st.binary(max_size=8),
        "records": st.lists(raw | signed, max_size=4).map(tuple),
        "index": st.binary(max_size=700),
        "more": st.booleans(),
        "tags": st.binary(min_size=8, max_size=128),
        "record": raw | signed,
        "accepted": st.booleans(),
    }
    if kind is RequestBundle:
        inside = st.sampled_from(AnyRequest.__args__).flatmap(arbitrary)
        return st.builds(RequestBundle, fields["query"], fields["client"], st.lists(inside, max_size=12).map(tuple))
    if kind is Bundled:
        inside = st.sampled_from(AnyAnswer.__args__).flatmap(arbitrary)
        return st.builds(Bundled, fields["query"], st.lists(inside, max_size=12).map(tuple))
    return st.builds(kind, **{name: fields[name] for name in kind.__struct_fields__})


STEPS = st.tuples(PEOPLE, st.sampled_from(DHT_MESSAGES).flatmap(arbitrary), st.booleans(), st.floats(0, 3))


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_nothing_that_strangers_say_raises(steps):
    """Arbitrary messages, half of the answers fitted to an open query, while it reads, stores and joins."""
    node, _ = make()
    now, waiting = NOW, []
    outputs = node.bootstrap([contact(1), contact(2)], now)
    for index, (stranger, said, fitted, passed) in enumerate(steps):
        sender, message = stranger, said
        now += passed
        if index % 5 == 0:
            outputs += node.get(KEY, now)
            outputs += node.store(KEY, b"x", lifetime_s=9, now=now)
        waiting += sends(outputs, Request)
        if fitted and isinstance(message, Answer) and waiting:
            to, request = waiting.pop(0)
            sender, message = PeerId(to), msgspec.structs.replace(message, query=request.query)
        outputs = list(node.handle(Observed(sender, "192.0.2.1", 1 + index), now))
        outputs += node.handle(Received(sender, message), now)
        outputs += node.handle(Tick(), now)
        assert all(isinstance(o, Send | Found | RecordStored | Learned | Joined) for o in outputs)
        assert node.deadline > now
