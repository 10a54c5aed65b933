from hypothesis import given
from hypothesis import strategies as st

from core.base.ids import hashed_key
from core.base.machine import Send
from core.dht.bundles import PAD_LEAST, append_ping, bundle_answers, bundle_requests
from core.dht.events import Learned
from core.dht.messages import (
    AMPLIFICATION,
    BUNDLE_HEADER_BYTES,
    BUNDLE_MAX,
    MESSAGE_BYTES_MAX,
    PAD,
    Bundled,
    Find,
    Get,
    Nodes,
    Ping,
    Pong,
    Record,
    Records,
    RequestBundle,
    Store,
    answer_room,
    encoded_bytes,
)
from core.dht.pages import nodes_answer
from tests.unit.dht.network import contact, peer_id

KEY = hashed_key(b"key")
KINDS = st.sampled_from(["ping", "find", "get", "small", "large"])


def request(kind, query):
    match kind:
        case "ping":
            return Ping(query, False)
        case "find":
            return Find(query, False, KEY, PAD)
        case "get":
            return Get(query, False, KEY, b"", PAD)
    value = bytes(20 if kind == "small" else 512)
    return Store(query, False, KEY, Record(bytes(32), value, 2**47, bytes(64)))


@given(st.lists(st.tuples(st.integers(0, 3), KINDS), max_size=40))
def test_every_request_is_sent_once_in_datagrams_that_fit(asks):
    sent = [Send(peer_id(to), request(kind, 2**62 + query)) for query, (to, kind) in enumerate(asks)]
    bundled = bundle_requests(list(sent), client=False)
    for send in bundled:
        assert encoded_bytes(send.message) <= MESSAGE_BYTES_MAX
    pairs = []
    for send in bundled:
        inside = send.message.requests if isinstance(send.message, RequestBundle) else (send.message,)
        assert len(inside) <= BUNDLE_MAX
        pairs += [(send.to, one.query) for one in inside]
        for one in inside:
            if isinstance(one, Find | Get) and len(inside) > 1:
                assert len(one.pad) >= PAD_LEAST - 2
    assert sorted(pairs) == sorted((send.to, send.message.query) for send in sent)


@given(st.lists(st.sampled_from(["find", "ping"]), min_size=2, max_size=30))
def test_answers_are_never_longer_than_their_requests_paid_for(kinds):
    sent = [Send(peer_id(1), request(kind, 2**62 + query)) for query, kind in enumerate(kinds)]
    for send in bundle_requests(list(sent), client=False):
        inside = send.message.requests if isinstance(send.message, RequestBundle) else (send.message,)
        answers = [
            nodes_answer(one, [contact(n) for n in range(12)]) if isinstance(one, Find) else Pong(one.query)
            for one in inside
        ]
        assert all(encoded_bytes(a) <= answer_room(r) for a, r in zip(answers, inside, strict=True))
        datagrams = bundle_answers(answers)
        assert all(encoded_bytes(one) <= MESSAGE_BYTES_MAX for one in datagrams)
        total = sum(encoded_bytes(one) for one in datagrams)
        assert total <= AMPLIFICATION * encoded_bytes(send.message) + BUNDLE_HEADER_BYTES
        back = [a for one in datagrams for a in (one.answers if isinstance(one, Bundled) else (one,))]
        assert back == answers


def test_lone_requests_and_events_stay_as_they_are():
    outputs = [Learned(contact(1)), Send(peer_id(1), Ping(1, False)), Send(peer_id(2), Ping(2, False))]
    assert bundle_requests(outputs, client=True) is outputs
    answer = Send(peer_id(1), Nodes(1, ()))
    mixed = [answer, Send(peer_id(1), Ping(1, True)), Learned(contact(2)), Send(peer_id(1), Ping(2, True))]
    first, bundle, learned = bundle_requests(mixed, client=True)
    assert (first, learned) == (answer, Learned(contact(2)))
    assert bundle.message.client
    assert [one.query for one in bundle.message.requests] == [1, 2]


def test_ping_travels_with_the_last_answer_if_it_fits():
    asked = Ping(77, False)
    small, nodes = Pong(1), Nodes(2, tuple(contact(n) for n in range(12)))
    them, somebody = peer_id(1), peer_id(2)
    assert append_ping([Send(them, small)], [Send(them, asked)]) == [Send(them, Bundled(0, (small,), 77))]
    both = append_ping([Send(them, nodes), Send(them, Bundled(0, (small, small)))], [Send(them, asked)])
    assert both == [Send(them, nodes), Send(them, Bundled(0, (small, small), 77))]
    assert all(encoded_bytes(one.message) <= MESSAGE_BYTES_MAX for one in both)
    full = Records(3, (Record(bytes(32), bytes(512), 2**47, bytes(64)),))
    apart = [Send(them, full), Send(them, asked)]
    assert (append_ping([Send(them, full)], [Send(them, asked)]) == apart) == (encoded_bytes(full) > 674)
    for outputs, question in (
        ([], [Send(them, asked)]),
        ([Send(them, small)], []),
        ([Send(them, small)], [Send(somebody, asked)]),
        ([Send(them, small)], [Learned(contact(1)), Send(them, asked)]),
    ):
        assert append_ping(outputs, question) == outputs + question
