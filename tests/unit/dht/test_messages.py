import msgspec
import pytest

from core.base.ids import Contact, hashed_key
from core.base.problems import WireProblem
from core.base.wire import MessageCodec
from core.dht.messages import (
    AMPLIFICATION,
    ANSWER_TO,
    DHT_MESSAGES,
    MESSAGE_BYTES_MAX,
    PAD,
    TAG_BYTES,
    Bundled,
    Fetch,
    Find,
    Get,
    Nodes,
    Ping,
    Record,
    Records,
    Request,
    RequestBundle,
    Store,
    Values,
    answer_room,
    encoded_bytes,
)
from core.dht.pages import contact_bytes, record_bytes
from tests.unit.dht.network import contact, peer_id

KEY = hashed_key(b"key")
BIG = 2**63 - 1
LARGEST = Record(peer_id(1) + bytes(16), bytes(512), 2**48 - 1, bytes(64))


def test_all_are_datagrams_and_every_request_has_its_answer():
    assert all(kind.plane == "datagram" for kind in DHT_MESSAGES)
    requests = [kind for kind in DHT_MESSAGES if issubclass(kind, Request)]
    assert set(ANSWER_TO) | {RequestBundle} == set(requests)
    assert set(ANSWER_TO.values()) | set(requests) | {Bundled} == set(DHT_MESSAGES)


def test_the_largest_messages_fit():
    tags = bytes(TAG_BYTES * 16)
    for message in (
        Store(BIG, False, KEY, LARGEST),
        Records(BIG, (LARGEST,)),
        Fetch(BIG, False, KEY, tags, PAD),
        Get(BIG, False, KEY, bytes(TAG_BYTES), PAD),
    ):
        assert encoded_bytes(message) <= MESSAGE_BYTES_MAX


def test_padding_buys_a_full_answer_and_none_a_third():
    for request in (Find(2**62, False, KEY, PAD), Get(2**62, False, KEY, b"", PAD)):
        assert answer_room(request) == MESSAGE_BYTES_MAX
    bare = Find(2**62, False, KEY, b"")
    assert answer_room(bare) == AMPLIFICATION * encoded_bytes(bare) < 200


def test_estimated_lengths_are_upper_bounds():
    encode = msgspec.msgpack.encode
    assert record_bytes(LARGEST) == len(encode(LARGEST))
    assert record_bytes(Record(bytes(32), b"", 0, bytes(64))) >= len(encode(Record(bytes(32), b"", 0, bytes(64))))
    for one in (contact(1), Contact(peer_id(1), "ü" * 60, 65535)):
        assert contact_bytes(one) >= len(encode(one))


@pytest.mark.parametrize(
    "message",
    [
        Ping(2**63, False),
        Find(1, False, bytes(31), b""),
        Find(1, False, KEY, bytes(701)),
        Nodes(1, tuple(contact(n) for n in range(13))),
        Nodes(1, (Contact(bytes(31), "h", 1),)),
        Nodes(1, (Contact(bytes(32), "", 1),)),
        Nodes(1, (Contact(bytes(32), "h", 0),)),
        Store(1, False, KEY, Record(bytes(31), b"", 1, bytes(64))),
        Store(1, False, KEY, Record(bytes(49), b"", 1, bytes(64))),
        Store(1, False, KEY, Record(bytes(32), bytes(513), 1, bytes(64))),
        Store(1, False, KEY, Record(bytes(32), b"", 2**48, bytes(64))),
        Store(1, False, KEY, Record(bytes(32), b"", 1, bytes(63))),
        Values(1, (), (), bytes(701), False),
    ],
)
def test_messages_outside_their_limits_do_not_decode(message):
    codec = MessageCodec(DHT_MESSAGES)
    with pytest.raises(WireProblem):
        codec.decode(codec.encode(message))
