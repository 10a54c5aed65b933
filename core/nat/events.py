"""What the owner of the traversal machine tells it, and what it asks of the owner.

The owner (the network host) owns sockets; the machine decides.  Every attempt has a number that the machine chose.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from core.base.ids import PeerId
from core.base.wire import Message
from core.nat.card import Card, Listed
from core.nat.messages import Address
from core.nat.reach import OwnReach
from core.nat.relay import RelaySettings


class Way(IntEnum):
    """How a link is made; the smaller, the better."""

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
        """No third peer carries the bytes."""
        return self is not Way.RELAY


# --- what the owner tells ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """Our own addresses, at the start and whenever the network has changed."""

    addresses: tuple[Listed, ...]
    """LAN and IPv6 addresses of the interfaces, mapped ones of the router, public ones if an interface has one."""
    tcp_port: int
    udp_port: int
    second_udp_port: int = 0
    """At which we mirror too; 0: none."""
    quic: bool = True
    moved: bool = True
    """False: still the same network, only a mapped port or another address has come or gone; what was found out still
    holds."""


@dataclass(frozen=True, slots=True)
class AddressSeen:
    """A proven datagram of `peer` came from this address (before its first message, and when the address changes)."""

    peer: PeerId
    address: Address


@dataclass(frozen=True, slots=True)
class LinkUp:
    """A stream to `peer` stands, identity proven."""

    peer: PeerId
    way: Way
    address: Address | None
    """The other side's address as our socket sees it; None for a circuit."""
    called: bool
    """We called it; otherwise it called us."""
    attempt: int = 0
    """Ours, 0: none of the machine's attempts."""


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """The attempt has come to nothing."""

    attempt: int
    reason: str


@dataclass(frozen=True, slots=True)
class CardFound:
    """The answer to `FindCard`."""

    peer: PeerId
    card: Card | None


@dataclass(frozen=True, slots=True)
class DialledOut:
    """The answer to `TryDialBack`."""

    nonce: bytes
    tcp: bool


@dataclass(frozen=True, slots=True)
class Examine:
    """Our person wants to know how we can be reached: ask others again, now."""


@dataclass(frozen=True, slots=True)
class PeerWanted:
    """A peer does not answer at its known addresses: find a way to it; `DialEnded` follows."""

    peer: PeerId


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressesChanged:
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


# --- what the machine asks --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FindCard:
    """Look up the peer's card in the DHT; answer with `CardFound`."""

    peer: PeerId


@dataclass(frozen=True, slots=True)
class PublishCard:
    """Put our card into the DHT."""

    card: Card


@dataclass(frozen=True, slots=True)
class Know:
    """Put this address into the book: the machine is about to send to the peer on a stream or as a datagram."""

    peer: PeerId
    address: Address
    named: bool = False
    """By a third peer: then it takes the place of none that is known."""


@dataclass(frozen=True, slots=True)
class SendAt:
    """Send a datagram to the peer at this address, without changing the book."""

    to: PeerId
    address: Address
    message: Message
    fresh: bool
    """From a new socket with another port, so that a router's memory of the usual one does not help."""


@dataclass(frozen=True, slots=True)
class TryDialBack:
    """Connect by TCP from a fresh port, close at once, and answer with `DialledOut` within 3 s."""

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
    """Begin at `at` (unix seconds, may be past) to send to all these addresses; `LinkUp` or `AttemptFailed` follows.

    TCP: connect from the listening port again and again (every ~100 ms, so that a reset of a router does not end it)
    until `until`.  UDP: packets with the nonce from the datagram port; when one of the other side's has arrived, QUIC,
    called by `caller`.
    """

    attempt: int
    peer: PeerId
    nonce: bytes
    tcp: tuple[Address, ...]
    udp: tuple[Address, ...]
    at: float
    until: float
    caller: bool
    """We call in QUIC and are the client in TLS (our id is the smaller one)."""
    spread: "BirthdaySide | None" = None
    """For the birthday punch."""


@dataclass(frozen=True, slots=True)
class BirthdaySide:
    """One side of a birthday punch (Tailscale 2020): 256 ports on one side, random ones on the other."""

    local_ports: int
    """So many sockets send to the other's address: our router is the symmetric one.  0: the other's is."""
    remote_ports: tuple[int, ...]
    """So many ports of the other's IP address are tried, a few at a time."""
    packets_per_s: int = 1000


@dataclass(frozen=True, slots=True)
class Abandon:
    """Stop this attempt: another one was faster or better.  No answer is expected."""

    attempt: int


@dataclass(frozen=True, slots=True)
class CircuitOpened:
    """There is a circuit: put a stream over it."""

    circuit: bytes
    peer: PeerId
    relay: PeerId
    called: bool
    """We opened it: we are the client in TLS."""
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class CircuitBytes:
    """Bytes that came, in order."""

    circuit: bytes
    data: bytes


@dataclass(frozen=True, slots=True)
class CircuitRoom:
    """There is room for more bytes again."""

    circuit: bytes


@dataclass(frozen=True, slots=True)
class CircuitEnded:
    """It is over; `clean` if the other end closed it after everything had arrived."""

    circuit: bytes
    reason: str
    clean: bool


@dataclass(frozen=True, slots=True)
class DialEnded:
    """No way led to the peer, or the best that can be had is there."""

    peer: PeerId
    way: Way | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ReachChanged:
    """What is known of ourselves has changed."""

    reach: OwnReach


@dataclass(frozen=True, slots=True)
class RelayLost:
    """A reservation is gone; another one is being looked for."""

    relay: PeerId
    reason: str = field(default="")
