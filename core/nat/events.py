"""Events between the traversal machine and its owner.

The owner (the network host) owns sockets; the machine decides.  Every attempt has a number that the machine chose.
"""

from dataclasses import dataclass
from enum import IntEnum

from core.base.ids import PeerId
from core.base.machine import Send
from core.base.wire import Message
from core.nat.messages import Address
from core.nat.peer_record import AddressCandidate, PeerRecord
from core.nat.reachability import OwnReach
from core.nat.relay import RelaySettings


class Way(IntEnum):
    """Kind of path that a link takes; the smaller, the better."""

    LAN = 0
    IPV6 = 1
    PUBLIC = 2
    MAPPED = 3
    TCP_PUNCH = 4
    QUIC_PUNCH = 5
    BIRTHDAY = 6
    RELAY = 7

    @property
    def direct(self) -> bool:
        """Whether no third peer relays the bytes."""
        return self is not Way.RELAY


# --- what the owner tells ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressesChanged:
    """Addresses of this computer, at the start and whenever the network has changed."""

    addresses: tuple[AddressCandidate, ...]
    """LAN and IPv6 addresses of the interfaces, ports mapped by the router, public addresses if an interface has
    one."""
    tcp_port: int
    udp_port: int
    second_udp_port: int = 0
    """UDP port of the mirror; 0: none."""
    quic: bool = True
    moved: bool = True
    """False: the network is the same, only a mapped port or another address has come or gone; previous findings still
    hold."""


@dataclass(frozen=True, slots=True)
class AddressSeen:
    """A verified datagram of `peer` came from this address (before its first message, and when the address changes)."""

    peer: PeerId
    address: Address


@dataclass(frozen=True, slots=True)
class LinkUp:
    """A stream to `peer` stands, with the peer's identity verified."""

    peer: PeerId
    way: Way
    address: Address | None
    """Address of the other side as this peer's socket sees it; None for a circuit."""
    called: bool
    """Whether this peer called the other one."""
    attempt: int = 0
    """Number of the machine's attempt; 0: none."""


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """An attempt of the machine has failed."""

    attempt: int
    reason: str


@dataclass(frozen=True, slots=True)
class PeerRecordFound:
    """Answers `FindPeerRecord`; the record is None if there is none."""

    peer: PeerId
    peer_record: PeerRecord | None


@dataclass(frozen=True, slots=True)
class DialBackTried:
    """Answers `TryDialBack`: whether the TCP connection was made."""

    nonce: bytes
    tcp: bool


@dataclass(frozen=True, slots=True)
class CheckReachability:
    """The person wants to know how this computer can be reached: ask other peers again, now."""


@dataclass(frozen=True, slots=True)
class PeerWanted:
    """A peer does not answer at its known addresses: find a way to it; `DialEnded` follows."""

    peer: PeerId


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAddressesChanged:
    """The addresses of this computer, as it knows them itself: at the start, and whenever they change.

    Attributes:
        hosts: IP addresses, the best first.
        port: Where it listens, for TCP and UDP.
        second_port: UDP port at which it mirrors too; 0: none.
        moved: Whether this is another network than before, so that nothing that was found out holds.
    """

    hosts: tuple[str, ...]
    port: int
    second_port: int = 0
    moved: bool = True


@dataclass(frozen=True, slots=True)
class PortMapped:
    """The router forwards this outer address to us; None: it no longer does."""

    address: Address | None


@dataclass(frozen=True, slots=True)
class PublicPeerFound:
    """A peer answers strangers at this address: it may tell us how we look from outside.

    Attributes:
        peer: Its id.
        address: Where it is.
        relay: Whether it may carry for us as well.
        trusted: Whether it is the collaboration's own, and is believed where there is nobody else.
    """

    peer: PeerId
    address: Address
    relay: bool
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class RelayAllowed:
    """Our person allows other limits than before to those who want to be carried."""

    limits: RelaySettings


NatEvent = (
    AddressesChanged | AddressSeen | LinkUp | AttemptFailed | PeerRecordFound | DialBackTried | CheckReachability
    | PeerWanted | PublicPeerFound | RelayAllowed
)  # fmt: skip
"""Events of the owner that the traversal machine handles."""


# --- what the machine asks --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FindPeerRecord:
    """Look up the peer's record in the DHT; answer with `PeerRecordFound`."""

    peer: PeerId


@dataclass(frozen=True, slots=True)
class PublishPeerRecord:
    """Store this peer's record in the DHT."""

    peer_record: PeerRecord


@dataclass(frozen=True, slots=True)
class AddAddress:
    """Add this address to the address book: the machine is about to send to the peer, by stream or datagram."""

    peer: PeerId
    address: Address
    hearsay: bool = False
    """A third peer named the address: then it replaces no known one."""


@dataclass(frozen=True, slots=True)
class SendDatagramTo:
    """Send a datagram to the peer at this address, without changing the address book."""

    to: PeerId
    address: Address
    message: Message
    fresh: bool
    """From a new socket with another port, so that no existing mapping of the router helps."""


@dataclass(frozen=True, slots=True)
class TryDialBack:
    """Connect by TCP from a fresh port, close at once, and answer with `DialBackTried` within 3 s."""

    nonce: bytes
    address: Address


@dataclass(frozen=True, slots=True)
class Dial:
    """Connect by TCP from the listening port; `LinkUp` or `AttemptFailed` follows."""

    attempt: int
    peer: PeerId
    address: Address
    way: Way


@dataclass(frozen=True, slots=True, kw_only=True)
class Punch:
    """Begin at `at` (Unix seconds, may be past) to send to all these addresses; `LinkUp` or `AttemptFailed` follows.

    TCP: connect from the listening port again and again (every ~100 ms, so that a router's reset does not end it) until
    `until`.  UDP: packets with the nonce from the datagram port; when one of the other side's has arrived, QUIC, called
    by `caller`.
    """

    attempt: int
    peer: PeerId
    nonce: bytes
    tcp: tuple[Address, ...]
    udp: tuple[Address, ...]
    at: float
    until: float
    caller: bool
    """Whether this peer calls in QUIC and is the client in TLS (its id is the smaller one)."""
    birthday: "BirthdaySide | None" = None
    """This peer's side of a birthday punch; None: an ordinary punch."""


@dataclass(frozen=True, slots=True)
class BirthdaySide:
    """One side of a birthday punch (Tailscale 2020): 256 open ports here, random destination ports there."""

    local_ports: int
    """Number of sockets that send to the other's address, if this peer's router is the symmetric one; 0: the other's
    is."""
    remote_ports: tuple[int, ...]
    """Ports of the other's IP address that are tried, a few at a time."""
    packets_per_s: int = 1000


@dataclass(frozen=True, slots=True)
class CancelAttempt:
    """Stop this attempt: another one was faster or better.  No answer is expected."""

    attempt: int


@dataclass(frozen=True, slots=True)
class CircuitOpened:
    """A circuit stands: put a stream over it."""

    circuit: bytes
    peer: PeerId
    called: bool
    """Whether this peer opened it and is the client in TLS."""
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class CircuitBytes:
    """Bytes that arrived on a circuit, in order."""

    circuit: bytes
    data: bytes


@dataclass(frozen=True, slots=True)
class CircuitRoom:
    """A circuit has room for more bytes again."""

    circuit: bytes


@dataclass(frozen=True, slots=True)
class CircuitEnded:
    """A circuit has ended; `clean` if the other endpoint closed it after everything had arrived."""

    circuit: bytes
    reason: str
    clean: bool


@dataclass(frozen=True, slots=True)
class DialEnded:
    """The search for a way has ended: `way` is the best one found, None if no link was made."""

    peer: PeerId
    way: Way | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ReachChanged:
    """The known reachability of this peer has changed."""

    reach: OwnReach


@dataclass(frozen=True, slots=True)
class RelayLost:
    """A reservation has ended; the machine looks for another one."""

    relay: PeerId


NatOutput = (
    Send[Message] | FindPeerRecord | PublishPeerRecord | AddAddress | SendDatagramTo | TryDialBack | Dial | Punch
    | CancelAttempt | CircuitOpened | CircuitBytes | CircuitRoom | CircuitEnded | DialEnded | ReachChanged | RelayLost
)  # fmt: skip
"""Messages and events that the traversal machine returns."""
