"""The machine that a host runs where the way to others may lead through routers: a peer, and its traversal beside it.

The peer's own DHT holds the cards by which traversal finds others, and names those who may help to find oneself.
"""

import asyncio
import ipaddress
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, Final, Protocol

from core.base.ids import Key, PeerId
from core.base.machine import Lost, Received, Tick, earliest
from core.dht.events import Found, RecordStored
from core.dht.messages import Contact, Observed
from core.nat.events import (
    AddressesChanged,
    AddressSeen,
    CheckReachability,
    DialEnded,
    FindPeerRecord,
    PeerRecordFound,
    PublishPeerRecord,
    RelayLost,
)
from core.nat.messages import NAT_MESSAGES, Address
from core.nat.peer_record import (
    PEER_RECORD_LIFETIME_S,
    RELAYS_MAX,
    AddressCandidate,
    CandidateKind,
    PeerRecord,
    decode,
    encode,
    is_public,
    kind_of,
    peer_record_key,
)
from core.nat.reachability import Reachability
from core.nat.relay import RelaySettings
from core.nat.traversal import NatSettings, Traversal
from core.net.host import Host
from core.net.interfaces import own_hosts
from core.net.streams import PeerStream
from core.net.traverse import Traverser
from core.swarm.participant import Participant

SCOUT_FIRST_S: Final = 2.0
SCOUT_S: Final = 60.0
"""Between two looks for helpers, once there has been time to find some."""
SCOUT_CARDS: Final = 4
"""Cards that are read at one look."""
ASKED_MAX: Final = 256
DOUBTED_MAX: Final = 256
WANTED_MAX: Final = 256
AGAIN_S: Final = 1.5
"""A peer that is still wanted is looked for again after so long: its card may just be on its way."""
LIKELY: Final = (CandidateKind.PUBLIC, CandidateKind.MAPPED, CandidateKind.IPV6)
"""Where a helper is called, best first: more can reach IPv4."""
USEFUL: Final = (CandidateKind.MAPPED, CandidateKind.IPV6, CandidateKind.PUBLIC, CandidateKind.LAN)
"""Which of our addresses the card keeps when there is not room for all."""


class Inner(Protocol):
    """The peer itself."""

    @property
    def deadline(self) -> float | None:
        """When it wants a Tick."""

    def handle(self, event: Any, now: float) -> Sequence[Any]:
        """Advance by one event."""


class Directory(Protocol):
    """The peer's DHT."""

    ipv6: bool
    """Whether it may ask peers at IPv6 addresses."""

    @property
    def contacts(self) -> list[Contact]:
        """Peers that answer."""

    @property
    def client(self) -> bool:
        """Whether it holds nothing itself."""

    def get(self, key: Key, now: float, *, quorum: int | None = None, owner: PeerId | None = None) -> Sequence[Any]:
        """Read a key; `Found` follows."""

    def store(
        self, key: Key, value: bytes, *, lifetime_s: float, now: float, subkey: bytes | None = None
    ) -> Sequence[Any]:
        """Store a value; `RecordStored` follows."""


class Outward:
    """See the module's docstring.

    It is made before the host, which gets `act` as its `on_event`, `wanted` and `opened`; when the host listens,
    `begin` begins.

    Args:
        inner: Gets all that is not about being reached; `Found` for keys that are not its own must reach `act`.
        directory: Its DHT.
        traversal: See there.
        me: Our id.
        now: Unix seconds.
        rest: Takes the events that are not about reaching others, `ReachChanged` and `DialEnded`.
        random: Chooses whose cards are read.
    """

    def __init__(  # noqa: PLR0913 - the composition root names each part once
        self,
        inner: Inner,
        *,
        directory: Directory,
        traversal: Traversal,
        me: PeerId,
        now: Callable[[], float],
        rest: Callable[[Any, float], None],
        random: Random,
    ) -> None:
        self.traversal = traversal
        self._inner = inner
        self._directory = directory
        self._me = me
        self._now = now
        self._rest = rest
        self._random = random
        self._host: Host | None = None
        self._traverser: Traverser | None = None
        self._bind, self._port, self._second_port = "", 0, 0
        self._mapped: Address | None = None
        self._asked: OrderedDict[Key, PeerId] = OrderedDict()
        self._doubted: OrderedDict[PeerId, None] = OrderedDict()
        """Peers that were not reached by what their card said."""
        self._unplaced: PeerRecord | None = None
        """Our card, as long as nobody else holds it."""
        self._wanted: OrderedDict[PeerId, float | None] = OrderedDict()
        """Peers that somebody waits for; when to look for them again, None: they are being looked for."""
        self._scout_at: float | None = None
        self._rest_s = SCOUT_FIRST_S

    @classmethod
    def of(
        cls,
        participant: Participant,
        *,
        relay: RelaySettings,
        now: Callable[[], float],
        rest: Callable[[Any, float], None],
        random: Random,
    ) -> "Outward":
        """Before a participant, which may carry for others what `relay` says."""
        traversal = Traversal(participant.me, random=random, trace=participant.trace, settings=NatSettings(relay=relay))
        participant.rounds.attesting.carried = traversal.circuits.take_carried
        return cls(
            participant,
            directory=participant.dht,
            traversal=traversal,
            me=participant.me,
            now=now,
            rest=rest,
            random=random,
        )

    # --- as the host's machine ---------------------------------------------------------------------------------------

    @property
    def deadline(self) -> float | None:
        """The first of all."""
        return earliest(self._inner.deadline, self.traversal.deadline, self._scout_at, *self._wanted.values())

    def handle(self, event: Any, now: float) -> Sequence[Any]:
        """Advance by one event, which goes to whom it concerns."""
        match event:
            case Received(message=message):
                part = self.traversal if isinstance(message, NAT_MESSAGES) else self._inner
                return part.handle(event, now)
            case Observed(peer=peer, host=host, port=port):
                seen = AddressSeen(peer, Address(host, port))
                return [*self.traversal.handle(seen, now), *self._inner.handle(event, now)]
            case Lost(peer=peer):
                self._wanted.pop(peer, None)
                return [*self.traversal.handle(event, now), *self._inner.handle(event, now)]
            case Tick():
                return self._tick(now)
            case _:
                return self.traversal.handle(event, now)

    # --- for its owner -----------------------------------------------------------------------------------------------

    def begin(self, host: Host, *, bind: str, port: int, second_port: int = 0, helpers: Iterable[Contact] = ()) -> None:
        """The host listens, perhaps also at a second port (`Host.open_second`).

        Helpers that are public are known, the collaboration's own first.
        """
        self._host, self._bind, self._port, self._second_port = host, bind, port, second_port
        self._traverser = Traverser(host, self.traversal, now=self._now)
        for number, helper in enumerate(helpers):
            self.helper(helper.peer_id, helper.host, helper.port, relay=True, trusted=number == 0)
        self._locate(moved=True)

    def moved(self) -> None:
        """The computer has another network, or has woken up."""
        if self._host is not None:
            self._host.moved()
            self._locate(moved=True)

    def readdressed(self) -> None:
        """The same network, but this computer has other addresses beside: what is known of the router still holds."""
        if self._host is not None:
            self._host.moved()
            self._locate(moved=False)

    def mapped(self, address: Address | None) -> None:
        """The router forwards this outer address to us; None: it no longer does."""
        if address != self._mapped:
            self._mapped = address
            if self._host is not None:
                self._locate(moved=False)

    @property
    def forwarded(self) -> bool:
        """Whether the router says that it forwards our port to us."""
        return self._mapped is not None

    def examine(self) -> None:
        """Have others look again at how we can be reached."""
        if self._host is not None:
            self._host.deliver(CheckReachability())

    def carry(self, limits: RelaySettings) -> None:
        """Carry so much for others from now on."""
        outputs = self.traversal.carry(limits, self._now())
        if self._host is not None:
            self._host.perform(outputs)

    def helper(self, peer: PeerId, host: str, port: int, *, relay: bool, trusted: bool = False) -> None:
        """That peer answers strangers: it may tell us how we look from outside, and carry for us if `relay`.

        `trusted`: it is the collaboration's own.
        """
        if self._host is not None and peer != self._me:
            self._host.resolve(
                (host, port), lambda found: self._volunteer(peer, Address(*found), relay=relay, trusted=trusted)
            )

    # --- for the host ------------------------------------------------------------------------------------------------

    def wanted(self, peer: PeerId) -> None:
        """That peer does not answer at its known addresses."""
        if self._traverser is not None:
            self._wanted[peer] = None
            if len(self._wanted) > WANTED_MAX:
                self._wanted.popitem(last=False)
            self._traverser.wanted(peer)

    def opened(self, stream: PeerStream) -> None:
        """A link stands."""
        self._wanted.pop(stream.peer, None)
        if self._traverser is not None:
            self._traverser.opened(stream)

    def act(self, event: Any, now: float) -> None:
        """Do what a machine asks for, or pass it on."""
        match event:
            case FindPeerRecord(peer=peer):
                self._look_up(peer)
            case PublishPeerRecord(peer_record=peer_record):
                self._publish(peer_record, now)
            case Found():
                self._found(event)
            case RecordStored(key=key, replicas=replicas) if key == peer_record_key(self._me):
                if replicas > (not self._directory.client):
                    self._unplaced = None
            case DialEnded(peer=peer, way=way):
                self._dialled(peer, now, reached=way is not None)
                self._rest(event, now)
            case RelayLost():
                pass
            case _:
                if self._traverser is None or not self._traverser.perform(event):
                    self._rest(event, now)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _tick(self, now: float) -> list[Any]:
        """Only for those whose time has come: whoever carries for others is woken often."""
        outputs: list[Any] = []
        for part in (self.traversal, self._inner):
            if part.deadline is not None and part.deadline <= now:
                outputs += part.handle(Tick(), now)
        for peer in [peer for peer, at in self._wanted.items() if at is not None and at <= now]:
            self._wanted[peer] = None
            outputs += self.traversal.dial(peer, now)
        if self._scout_at is not None and self._scout_at <= now:
            self._scout_at = now + self._rest_s
            self._rest_s = min(2 * self._rest_s, SCOUT_S)
            outputs += self._scout(now)
        return outputs

    def _locate(self, *, moved: bool) -> None:
        """Tell traversal where we are, as far as this computer knows."""
        assert self._host is not None
        hosts = own_hosts(self._bind)
        self._directory.ipv6 = any(":" in host for host in hosts)
        listed = [AddressCandidate(kind, Address(host, self._port)) for host in hosts if (kind := kind_of(host))]
        if self._mapped is not None:
            listed.append(AddressCandidate(CandidateKind.MAPPED, self._mapped))
        listed.sort(key=lambda one: USEFUL.index(one.kind))
        if moved:
            self._rest_s = SCOUT_FIRST_S
            self._scout_at = self._now() + self._rest_s
        self._host.deliver(
            AddressesChanged(
                addresses=tuple(listed),
                tcp_port=self._port,
                udp_port=self._port,
                second_udp_port=self._second_port,
                moved=moved,
            )
        )

    def _volunteer(self, peer: PeerId, address: Address, *, relay: bool, trusted: bool) -> None:
        assert self._host is not None
        if not ipaddress.ip_address(address.host).is_loopback:
            self._host.perform(self.traversal.volunteer(peer, address, self._now(), relay=relay, trusted=trusted))

    def _scout(self, now: float) -> list[Any]:
        """Look for helpers among those who answer in the DHT, and see that our card stands there."""
        outputs: list[Any] = []
        if self._unplaced is not None:
            outputs += self._stored(self._unplaced, now)
        probes = [contact for contact in self._directory.contacts if is_public(contact.host)]
        chosen = self._random.sample(probes, min(SCOUT_CARDS, len(probes)))
        for contact in chosen:
            address = Address(contact.host, contact.port)
            outputs += self.traversal.volunteer(contact.peer_id, address, now, relay=False)
        reach = self.traversal.reach
        lonely = reach.standing is not Reachability.REACHABLE and reach.relays < RELAYS_MAX
        if lonely or self.traversal.probes.ipv6.needs_candidates:
            for contact in chosen:
                outputs += self._read(contact.peer_id, now)
        return outputs

    def _look_up(self, peer: PeerId) -> None:
        """Begins after what is being performed now: the answer may be here at once."""
        asyncio.get_running_loop().call_soon(lambda: self._perform(self._read(peer, self._now())))

    def _read(self, peer: PeerId, now: float) -> Sequence[Any]:
        """One holder's answer is enough, and quick; all are asked for a peer that was not where its card said."""
        key = peer_record_key(peer)
        self._asked.pop(key, None)
        self._asked[key] = peer
        if len(self._asked) > ASKED_MAX:
            self._asked.popitem(last=False)
        return self._directory.get(key, now, quorum=None if peer in self._doubted else 1, owner=peer)

    def _found(self, found: Found) -> None:
        peer = self._asked.pop(found.key, None)
        if peer is None:
            return
        records = [record for record in found.records if record.owner == peer and record.subkey == peer]
        peer_record = decode(records[0].value) if records else None
        asyncio.get_running_loop().call_soon(self._deliver, PeerRecordFound(peer, peer_record))
        if peer_record is not None and (peer_record.reachable or peer_record.reachable_ipv6):
            self._may_help(peer, peer_record)

    def _may_help(self, peer: PeerId, peer_record: PeerRecord) -> None:
        """Strangers reach that peer: it may carry for us, and say whether strangers reach us, also over IPv6."""
        places = sorted(
            (listed for listed in peer_record.addresses if listed.kind in LIKELY),
            key=lambda one: LIKELY.index(one.kind),
        )
        if peer_record.relay and peer_record.reachable:
            for place in places[:1]:
                self.helper(peer, place.address.host, place.address.port, relay=True)
        for place in [place for place in places[1:] if place.kind is CandidateKind.IPV6][:1]:
            self.helper(peer, place.address.host, place.address.port, relay=False)

    def _publish(self, peer_record: PeerRecord, now: float) -> None:
        self._unplaced = peer_record
        self._perform(self._stored(peer_record, now))

    def _stored(self, peer_record: PeerRecord, now: float) -> Sequence[Any]:
        return self._directory.store(
            peer_record_key(self._me), encode(peer_record), lifetime_s=PEER_RECORD_LIFETIME_S, now=now, subkey=self._me
        )

    def _dialled(self, peer: PeerId, now: float, *, reached: bool) -> None:
        self._doubted.pop(peer, None)
        if not reached:
            if peer in self._wanted:
                self._wanted[peer] = now + AGAIN_S
            self._doubted[peer] = None
            if len(self._doubted) > DOUBTED_MAX:
                self._doubted.popitem(last=False)

    def _perform(self, outputs: Sequence[Any]) -> None:
        assert self._host is not None
        self._host.perform(outputs)

    def _deliver(self, event: Any) -> None:
        assert self._host is not None
        self._host.deliver(event)
