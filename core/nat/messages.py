"""Messages about reachability, and those that open and carry circuits.

A circuit is a byte stream between two peers through a third, the relay.  Its 16-byte id is random and never reused; the
bytes are those of a TLS connection between the two endpoints, so a relay sees only their number.
"""

from typing import Annotated, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from core.base.ids import HOST_CHARACTERS_MAX, Peer32
from core.base.wire import Message, Plane

CIRCUIT_BYTES: Final = 16
NONCE_BYTES: Final = 16
OFFERED_MAX: Final = 4
"""Number of addresses of one kind in an offer."""
IPV6_OFFERED_MAX: Final = 2
PAYLOAD_BYTES_MAX: Final = 32 * 1024
WINDOW_BYTES_MAX: Final = 4 * 1024 * 1024
REASON_CHARACTERS_MAX: Final = 60
PAD: Final = bytes(40)

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
"""How a router maps this peer's port (RFC 4787): no router; endpoint-independent, the same port; endpoint-independent,
another port; symmetric (a port for each destination); not known."""


class Address(msgspec.Struct, frozen=True, array_like=True, order=True):
    """An IP address as text, and a port."""

    host: Annotated[str, Meta(min_length=1, max_length=HOST_CHARACTERS_MAX)]
    port: Port


class Relay(msgspec.Struct, frozen=True, array_like=True):
    """A relay peer and the address at which to call it."""

    peer: Peer32
    address: Address


class PunchOffer(msgspec.Struct, frozen=True, array_like=True):
    """One side's description of itself for a punch."""

    nonce: Nonce16
    """Carried by both sides' packets.  The caller draws it, the called side repeats it."""
    tcp: Annotated[tuple[Address, ...], Meta(max_length=OFFERED_MAX)]
    """Addresses at which others see the listening TCP port, best first."""
    udp: Annotated[tuple[Address, ...], Meta(max_length=OFFERED_MAX)]
    tcp_mapping: Mapping
    udp_mapping: Mapping
    quic: bool
    one_way_ms: Milliseconds
    """Delay of a message from the offering peer to the relay, milliseconds."""
    relays: Annotated[tuple[Relay, ...], Meta(max_length=2)]
    """Relays at which the offering peer holds a reservation: where to resume a circuit when this relay dies."""
    ipv6: Annotated[tuple[Address, ...], Meta(max_length=IPV6_OFFERED_MAX)] = ()
    """Public IPv6 addresses, for TCP and UDP alike: IPv6 is not translated, but firewalls admit only replies."""


# --- knowing oneself: datagrams ---------------------------------------------------------------------------------------


class _Datagram(Message, frozen=True):
    plane: ClassVar[Plane] = "datagram"

    nonce: Nonce16


class Mirror(_Datagram, frozen=True, tag="nat.mirror"):
    """Asks at which address the receiver sees the sender (compare STUN, RFC 8489)."""

    pad: Annotated[bytes, Meta(max_length=64)] = PAD
    """Padding, so that the answer is not longer than the request."""


class Mirrored(_Datagram, frozen=True, tag="nat.mirrored"):
    """Answers `Mirror` with the address seen, and the sender's load as a relay."""

    seen: Address
    second_port: PortOrNone
    """Another UDP port of the sender that mirrors as well; 0: none."""
    load: Percent
    """Used part of the relay's limits, percent; 100: full, or no relay."""


class DialBack(_Datagram, frozen=True, tag="nat.dial_back"):
    """Asks the receiver to connect to the sender, at the IP address from which this came."""

    tcp_port: PortOrNone
    udp_port: PortOrNone
    pad: Annotated[bytes, Meta(max_length=64)] = PAD
    ipv6: bool = False
    """Address family over which this is sent, and which the answer is about."""


class DialBackDatagram(_Datagram, frozen=True, tag="nat.dial_back_datagram"):
    """The datagram that `DialBack` asks for, from a port to which nobody has sent anything."""


class DialBackResult(_Datagram, frozen=True, tag="nat.dial_back_result"):
    """Answers `DialBack`: whether the TCP port accepted a connection."""

    tcp: bool
    refused: bool
    """The sender did not try; nothing follows about reachability."""


# --- knowing oneself: streams -----------------------------------------------------------------------------------------


class AskObservedAddress(Message, frozen=True, tag="nat.ask_observed_address"):
    """Asks from which address this stream comes."""


class ObservedAddress(Message, frozen=True, tag="nat.observed_address"):
    """Answers `AskObservedAddress` with the source address of the stream (compare libp2p identify)."""

    seen: Address


# --- relays -----------------------------------------------------------------------------------------------------------


class Reserve(Message, frozen=True, tag="nat.reserve"):
    """Asks a relay to forward circuits that others open to the sender (compare libp2p circuit relay v2)."""


class Reserved(Message, frozen=True, tag="nat.reserved"):
    """Grants a reservation; the holder renews it before it ends."""

    lifetime_s: Annotated[int, Meta(ge=10, le=86_400)]
    seen: Address | None
    """Address from which the holder's stream comes."""
    load: Percent


class Unreserved(Message, frozen=True, tag="nat.unreserved"):
    """Refuses a reservation, or ends one that was granted."""

    reason: Reason


class OpenCircuit(Message, frozen=True, tag="nat.open_circuit"):
    """Asks a relay to open a circuit to `to`, or to take an existing one over from a relay that has failed."""

    circuit: Circuit16
    to: Peer32
    offer: PunchOffer | None
    """Offers a punch as well.  It is passed on even if there is no room for the circuit itself."""
    carry: bool
    """False: agree on the punch only."""
    resume: bool
    received: Offset
    """When resuming: number of bytes that have arrived at the sender."""


class CircuitRequested(Message, frozen=True, tag="nat.circuit_requested"):
    """Tells the called peer that `sender` has asked this relay for a circuit to it."""

    circuit: Circuit16
    sender: Peer32
    offer: PunchOffer | None
    resume: bool
    received: Offset
    carried: bool
    """Whether there is room for the circuit; otherwise only the punch is offered."""


class AcceptCircuit(Message, frozen=True, tag="nat.accept_circuit"):
    """Tells the relay that the called peer accepts the circuit."""

    circuit: Circuit16
    offer: PunchOffer | None
    received: Offset


class CircuitAccepted(Message, frozen=True, tag="nat.circuit_accepted"):
    """Tells the opener that the called peer has accepted."""

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
    """Acknowledges bytes of a circuit.  It overtakes bulk, and is the heartbeat of an endpoint with bytes in flight."""

    circuit: Circuit16
    ack: Offset
    """Number of bytes that have arrived in order."""
    window: Window
    """Number of further bytes that may be sent."""
    again: bool
    """A gap: retransmit from `ack` on."""
    answer: bool
    """The sender has unacknowledged bytes: the receiver answers at once, so that the sender knows that the relay still
    works, and expects further acknowledgements.  The last one, when all bytes are acknowledged, has it unset."""


class CloseCircuit(Message, frozen=True, tag="nat.close_circuit"):
    """Ends a circuit, or refuses to open it.  Sent by either endpoint or by the relay."""

    circuit: Circuit16
    reason: Reason
    final: bool
    """The other endpoint ends it; otherwise the relay does, and another relay may take over."""


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
