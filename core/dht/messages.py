"""Messages of the DHT: single datagrams, requests and their answers.

Every message is at most `MESSAGE_BYTES_MAX` long when encoded, so that it fits one datagram together with the envelope
and a pass.  Longer content is paged.

No amplification: the answer to a request of n bytes is at most `AMPLIFICATION * n` bytes, so requests whose answers may
be long carry padding.  A request with less padding gets a shorter answer.
"""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from core.base.ids import KEY_BYTES, PEER_ID_BYTES, Contact, PeerId
from core.base.signing import SIGNATURE_BYTES
from core.base.wire import Message, Plane

MESSAGE_BYTES_MAX = 700
AMPLIFICATION = 3
PAD = bytes(MESSAGE_BYTES_MAX // AMPLIFICATION - 53)
"""Padding with which the smallest request is long enough for the longest answer."""

VALUE_BYTES_MAX = 512
SUBKEY_BYTES_MAX = PEER_ID_BYTES + 16
TAG_BYTES = 8
INDEX_ENTRY_BYTES = TAG_BYTES + 6 + 2
NODES_MAX = 12
QUERY_BITS = 63
BUNDLE_MAX = 12
BUNDLE_HEADER_BYTES = 26
"""Size of a bundle, or of its answer, without its contents."""

Key32 = Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
QueryId = Annotated[int, Meta(ge=0, le=2**QUERY_BITS - 1)]
Padding = Annotated[bytes, Meta(max_length=MESSAGE_BYTES_MAX)]
Milliseconds = Annotated[int, Meta(ge=0, lt=2**48)]


class Record(msgspec.Struct, frozen=True, array_like=True):
    """A value under a key and a subkey, signed by its owner.  The key is not part of it."""

    subkey: Annotated[bytes, Meta(min_length=PEER_ID_BYTES, max_length=SUBKEY_BYTES_MAX)]
    """The owner's peer id, and up to 16 bytes of the owner's choice: nobody else can write here."""
    value: Annotated[bytes, Meta(max_length=VALUE_BYTES_MAX)]
    expires_ms: Milliseconds
    """Time at which the record expires, Unix milliseconds."""
    signature: Annotated[bytes, Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]

    @property
    def owner(self) -> PeerId:
        """The peer that signed the record."""
        return PeerId(self.subkey[:PEER_ID_BYTES])

    @property
    def expiration(self) -> float:
        """Time at which the record expires, Unix seconds."""
        return self.expires_ms / 1000


class _Datagram(Message, frozen=True):
    plane: ClassVar[Plane] = "datagram"

    query: QueryId
    """Drawn at random by the requester; the answer repeats it."""


class Request(_Datagram, frozen=True):
    """Asks for an answer with the same query id."""

    client: bool
    """The requester is in client mode: do not enter it into a routing table."""


class Answer(_Datagram, frozen=True):
    """Answers the request with the same query id."""


class Ping(Request, frozen=True, tag="dht.ping"):
    """Asks whether the receiver is there."""


class Pong(Answer, frozen=True, tag="dht.pong"):
    """Answers a ping."""


class Find(Request, frozen=True, tag="dht.find"):
    """Asks for the contacts nearest to `key` that the receiver knows."""

    key: Key32
    pad: Padding


class Nodes(Answer, frozen=True, tag="dht.nodes"):
    """The nearest contacts that the sender knows, nearest first."""

    nodes: Annotated[tuple[Contact, ...], Meta(max_length=NODES_MAX)]


class Get(Request, frozen=True, tag="dht.get"):
    """Asks for the receiver's records under `key`, and for the nearest contacts that it knows."""

    key: Key32
    after: Annotated[bytes, Meta(max_length=TAG_BYTES)]
    """Continue after this tag of the index; empty: begin, and name contacts."""
    pad: Padding


class Values(Answer, frozen=True, tag="dht.values"):
    """All records of the key if they fit, otherwise a page of their index."""

    nodes: Annotated[tuple[Contact, ...], Meta(max_length=NODES_MAX)]
    records: tuple[Record, ...]
    index: Annotated[bytes, Meta(max_length=MESSAGE_BYTES_MAX)]
    """Entries in the order of their tags; see `core.dht.pages`."""
    more: bool
    """Whether the index continues."""


class Fetch(Request, frozen=True, tag="dht.fetch"):
    """Asks for certain records of `key`."""

    key: Key32
    tags: Annotated[bytes, Meta(min_length=TAG_BYTES, max_length=TAG_BYTES * 16)]
    pad: Padding


class Records(Answer, frozen=True, tag="dht.records"):
    """Those of the wanted records that the sender holds, in the order asked, as many as fit."""

    records: tuple[Record, ...]


class Store(Request, frozen=True, tag="dht.store"):
    """Asks the receiver to hold this record until it expires."""

    key: Key32
    record: Record


class Stored(Answer, frozen=True, tag="dht.stored"):
    """Whether the sender now holds that record or a later one."""

    accepted: bool


class Cache(Request, frozen=True, tag="dht.cache"):
    """Asks the receiver to keep a copy of this record for a while, for later readers.  `Stored` answers."""

    key: Key32
    record: Record


AnyRequest = Ping | Find | Get | Fetch | Store | Cache
AnyAnswer = Pong | Nodes | Values | Records | Stored


class RequestBundle(Request, frozen=True, tag="dht.bundle"):
    """Several requests in one datagram, each with a query id of its own; that of the bundle means nothing."""

    requests: Annotated[tuple[AnyRequest, ...], Meta(max_length=BUNDLE_MAX)]


class Bundled(Answer, frozen=True, tag="dht.bundled"):
    """The answers to a bundle, or some of them: the others come in another datagram."""

    answers: Annotated[tuple[AnyAnswer, ...], Meta(max_length=BUNDLE_MAX)]
    ping: QueryId = 0
    """Query id of a ping beside the answers, which a `Pong` answers; 0: none."""


DHT_MESSAGES: tuple[type[Message], ...] = (
    Ping, Pong, Find, Nodes, Get, Values, Fetch, Records, Store, Stored, Cache, RequestBundle, Bundled,
)  # fmt: skip
ANSWER_TO: dict[type[Request], type[Answer]] = {
    Ping: Pong,
    Find: Nodes,
    Get: Values,
    Fetch: Records,
    Store: Stored,
    Cache: Stored,
}

_encoder = msgspec.msgpack.Encoder()


def encoded_bytes(message: Message) -> int:
    """Encoded length of the message, bytes, without the envelope."""
    return len(_encoder.encode(message))


def answer_room(request: Request) -> int:
    """Upper bound on the encoded answer to `request`, bytes."""
    return min(MESSAGE_BYTES_MAX, AMPLIFICATION * encoded_bytes(request))
