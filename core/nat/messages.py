"""What peers say to each other about where they are, and how they open and carry circuits.

A circuit is a byte stream between two peers through a third, the relay.  Its 16-byte id is random and never reused; the
bytes are those of a TLS connection between the two ends, so a relay sees only that there are some.
"""

from typing import Annotated, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from core.base.ids import PEER_ID_BYTES
from core.base.wire import Message, Plane

HOST_CHARACTERS_MAX: Final = 60
CIRCUIT_BYTES: Final = 16
NONCE_BYTES: Final = 16
OFFERED_MAX: Final = 4
"""Addresses of one kind in an offer."""
IPV6_OFFERED_MAX: Final = 2
PAYLOAD_BYTES_MAX: Final = 32 * 1024
WINDOW_BYTES_MAX: Final = 4 * 1024 * 1024
REASON_CHARACTERS_MAX: Final = 60
PAD: Final = bytes(40)

Peer32 = Annotated[bytes, Meta(min_length=PEER_ID_BYTES, max_length=PEER_ID_BYTES)]
Circuit16 = Annotated[bytes, Meta(min_length=CIRCUIT_BYTES, max_length=CIRCUIT_BYTES)]
Nonce16 = Annotated[bytes, Meta(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]
Port = Annotated[int, Meta(ge=1, le=65535)]
PortOrNone = Annotated[int, Meta(ge=0, le=65535)]
Offset = Annotated[int, Meta(ge=0, lt=2**62)]
Window = Annotated[int, Meta(ge=0, le=WINDOW_BYTES_MAX)]
Reason = Annotated[str, Meta(max_length=REASON_CHARACTERS_MAX)]
Milliseconds = Annotated[int, Meta(ge=0, le=60_000)]
Percent = Annotated[int, Meta(ge=0, le=100)]

Mapping = Literal["none", "kept", "moved", "symmetric", "unknown"]
"""How a router names our port to others: no router; one name for all, the same port; one name for all, another port; a
name for each destination; not known."""
MAPPINGS: Final[tuple[Mapping, ...]] = ("none", "kept", "moved", "symmetric", "unknown")


class Address(msgspec.Struct, frozen=True, array_like=True, order=True):
    """An IP address as text, and a port."""

    host: Annotated[str, Meta(min_length=1, max_length=HOST_CHARACTERS_MAX)]
    port: Port


class Relay(msgspec.Struct, frozen=True, array_like=True):
    """A relay and where it is."""

    peer: Peer32
    address: Address


class PunchOffer(msgspec.Struct, frozen=True, array_like=True):
    """What one side of a punch says of itself."""

    nonce: Nonce16
    """Both sides' packets carry it.  The caller draws it, the called repeats it."""
    tcp: Annotated[tuple[Address, ...], Meta(max_length=OFFERED_MAX)]
    """Where others see our listening TCP port, best first."""
    udp: Annotated[tuple[Address, ...], Meta(max_length=OFFERED_MAX)]
    tcp_mapping: Mapping
    udp_mapping: Mapping
    quic: bool
    one_way_ms: Milliseconds
    """How long a message takes from us to the relay."""
    relays: Annotated[tuple[Relay, ...], Meta(max_length=2)]
    """Relays at which we hold a reservation: where to find us again when this one dies."""
    ipv6: Annotated[tuple[Address, ...], Meta(max_length=IPV6_OFFERED_MAX)] = ()
    """Our public IPv6 addresses, for TCP and UDP alike: nobody gives them other names, but firewalls let in only what
    was asked for."""


# --- knowing oneself: datagrams ---------------------------------------------------------------------------------------


class _Datagram(Message, frozen=True):
    plane: ClassVar[Plane] = "datagram"

    nonce: Nonce16


class Mirror(_Datagram, frozen=True, tag="nat.mirror"):
    """Where do you see me?"""

    pad: Annotated[bytes, Meta(max_length=64)] = PAD
    """So that the answer is not longer than the question."""


class Mirrored(_Datagram, frozen=True, tag="nat.mirrored"):
    """There; and how busy a relay I am."""

    seen: Address
    second_port: PortOrNone
    """Another UDP port of mine that mirrors as well; 0: none."""
    load: Percent
    """Of my relay's limits in use; 100: full, or no relay."""


class DialBack(_Datagram, frozen=True, tag="nat.dial_back"):
    """Please call me, at the IP address from which this came."""

    tcp_port: PortOrNone
    udp_port: PortOrNone
    pad: Annotated[bytes, Meta(max_length=64)] = PAD
    ipv6: bool = False
    """Over which family this is sent: the answer is about that one."""


class DialBackDatagram(_Datagram, frozen=True, tag="nat.dial_back_datagram"):
    """The datagram that was asked for with `DialBack`, from a port to which nobody has sent anything."""


class DialBackResult(_Datagram, frozen=True, tag="nat.dial_back_result"):
    """Whether the TCP port answered."""

    tcp: bool
    refused: bool
    """I do not do this now: nothing follows from it."""


# --- knowing oneself: streams -----------------------------------------------------------------------------------------


class AskObservedAddress(Message, frozen=True, tag="nat.ask_observed_address"):
    """From which address does this stream come?"""


class ObservedAddress(Message, frozen=True, tag="nat.observed_address"):
    """From this one."""

    seen: Address


# --- relays -----------------------------------------------------------------------------------------------------------


class Reserve(Message, frozen=True, tag="nat.reserve"):
    """Please hold a place for me: let others reach me through you."""


class Reserved(Message, frozen=True, tag="nat.reserved"):
    """I do, for so long.  Ask again before it ends."""

    lifetime_s: Annotated[int, Meta(ge=10, le=86_400)]
    seen: Address | None
    """From where your stream comes."""
    load: Percent


class Unreserved(Message, frozen=True, tag="nat.unreserved"):
    """I do not, or no longer."""

    reason: Reason


class OpenCircuit(Message, frozen=True, tag="nat.open_circuit"):
    """To a relay: open a circuit to `to`, or take an existing one over from a relay that has failed."""

    circuit: Circuit16
    to: Peer32
    offer: PunchOffer | None
    """Also agree a punch.  Passed on even if there is no room for the circuit itself."""
    carry: bool
    """False: agree the punch only."""
    resume: bool
    received: Offset
    """When resuming: how many bytes have arrived here."""


class CircuitRequested(Message, frozen=True, tag="nat.circuit_requested"):
    """From a relay: `sender` wants to talk to you."""

    circuit: Circuit16
    sender: Peer32
    offer: PunchOffer | None
    resume: bool
    received: Offset
    carried: bool
    """Whether there is room for the circuit; otherwise this is about the punch only."""


class AcceptCircuit(Message, frozen=True, tag="nat.accept_circuit"):
    """To the relay: so do I."""

    circuit: Circuit16
    offer: PunchOffer | None
    received: Offset


class CircuitAccepted(Message, frozen=True, tag="nat.circuit_accepted"):
    """From the relay: the other side agrees."""

    circuit: Circuit16
    offer: PunchOffer | None
    received: Offset
    carried: bool


class CircuitData(Message, frozen=True, tag="nat.circuit_data"):
    """Bytes of a circuit; a relay passes them on unchanged."""

    bulk: ClassVar[bool] = True

    circuit: Circuit16
    offset: Offset
    payload: Annotated[bytes, Meta(min_length=1, max_length=PAYLOAD_BYTES_MAX)]


class CircuitAck(Message, frozen=True, tag="nat.circuit_ack"):
    """How far the bytes have arrived.  It overtakes bulk, and is the heartbeat of whoever has something under way."""

    circuit: Circuit16
    ack: Offset
    """Bytes that have arrived in order."""
    window: Window
    """How many more may come."""
    again: bool
    """Something is missing: send again from `ack`."""
    answer: bool
    """Something of mine has not been acknowledged: answer at once, so that I know that the way still leads to you, and
    expect to hear more of me.  The last word, when all has been acknowledged, says that it is so."""


class CloseCircuit(Message, frozen=True, tag="nat.close_circuit"):
    """The circuit has ended, or was never opened.  From either end or from the relay."""

    circuit: Circuit16
    reason: Reason
    final: bool
    """The other end says so; otherwise the relay, and another relay may take over."""


NAT_MESSAGES: tuple[type[Message], ...] = (
    Mirror,
    Mirrored,
    DialBack,
    DialBackDatagram,
    DialBackResult,
    AskObservedAddress,
    ObservedAddress,
    Reserve,
    Reserved,
    Unreserved,
    OpenCircuit,
    CircuitRequested,
    AcceptCircuit,
    CircuitAccepted,
    CircuitData,
    CircuitAck,
    CloseCircuit,
)
