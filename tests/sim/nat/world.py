"""A simulated Internet of peers behind routers: runs `core.nat.traversal` for each, and does what it asks."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from core.base.ids import PeerId
from core.base.machine import Lost, Send, Tick
from core.nat.circuit_endpoint import CircuitEndpoint, EndpointOutput
from core.nat.events import (
    AddAddress,
    AddressesChanged,
    CancelAttempt,
    CircuitBytes,
    CircuitEnded,
    CircuitOpened,
    Dial,
    DialEnded,
    FindPeerRecord,
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
from tests.sim.nat.circuits import HomeCircuits
from tests.sim.nat.homes import PORT, Homes, SimulatedHome
from tests.sim.nat.links import HomeLinks
from tests.sim.nat.punches import Punches
from tests.sim.world.links import LinkSettings, chance

PEER_RECORD_S: Final = 0.2
"""A lookup in the DHT."""


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
        self.first_byte_s: dict[tuple[PeerId, PeerId], tuple[float, Way]] = {}
        self.began: dict[tuple[PeerId, PeerId], float] = {}
        self.punches = Punches(self, success=field_success, tell=self.tell, linked=self._first_byte)
        self._carried = HomeLinks(self, random=self.random, tell=self.tell, linked=self._first_byte)
        self.messages = self._carried.messages
        """Delivered messages by their type."""
        self._circuits = HomeCircuits(self, tell=self.tell, use=self.use, linked=self._first_byte)

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
                    self._carried.send(home, output)
                case Dial() | Punch() | CancelAttempt() | TryDialBack() | DialEnded():
                    self._attempt(home, output)
                case CircuitOpened() | CircuitBytes() | CircuitEnded():
                    self._circuits.handle(home, output)
                case AddAddress(peer=peer, address=address):
                    home.book[peer] = address
                case FindPeerRecord(peer=peer):
                    self.agenda.after(PEER_RECORD_S, self._peer_record, home, peer)
                case PublishPeerRecord(peer_record=peer_record):
                    self.peer_records[home.peer] = peer_record
        self._schedule(home)

    def _attempt(self, home: SimulatedHome, output: Dial | Punch | CancelAttempt | TryDialBack | DialEnded) -> None:
        match output:
            case Dial(attempt=attempt, address=address, peer=peer, way=way):
                home.attempts.add(attempt)
                self._carried.connect(home, address, attempt=attempt, peer=peer, way=way)
            case Punch():
                home.attempts.add(output.attempt)
                home.punches[output.peer] = output
                self.agenda.at(output.at, self.punches.punch, home, output)
            case CancelAttempt(attempt=attempt):
                home.attempts.discard(attempt)
            case TryDialBack(nonce=nonce, address=address):
                self._carried.dial_back(home, nonce, address)
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

    def _first_byte(self, home: SimulatedHome, other: SimulatedHome, way: Way) -> None:
        for pair in ((home.peer, other.peer), (other.peer, home.peer)):
            if pair in self.began and pair not in self.first_byte_s:
                self.first_byte_s[pair] = (self.now - self.began[pair], way)


def way_counts(ended: Mapping[Any, DialEnded]) -> dict[str, int]:
    """Number of calls by the way in which they ended."""
    counts: dict[str, int] = defaultdict(int)
    for event in ended.values():
        counts["failed" if event.way is None else event.way.name.lower()] += 1
    return dict(counts)
