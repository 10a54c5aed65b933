"""A pretended Internet of peers behind routers: runs `core.nat.traversal` for each, and does what it asks."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick
from core.base.trace import Trace
from core.nat.card import Card, Kind, Listed
from core.nat.events import (
    Abandon,
    CardFound,
    CircuitBytes,
    CircuitEnded,
    CircuitOpened,
    Dial,
    DialEnded,
    DialledOut,
    Failed,
    FindCard,
    Know,
    LinkUp,
    Located,
    PublishCard,
    Punch,
    Seen,
    SendAt,
    TryDialBack,
    Way,
)
from core.nat.messages import Address
from core.nat.relay import RelaySettings
from core.nat.traversal import NatSettings, Traversal
from core.sim.agenda import Agenda
from core.sim.links import Links, LinkSettings, Place, chance
from core.sim.nat_boxes import Box, Nature, Proto

START: Final = 1_700_000_000.0
PORT: Final = 31_337
CONNECT_S: Final = 3.0
CARD_S: Final = 0.2
"""A lookup in the DHT."""
PUNCH_EVERY_S: Final = 0.1
TLS_ROUND_TRIPS: Final = 1.5
"""Until both sides know each other (RFC 8446, 2)."""
HELLO: Final = b"hello" * 100


@dataclass(slots=True)
class Home:
    """A peer, its router and its machine."""

    number: int
    peer: PeerId
    box: Box
    place: Place
    machine: Traversal
    trace: Trace
    inside: str
    ipv6: Box | None = None
    """Its router as far as IPv6 is concerned, which names nothing anew; None: it has no IPv6."""
    up: bool = True
    wake_at: float | None = None
    book: dict[PeerId, Address] = field(default_factory=dict)
    links: dict[PeerId, Way] = field(default_factory=dict)
    circuits: dict[bytes, tuple[PeerId, bool, int]] = field(default_factory=dict)
    calling: dict[PeerId, list[Any]] = field(default_factory=dict)
    """What waits for a link that the host makes by itself."""
    attempts: set[int] = field(default_factory=set)
    punches: dict[PeerId, Punch] = field(default_factory=dict)
    sources: dict[PeerId, Address] = field(default_factory=dict)
    ended: dict[PeerId, DialEnded] = field(default_factory=dict)
    got: dict[bytes, bytearray] = field(default_factory=dict)

    def router(self, to: Address) -> Box | None:
        """What a packet to that address passes, on its way from here or to here."""
        return self.ipv6 if ":" in to.host else self.box


class NatWorld:
    """See the module's docstring.

    Args:
        seed: Decides everything.
        relay: What each peer that can be a relay grants.
        field_success: The share of pairs whose routers, as far as is known willing, really let a punch through; the
            rest have firewalls of other kinds, several routers in a row, or unlucky timing.
        links: Distances.
    """

    def __init__(
        self,
        seed: int,
        *,
        relay: RelaySettings | None = None,
        field_success: float = 1.0,
        links: LinkSettings | None = None,
    ) -> None:
        self.seed = seed
        self.agenda = Agenda(START)
        self.random = chance(seed, "nat")
        self.links = Links(links or LinkSettings(jitter_s=0.0), seed=seed, random=chance(seed, "links"))
        self.homes: dict[PeerId, Home] = {}
        self.at: dict[str, Home] = {}
        self.cards: dict[PeerId, Card] = {}
        self.messages: Counter[str] = Counter()
        self.first_byte_s: dict[tuple[PeerId, PeerId], tuple[float, Way]] = {}
        self.began: dict[tuple[PeerId, PeerId], float] = {}
        self._relay = relay or RelaySettings()
        self._field = field_success

    @property
    def now(self) -> float:
        """Unix seconds of the world."""
        return self.agenda.now

    def add(self, nature: Nature, *, ipv6: Nature | None = None) -> Home:
        """A new peer; it has not started yet.

        Args:
            nature: Its router's.
            ipv6: "public" to have IPv6 that lets everybody in, "kept" only those who were asked; None to have none.
        """
        number = len(self.homes)
        peer = PeerId(chance(self.seed, f"peer {number}").randbytes(32))
        host = f"{20 + number // 65536}.{number // 256 % 256}.{number % 256}.7"
        trace = Trace()
        settings = NatSettings(relay=self._relay)
        machine = Traversal(peer, random=chance(self.seed, f"nat {number}"), trace=trace, settings=settings)
        box = Box(nature, host, chance(self.seed, f"box {number}"))
        inside = host if nature == "public" else "192.168.1.10"
        home = Home(number, peer, box, self.links.place(peer), machine, trace, inside)
        self.homes[peer] = home
        self.at[host] = home
        if ipv6 is not None:
            home.ipv6 = Box(ipv6, f"2a00:{number:x}::7", chance(self.seed, f"box six {number}"))
            self.at[home.ipv6.host] = home
        return home

    def start(self, home: Home) -> None:
        """The peer begins to live."""
        kind = Kind.PUBLIC if home.box.nature == "public" else Kind.LAN
        addresses: tuple[Listed, ...] = (Listed(kind, Address(home.inside, PORT)),)
        if home.ipv6 is not None:
            addresses += (Listed(Kind.IPV6, Address(home.ipv6.host, PORT)),)
        self.tell(home, Located(addresses=addresses, tcp_port=PORT, udp_port=PORT))

    def introduce(self, home: Home, other: Home, *, relay: bool) -> None:
        """`home` hears of a public peer."""
        for box in (other.box, other.ipv6):
            if box is not None:
                address = Address(box.host, PORT)
                self._perform(home, home.machine.volunteer(other.peer, address, self.now, relay=relay))

    def dial(self, home: Home, other: Home) -> None:
        """`home` wants a link to `other`."""
        self.began[home.peer, other.peer] = self.now
        home.ended.pop(other.peer, None)
        self._perform(home, home.machine.dial(other.peer, self.now))

    def part(self, home: Home, other: Home) -> None:
        """The two no longer need their link."""
        for one, two in ((home, other), (other, home)):
            for circuit in [c for c, (peer, _, _) in one.circuits.items() if peer == two.peer]:
                self._perform(one, one.machine.close(circuit, self.now))
            if one.links.pop(two.peer, None) is not None:
                self.tell(one, Lost(two.peer, "no longer needed"))

    def write(self, home: Home, circuit: bytes, data: bytes) -> None:
        """`home` sends bytes on a circuit."""
        self._perform(home, home.machine.write(circuit, data, self.now))

    def kill(self, home: Home, *, loud: bool = True) -> None:
        """The peer is gone at once; its links are noticed to have ended, if it goes loudly."""
        home.up = False
        if not loud:
            return
        for peer in list(home.links):
            self.homes[peer].links.pop(home.peer, None)
            delay_s = self.delay_s(home, self.homes[peer])
            self.agenda.after(delay_s, self.tell, self.homes[peer], Lost(home.peer, "gone"))

    def run(self, seconds: float) -> None:
        """Let time go on."""
        self.agenda.run(self.now + seconds)

    def delay_s(self, a: Home, b: Home) -> float:
        """One way."""
        return self.links.distance_s(a.place, b.place)

    def tell(self, home: Home, event: Any) -> None:
        """Give an event to the peer's machine and do what it says."""
        if home.up:
            self._perform(home, home.machine.handle(event, self.now))

    # --- doing what a machine asks -----------------------------------------------------------------------------------

    def _perform(self, home: Home, outputs: Sequence[Any]) -> None:
        for output in outputs:
            match output:
                case Send() | SendAt():
                    self._send(home, output)
                case Dial() | Punch() | Abandon() | TryDialBack() | DialEnded():
                    self._attempt(home, output)
                case CircuitOpened() | CircuitBytes() | CircuitEnded():
                    self._circuit(home, output)
                case Know(peer=peer, address=address):
                    home.book[peer] = address
                case FindCard(peer=peer):
                    self.agenda.after(CARD_S, self._card, home, peer)
                case PublishCard(card=card):
                    self.cards[home.peer] = card
        self._schedule(home)

    def _send(self, home: Home, output: Send[Any] | SendAt) -> None:
        match output:
            case SendAt(address=address, message=message, fresh=fresh):
                self._datagram(home, address, message, port=self.random.randrange(40_000, 60_000) if fresh else PORT)
            case Send(to=to, message=message) if message.plane == "datagram":
                address_known = home.book.get(to) or home.sources.get(to)
                if address_known is not None:
                    self._datagram(home, address_known, message, port=PORT)
            case Send(to=to, message=message):
                self._stream(home, self.homes[to], message)

    def _attempt(self, home: Home, output: Dial | Punch | Abandon | TryDialBack | DialEnded) -> None:
        match output:
            case Dial(attempt=attempt, address=address, peer=peer, way=way):
                home.attempts.add(attempt)
                self._connect(home, address, attempt=attempt, peer=peer, way=way)
            case Punch():
                home.attempts.add(output.attempt)
                home.punches[output.peer] = output
                self.agenda.at(output.at, self._punch, home, output)
            case Abandon(attempt=attempt):
                home.attempts.discard(attempt)
            case TryDialBack(nonce=nonce, address=address):
                self._try(home, nonce, address)
            case DialEnded(peer=peer):
                home.ended[peer] = output

    def _schedule(self, home: Home) -> None:
        deadline = home.machine.deadline
        if deadline is None or not home.up:
            return
        at = max(deadline, self.now) + 1e-6
        if home.wake_at is None or at < home.wake_at or home.wake_at < self.now:
            home.wake_at = at
            self.agenda.at(at, self._wake, home, at)

    def _wake(self, home: Home, planned_at: float) -> None:
        if home.up and home.wake_at == planned_at:
            home.wake_at = None
            self.tell(home, Tick())

    def _card(self, home: Home, peer: PeerId) -> None:
        self.tell(home, CardFound(peer, self.cards.get(peer)))

    # --- datagrams ---------------------------------------------------------------------------------------------------

    def _datagram(self, home: Home, to: Address, message: Any, *, port: int) -> None:
        router = home.router(to)
        source = router.outward("udp", port, to, self.now) if router is not None else None
        target = self.at.get(to.host)
        if target is not None and source is not None:
            self.agenda.after(self.delay_s(home, target), self._datagram_arrives, home, target, source, to, message)

    def _datagram_arrives(self, sender: Home, home: Home, source: Address, to: Address, message: Any) -> None:
        router = home.router(to)
        if not home.up or router is None or not router.lets_in("udp", to.port, source, self.now):
            return
        if router.nature == "public" and to.port != PORT:
            return
        self.messages[type(message).__name__] += 1
        if home.sources.get(sender.peer) != source:
            home.sources[sender.peer] = source
            self.tell(home, Seen(sender.peer, source))
        self.tell(home, Received(sender.peer, message))

    # --- streams -----------------------------------------------------------------------------------------------------

    def _stream(self, home: Home, other: Home, message: Any) -> None:
        if other.peer in home.links:
            self.agenda.after(self.delay_s(home, other), self._stream_arrives, home, other, message)
            return
        waiting = home.calling.get(other.peer)
        if waiting is not None:
            waiting.append(message)
        elif (address := home.book.get(other.peer)) is not None:
            home.calling[other.peer] = [message]
            self._connect(home, address, attempt=0, peer=other.peer, way=Way.PUBLIC)
        else:
            self.agenda.after(0.0, self.tell, home, Lost(other.peer, "no address"))

    def _stream_arrives(self, sender: Home, home: Home, message: Any) -> None:
        if home.up and sender.peer in home.links:
            self.messages[type(message).__name__] += 1
            self.tell(home, Received(sender.peer, message))

    def _connect(self, home: Home, to: Address, *, attempt: int, peer: PeerId, way: Way) -> None:
        router, target = home.router(to), self.at.get(to.host)
        source = router.outward("tcp", PORT, to, self.now) if router is not None else None
        open_ = target is not None and target.up and to.port == PORT and target.peer == peer
        if target is None or source is None or not open_ or not self._lets_in(target, to, source):
            self.agenda.after(CONNECT_S, self._not_connected, home, attempt, peer)
            return
        round_trip_s = 2 * self.delay_s(home, target)
        after_s = round_trip_s * (1 + TLS_ROUND_TRIPS)
        self.agenda.after(after_s, self._connected, home, target, way, attempt, to, source)

    def _lets_in(self, target: Home, to: Address, source: Address) -> bool:
        router = target.router(to)
        return router is not None and router.lets_in("tcp", to.port, source, self.now)

    def _connected(self, home: Home, target: Home, way: Way, attempt: int, to: Address, source: Address) -> None:
        if attempt and attempt not in home.attempts:
            return
        if not target.up:
            self._not_connected(home, attempt, target.peer)
            return
        home.attempts.discard(attempt)
        home.links[target.peer] = way
        target.links[home.peer] = way
        self._first_byte(home, target, way)
        self.tell(target, LinkUp(home.peer, way, source, called=False))
        self.tell(home, LinkUp(target.peer, way, to, called=True, attempt=attempt))
        for message in home.calling.pop(target.peer, []):
            self._stream(home, target, message)

    def _not_connected(self, home: Home, attempt: int, peer: PeerId) -> None:
        if attempt:
            if attempt in home.attempts:
                home.attempts.discard(attempt)
                self.tell(home, Failed(attempt, "nobody answered"))
        elif home.calling.pop(peer, None) is not None:
            self.tell(home, Lost(peer, "nobody answered"))

    def _first_byte(self, home: Home, other: Home, way: Way) -> None:
        for pair in ((home.peer, other.peer), (other.peer, home.peer)):
            if pair in self.began and pair not in self.first_byte_s:
                self.first_byte_s[pair] = (self.now - self.began[pair], way)

    def _try(self, home: Home, nonce: bytes, to: Address) -> None:
        router = home.router(to) or home.box
        source = Address(router.host, self.random.randrange(40_000, 60_000))
        target = self.at.get(to.host)
        reached = target is not None and to.port == PORT and self._lets_in(target, to, source)
        self.agenda.after(0.3 if reached else CONNECT_S, self.tell, home, DialledOut(nonce, reached))

    # --- punches -----------------------------------------------------------------------------------------------------

    def _willing(self, a: PeerId, b: PeerId) -> bool:
        low, high = sorted((a, b))
        return chance(self.seed, f"field {low.hex()} {high.hex()}").random() < self._field

    def _punch(self, home: Home, punch: Punch) -> None:
        """Send to all addresses once, and again soon."""
        if punch.attempt not in home.attempts or not home.up:
            return
        if self.now > punch.until:
            home.attempts.discard(punch.attempt)
            self.tell(home, Failed(punch.attempt, "the punch did not get through"))
            return
        other = self.homes[punch.peer]
        if punch.spread is not None:
            self._spread(home, other, punch)
        else:
            flights: tuple[tuple[Proto, tuple[Address, ...]], ...] = (("tcp", punch.tcp), ("udp", punch.udp))
            for proto, addresses in flights:
                for address in addresses:
                    router = home.router(address)
                    if router is not None:
                        source = router.outward(proto, PORT, address, self.now)
                        self._fly(home, other, punch, proto, source, address)
        self.agenda.after(PUNCH_EVERY_S, self._punch, home, punch)

    def _fly(self, home: Home, other: Home, punch: Punch, proto: Any, source: Address, to: Address) -> None:
        if self.at.get(to.host) is other and self._willing(home.peer, other.peer):
            delay_s = self.delay_s(home, other)
            self.agenda.after(delay_s, self._punch_arrives, home, other, punch, proto, source, to)

    def _punch_arrives(self, home: Home, other: Home, punch: Punch, proto: Any, source: Address, to: Address) -> None:
        theirs, router = other.punches.get(home.peer), other.router(to)
        if theirs is None or theirs.nonce != punch.nonce:
            return
        if router is None or not router.lets_in(proto, to.port, source, self.now):
            return
        way = Way.TCP_PUNCH if proto == "tcp" else Way.QUIC_PUNCH
        self._through(home, other, punch, theirs, way)

    def _spread(self, home: Home, other: Home, punch: Punch) -> None:
        """The birthday punch is drawn, not played: when does the first of the tried ports meet an open one?"""
        spread = punch.spread
        if spread is None or not spread.remote_ports or not self._willing(home.peer, other.peer):
            return
        theirs = other.punches.get(home.peer)
        if theirs is None or theirs.nonce != punch.nonce or theirs.spread is None or theirs.spread.local_ports == 0:
            return
        open_ports = set(
            chance(self.seed, f"spread {punch.nonce.hex()}").sample(range(1024, 65536), theirs.spread.local_ports)
        )
        hit = next((n for n, port in enumerate(spread.remote_ports) if port in open_ports), None)
        if hit is not None and self.now >= punch.at + hit / spread.packets_per_s + 2 * self.delay_s(home, other):
            self._through(home, other, punch, theirs, Way.BIRTHDAY)

    def _through(self, home: Home, other: Home, punch: Punch, theirs: Punch, way: Way) -> None:
        home.punches.pop(other.peer, None)
        other.punches.pop(home.peer, None)
        round_trips = 0.5 + TLS_ROUND_TRIPS + (0.0 if way is Way.TCP_PUNCH else 1.0)
        after_s = 2 * self.delay_s(home, other) * round_trips
        self.agenda.after(after_s, self._punched, home, other, punch, theirs, way)

    def _punched(self, home: Home, other: Home, punch: Punch, theirs: Punch, way: Way) -> None:
        if not (home.up and other.up):
            return
        for one, two, mine in ((home, other, punch), (other, home, theirs)):
            one.attempts.discard(mine.attempt)
            one.links[two.peer] = way
        self._first_byte(home, other, way)
        for one, two, mine in ((home, other, punch), (other, home, theirs)):
            address = Address(two.box.host, PORT)
            self.tell(one, LinkUp(two.peer, way, address, called=mine.caller, attempt=mine.attempt))

    # --- circuits ----------------------------------------------------------------------------------------------------

    def _circuit(self, home: Home, event: CircuitOpened | CircuitBytes | CircuitEnded) -> None:
        match event:
            case CircuitOpened(circuit=circuit, peer=peer, called=called, attempt=attempt):
                home.circuits[circuit] = (peer, called, attempt)
                home.got[circuit] = bytearray()
                if called:
                    self._perform(home, home.machine.write(circuit, HELLO, self.now))
            case CircuitBytes(circuit=circuit, data=data):
                self._perform(home, home.machine.consumed(circuit, len(data), self.now))
                self._heard(home, circuit, data)
            case CircuitEnded(circuit=circuit):
                home.circuits.pop(circuit, None)

    def _heard(self, home: Home, circuit: bytes, data: bytes) -> None:
        peer, called, attempt = home.circuits[circuit]
        before = len(home.got[circuit])
        home.got[circuit] += data
        if before < len(HELLO) <= len(home.got[circuit]):
            if not called:
                self._perform(home, home.machine.write(circuit, HELLO, self.now))
            else:
                self._first_byte(home, self.homes[peer], Way.RELAY)
            self.tell(home, LinkUp(peer, Way.RELAY, None, called=called, attempt=attempt))


def way_counts(ended: Mapping[Any, DialEnded]) -> dict[str, int]:
    """How many calls ended how."""
    counts: dict[str, int] = defaultdict(int)
    for event in ended.values():
        counts["failed" if event.way is None else event.way.name.lower()] += 1
    return dict(counts)
