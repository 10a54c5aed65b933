"""A simulated Internet of peers behind routers: runs `core.nat.traversal` for each, and does what it asks."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick
from core.nat.circuit_endpoint import CircuitEndpoint, EndpointOutput
from core.nat.events import (
    AddAddress,
    AddressesChanged,
    AddressSeen,
    AttemptFailed,
    CancelAttempt,
    CircuitBytes,
    CircuitEnded,
    CircuitOpened,
    Dial,
    DialBackTried,
    DialEnded,
    FindPeerRecord,
    LinkUp,
    PeerRecordFound,
    PeerWanted,
    PublicPeerFound,
    PublishPeerRecord,
    Punch,
    SendDatagramTo,
    TryDialBack,
    Way,
)
from core.nat.messages import Address
from core.nat.peer_record import AddressCandidate, CandidateKind, PeerRecord
from core.nat.relay import RelaySettings
from core.sim.links import LinkSettings, chance
from core.sim.nat_homes import PORT, TLS_ROUND_TRIPS, Homes, SimulatedHome
from core.sim.nat_punches import Punches

CONNECT_S: Final = 3.0
PEER_RECORD_S: Final = 0.2
"""A lookup in the DHT."""
HELLO: Final = b"hello" * 100


class NatWorld(Homes):
    """A simulated Internet of homes, each with a traversal machine.

    Args:
        seed: Decides everything.
        relay: Limits of each peer that can be a relay.
        field_success: The share of pairs whose routers really let a punch through.
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
        super().__init__(seed, relay=relay or RelaySettings(), links=links or LinkSettings(jitter_s=0.0))
        self.random = chance(seed, "nat")
        self.peer_records: dict[PeerId, PeerRecord] = {}
        self.messages: Counter[str] = Counter()
        self.first_byte_s: dict[tuple[PeerId, PeerId], tuple[float, Way]] = {}
        self.began: dict[tuple[PeerId, PeerId], float] = {}
        self.punches = Punches(self, success=field_success, tell=self.tell, linked=self._first_byte)

    def start(self, home: SimulatedHome) -> None:
        """Begin the life of a peer."""
        kind = CandidateKind.PUBLIC if home.box.nature == "public" else CandidateKind.LAN
        addresses: tuple[AddressCandidate, ...] = (AddressCandidate(kind, Address(home.inside, PORT)),)
        if home.ipv6 is not None:
            addresses += (AddressCandidate(CandidateKind.IPV6, Address(home.ipv6.host, PORT)),)
        self.tell(home, AddressesChanged(addresses=addresses, tcp_port=PORT, udp_port=PORT))

    def introduce(self, home: SimulatedHome, other: SimulatedHome, *, relay: bool) -> None:
        """`home` hears of a public peer."""
        for box in (other.box, other.ipv6):
            if box is not None:
                address = Address(box.host, PORT)
                self.tell(home, PublicPeerFound(other.peer, address, relay=relay))

    def dial(self, home: SimulatedHome, other: SimulatedHome) -> None:
        """`home` wants a link to `other`."""
        self.began[home.peer, other.peer] = self.now
        home.ended.pop(other.peer, None)
        self.tell(home, PeerWanted(other.peer))

    def part(self, home: SimulatedHome, other: SimulatedHome) -> None:
        """The two no longer need their link."""
        for one, two in ((home, other), (other, home)):
            for circuit in [c for c, (peer, _, _) in one.circuits.items() if peer == two.peer]:
                self.use(one, circuit, lambda endpoint: endpoint.close(self.now))
            if one.links.pop(two.peer, None) is not None:
                self.tell(one, Lost(two.peer, "no longer needed"))

    def use(self, home: SimulatedHome, circuit: bytes, act: Callable[[CircuitEndpoint], list[EndpointOutput]]) -> None:
        """`home` acts on its endpoint of a circuit."""
        self.perform(home, home.machine.circuits.use(circuit, act, self.now))

    def kill(self, home: SimulatedHome, *, loud: bool = True) -> None:
        """The peer is gone at once; its links are noticed to have ended, if it goes loudly."""
        home.up = False
        if not loud:
            return
        for peer in list(home.links):
            self.homes[peer].links.pop(home.peer, None)
            delay_s = self.delay_s(home, self.homes[peer])
            self.agenda.after(delay_s, self.tell, self.homes[peer], Lost(home.peer, "gone"))

    def run(self, seconds: float) -> None:
        """Let simulated time go on for `seconds`."""
        self.agenda.run(self.now + seconds)

    def tell(self, home: SimulatedHome, event: Any) -> None:
        """Give an event to the peer's machine and do what it says."""
        if home.up:
            self.perform(home, home.machine.handle(event, self.now))

    # --- doing what a machine asks -----------------------------------------------------------------------------------

    def perform(self, home: SimulatedHome, outputs: Sequence[Any]) -> None:
        """Send messages, and do what else the machine of `home` asked for."""
        for output in outputs:
            match output:
                case Send() | SendDatagramTo():
                    self._send(home, output)
                case Dial() | Punch() | CancelAttempt() | TryDialBack() | DialEnded():
                    self._attempt(home, output)
                case CircuitOpened() | CircuitBytes() | CircuitEnded():
                    self._circuit(home, output)
                case AddAddress(peer=peer, address=address):
                    home.book[peer] = address
                case FindPeerRecord(peer=peer):
                    self.agenda.after(PEER_RECORD_S, self._peer_record, home, peer)
                case PublishPeerRecord(peer_record=peer_record):
                    self.peer_records[home.peer] = peer_record
        self._schedule(home)

    def _send(self, home: SimulatedHome, output: Send[Any] | SendDatagramTo) -> None:
        match output:
            case SendDatagramTo(address=address, message=message, fresh=fresh):
                self._datagram(home, address, message, port=self.random.randrange(40_000, 60_000) if fresh else PORT)
            case Send(to=to, message=message) if message.plane == "datagram":
                address_known = home.book.get(to) or home.sources.get(to)
                if address_known is not None:
                    self._datagram(home, address_known, message, port=PORT)
            case Send(to=to, message=message):
                self._stream(home, self.homes[to], message)

    def _attempt(self, home: SimulatedHome, output: Dial | Punch | CancelAttempt | TryDialBack | DialEnded) -> None:
        match output:
            case Dial(attempt=attempt, address=address, peer=peer, way=way):
                home.attempts.add(attempt)
                self._connect(home, address, attempt=attempt, peer=peer, way=way)
            case Punch():
                home.attempts.add(output.attempt)
                home.punches[output.peer] = output
                self.agenda.at(output.at, self.punches.punch, home, output)
            case CancelAttempt(attempt=attempt):
                home.attempts.discard(attempt)
            case TryDialBack(nonce=nonce, address=address):
                self._try(home, nonce, address)
            case DialEnded(peer=peer):
                home.ended[peer] = output

    def _schedule(self, home: SimulatedHome) -> None:
        deadline = home.machine.deadline
        if deadline is None or not home.up:
            return
        at = max(deadline, self.now) + 1e-6
        if home.wake_at is None or at < home.wake_at or home.wake_at < self.now:
            home.wake_at = at
            self.agenda.at(at, self._wake, home, at)

    def _wake(self, home: SimulatedHome, planned_at: float) -> None:
        if home.up and home.wake_at == planned_at:
            home.wake_at = None
            self.tell(home, Tick())

    def _peer_record(self, home: SimulatedHome, peer: PeerId) -> None:
        self.tell(home, PeerRecordFound(peer, self.peer_records.get(peer)))

    # --- datagrams ---------------------------------------------------------------------------------------------------

    def _datagram(self, home: SimulatedHome, to: Address, message: Any, *, port: int) -> None:
        router = home.router(to)
        source = router.outward("udp", port, to, self.now) if router is not None else None
        target = self.at.get(to.host)
        if target is not None and source is not None:
            self.agenda.after(self.delay_s(home, target), self._datagram_arrives, home, target, source, to, message)

    def _datagram_arrives(
        self, sender: SimulatedHome, home: SimulatedHome, source: Address, to: Address, message: Any
    ) -> None:
        router = home.router(to)
        if not home.up or router is None or not router.lets_in("udp", to.port, source, self.now):
            return
        if router.nature == "public" and to.port != PORT:
            return
        self.messages[type(message).__name__] += 1
        if home.sources.get(sender.peer) != source:
            home.sources[sender.peer] = source
            self.tell(home, AddressSeen(sender.peer, source))
        self.tell(home, Received(sender.peer, message))

    # --- streams -----------------------------------------------------------------------------------------------------

    def _stream(self, home: SimulatedHome, other: SimulatedHome, message: Any) -> None:
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

    def _stream_arrives(self, sender: SimulatedHome, home: SimulatedHome, message: Any) -> None:
        if home.up and sender.peer in home.links:
            self.messages[type(message).__name__] += 1
            self.tell(home, Received(sender.peer, message))

    def _connect(self, home: SimulatedHome, to: Address, *, attempt: int, peer: PeerId, way: Way) -> None:
        router, target = home.router(to), self.at.get(to.host)
        source = router.outward("tcp", PORT, to, self.now) if router is not None else None
        open_ = target is not None and target.up and to.port == PORT and target.peer == peer
        if target is None or source is None or not open_ or not self._lets_in(target, to, source):
            self.agenda.after(CONNECT_S, self._not_connected, home, attempt, peer)
            return
        round_trip_s = 2 * self.delay_s(home, target)
        after_s = round_trip_s * (1 + TLS_ROUND_TRIPS)
        self.agenda.after(after_s, self._connected, home, target, way, attempt, to, source)

    def _lets_in(self, target: SimulatedHome, to: Address, source: Address) -> bool:
        router = target.router(to)
        return router is not None and router.lets_in("tcp", to.port, source, self.now)

    def _connected(
        self, home: SimulatedHome, target: SimulatedHome, way: Way, attempt: int, to: Address, source: Address
    ) -> None:
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

    def _not_connected(self, home: SimulatedHome, attempt: int, peer: PeerId) -> None:
        if attempt:
            if attempt in home.attempts:
                home.attempts.discard(attempt)
                self.tell(home, AttemptFailed(attempt, "nobody answered"))
        elif home.calling.pop(peer, None) is not None:
            self.tell(home, Lost(peer, "nobody answered"))

    def _first_byte(self, home: SimulatedHome, other: SimulatedHome, way: Way) -> None:
        for pair in ((home.peer, other.peer), (other.peer, home.peer)):
            if pair in self.began and pair not in self.first_byte_s:
                self.first_byte_s[pair] = (self.now - self.began[pair], way)

    def _try(self, home: SimulatedHome, nonce: bytes, to: Address) -> None:
        router = home.router(to) or home.box
        source = Address(router.host, self.random.randrange(40_000, 60_000))
        target = self.at.get(to.host)
        reached = target is not None and to.port == PORT and self._lets_in(target, to, source)
        self.agenda.after(0.3 if reached else CONNECT_S, self.tell, home, DialBackTried(nonce, reached))

    # --- circuits ----------------------------------------------------------------------------------------------------

    def _circuit(self, home: SimulatedHome, event: CircuitOpened | CircuitBytes | CircuitEnded) -> None:
        match event:
            case CircuitOpened(circuit=circuit, peer=peer, called=called, attempt=attempt):
                home.circuits[circuit] = (peer, called, attempt)
                home.got[circuit] = bytearray()
                if called:
                    self.use(home, circuit, lambda endpoint: endpoint.write(HELLO, self.now))
            case CircuitBytes(circuit=circuit, data=data):
                self.use(home, circuit, lambda endpoint: endpoint.consumed(len(data), self.now))
                self._heard(home, circuit, data)
            case CircuitEnded(circuit=circuit):
                home.circuits.pop(circuit, None)

    def _heard(self, home: SimulatedHome, circuit: bytes, data: bytes) -> None:
        peer, called, attempt = home.circuits[circuit]
        before = len(home.got[circuit])
        home.got[circuit] += data
        if before < len(HELLO) <= len(home.got[circuit]):
            if not called:
                self.use(home, circuit, lambda endpoint: endpoint.write(HELLO, self.now))
            else:
                self._first_byte(home, self.homes[peer], Way.RELAY)
            self.tell(home, LinkUp(peer, Way.RELAY, None, called=called, attempt=attempt))


def way_counts(ended: Mapping[Any, DialEnded]) -> dict[str, int]:
    """Number of calls by the way in which they ended."""
    counts: dict[str, int] = defaultdict(int)
    for event in ended.values():
        counts["failed" if event.way is None else event.way.name.lower()] += 1
    return dict(counts)
