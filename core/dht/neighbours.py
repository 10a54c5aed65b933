"""Known peers: the routing table, with the addresses and the back-off that belong to it."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from core.base.back_off import BackOff
from core.base.bounds import remember
from core.base.ids import HOST_CHARACTERS_MAX, Contact, Key, PeerId
from core.base.machine import Trace
from core.dht.bucket import TableChange
from core.dht.disjoint_lookup import DisjointLookup
from core.dht.lookup import Lookup, LookupOptions
from core.dht.prefixes import may_name, reach
from core.dht.routing import RoutingTable
from core.dht.settings import DhtSettings
from core.dht.space import point, position

SEEDS_MAX = 32
"""Upper bound on seeds that were given, and on contacts remembered after they fell silent."""
PARALLEL_ON_A_PATH = 3
"""Queries in flight on each disjoint path, so that one silent peer does not hold up its path."""


@dataclass(slots=True)
class _Address:
    contact: Contact
    observed: bool
    told: bool


class PeerAddresses:
    """Addresses of the peers met last.  Hearsay never replaces an observation that still works.

    Args:
        limit: Number of peers remembered.  The host should remember at least as many.
    """

    def __init__(self, *, limit: int = 512) -> None:
        self._limit = limit
        self._addresses: dict[PeerId, _Address] = {}

    def get(self, peer: PeerId) -> Contact | None:
        """The address at which `peer` is to be reached; None: not known."""
        address = self._addresses.get(peer)
        return None if address is None else address.contact

    def preferred(self, contact: Contact) -> Contact:
        """Replace a contact by the address at which that peer was observed, if it was."""
        address = self._addresses.get(contact.peer_id)
        return address.contact if address is not None and address.observed else contact

    def observed(self, peer: PeerId, host: str, port: int) -> Contact | None:
        """Note that the host saw a peer at this address.

        IPv6 does not replace an IPv4 address that works, which more peers can call.

        Args:
            peer: The peer.
            host: Source address of its datagrams.
            port: Source port of its datagrams.

        Returns:
            The contact by which it is best reached now; None: nobody else could be told such an address.
        """
        if not 1 <= len(host) <= HOST_CHARACTERS_MAX or not 1 <= port <= 65535:
            return None
        known, ipv6 = self._addresses.get(peer), ":" in host
        if ipv6 and known is not None and known.observed and ":" not in known.contact.host:
            return known.contact
        contact = Contact(peer, host, port)
        self._put(_Address(contact, observed=True, told=not ipv6))
        return contact

    def answered(self, peer: PeerId) -> Contact | None:
        """Mark the address of a peer as observed, since it answered there; returns the contact if it is known."""
        address = self._addresses.get(peer)
        if address is None:
            return None
        address.observed = True
        return address.contact

    def silent(self, peer: PeerId) -> None:
        """Let hearsay replace the address of a peer that no longer answers there."""
        address = self._addresses.get(peer)
        if address is not None:
            address.observed = False

    def before_send(self, contact: Contact) -> Contact | None:
        """Before a message leaves: the contact of which the host is to be told, if it does not know it yet."""
        address = self._addresses.get(contact.peer_id)
        if address is None or (not address.observed and address.contact != contact):
            address = _Address(contact, observed=False, told=False)
            self._put(address)
        if address.told:
            return None
        address.told = True
        return address.contact

    def _put(self, address: _Address) -> None:
        peer = address.contact.peer_id
        self._addresses.pop(peer, None)
        self._addresses[peer] = address
        if len(self._addresses) > self._limit:
            del self._addresses[next(iter(self._addresses))]


class Neighbours:
    """Keeps the routing table true to answers and silences.

    Only peers that have answered enter the table: that proves their key and their address.  Hearsay never replaces an
    address at which a peer was observed.
    """

    def __init__(self, me: PeerId, settings: DhtSettings, *, trace: Trace) -> None:
        self._me = me
        self._settings = settings
        self._trace = trace
        self.table = RoutingTable(me, settings)
        self.book = PeerAddresses(limit=settings.addresses_max)
        self.ipv6 = True
        """Whether IPv6 addresses can be reached; otherwise no peer is asked there."""
        self._backoff: BackOff[Contact] = BackOff(first=settings.silence_s, longest=settings.silence_max_s)
        self._seeds: dict[PeerId, Contact] = {}
        """Given by the owner."""
        self._lost: OrderedDict[PeerId, Contact] = OrderedDict()
        """Contacts that left the table in silence, the newest last: it may be this peer that was cut off."""
        self._seeds_heard: dict[PeerId, float] = {}

    def add_seeds(self, contacts: Iterable[Contact]) -> None:
        """Remember peers that a lookup may always start from; at most `SEEDS_MAX`."""
        for contact in contacts:
            if contact.peer != self._me and len(self._seeds) < SEEDS_MAX:
                self._seeds[contact.peer_id] = contact

    def is_seed(self, peer: PeerId) -> bool:
        """Whether lookups may always start from this peer."""
        return peer in self._seeds or peer in self._lost

    def silent_seeds(self, before: float) -> list[Contact]:
        """Seeds behind which the rest of the network may be: lost contacts, the newest first, and silent given ones.

        Args:
            before: Given ones that have answered since are not silent, Unix seconds.
        """
        silent = {peer: contact for peer, contact in reversed(self._lost.items()) if self.table.get(peer) is None}
        for peer, contact in self._seeds.items():
            if self._seeds_heard.get(peer, float("-inf")) < before:
                silent.setdefault(peer, contact)
        return list(silent.values())

    def observed(self, peer: PeerId, host: str, port: int) -> None:
        """Note that the host saw the peer at this address.

        Args:
            peer: The peer.
            host: Source address of its datagrams.
            port: Source port of its datagrams.
        """
        contact = self.book.observed(peer, host, port)
        if contact is None:
            self._trace.mark("dht.drop.address")
        else:
            self.table.bucket(position(peer)).moved(contact)

    def alive(self, contact: Contact, now: float, *, rtt_s: float | None = None) -> tuple[Contact, TableChange]:
        """Note that a contact has answered.

        Args:
            contact: The contact as it was asked.
            now: Unix seconds.
            rtt_s: Measured round trip, seconds; None: not measured.

        Returns:
            The contact with its best address, and the change of the routing table.
        """
        peer = contact.peer_id
        self._backoff.clear(contact)
        contact = self.book.answered(peer) or contact
        self._backoff.clear(contact)
        if peer in self._seeds:
            self._seeds_heard[peer] = now
        return contact, self.table.heard(contact, now, rtt_s=rtt_s)

    def silent(self, contact: Contact, now: float) -> None:
        """Note that a contact has not answered.

        Args:
            contact: The contact as it was asked.
            now: Unix seconds.
        """
        peer = contact.peer_id
        self._backoff.fail(contact, now)
        self.book.silent(peer)
        known = self.table.get(peer)
        self.table.bucket(position(peer)).failed(peer)
        if known is not None and self.table.get(peer) is None:
            remember(self._lost, peer, known, SEEDS_MAX)

    def to_probe(self, peer: PeerId, now: float) -> Contact | None:
        """Decide whether to ask a requesting peer to prove its address; returns its contact if so.

        Args:
            peer: The requester.
            now: Unix seconds.
        """
        bucket = self.table.bucket(position(peer))
        if bucket.touched(peer, now):
            return None
        contact = self.book.get(peer)
        if contact is None:
            self._trace.mark("dht.note.address_unknown")
            return None
        return contact if bucket.wants(contact) else None

    def lookup(
        self,
        key: Key,
        now: float,
        *,
        width: int | None = None,
        quick: bool = False,
        paths: int | None = None,
        include_silent: bool = False,
    ) -> Lookup | DisjointLookup:
        """Make a lookup that starts from the contacts known now.

        Args:
            key: The key to approach.
            now: Unix seconds.
            width: Number of nearest peers that must answer; None: as many as replicas.
            quick: With more queries in flight.
            paths: Number of disjoint paths; None: as the settings say.
            include_silent: Include peers that did not answer a moment ago.
        """
        settings, local = self._settings, self.table.networks.are_few
        options = LookupOptions(
            parallel=settings.parallel,
            span=self.table.span_of(settings.replicas),
            prefix_limit=0 if local else settings.prefix_per_lookup,
            local_is_free=settings.local_is_free,
            ghosts_max=settings.ghosts_max,
        )
        if quick and self.table.typical_rtt_s > settings.far_s:
            options = replace(options, parallel=settings.parallel_quick_far, parallel_near=settings.parallel_near_far)
        elif quick:
            options = replace(options, parallel=settings.parallel_quick, parallel_near=settings.parallel_near)
        start = self._start(key, now, include_silent=include_silent)
        width = settings.replicas if width is None else width
        paths = settings.paths if paths is None else paths
        if paths <= 1 or local:
            return Lookup(key, start, width=width, options=options)
        options = replace(options, parallel=max(options.parallel, PARALLEL_ON_A_PATH * paths))
        return DisjointLookup(key, start, width=width, paths=paths, options=options)

    def refresh_lookup(self, key: Key, now: float) -> Lookup:
        """Make a lookup without haste, to refresh the bucket of a key.

        Args:
            key: The key.
            now: Unix seconds.
        """
        sparse = self.table.bucket(point(key)).is_far_and_sparse
        width = self._settings.refresh_width_sparse if sparse else self._settings.refresh_width
        return Lookup(key, self._start(key, now), width=width, options=LookupOptions(parallel=width))

    def _start(self, key: Key, now: float, *, include_silent: bool = False) -> list[Contact]:
        """Contacts with which a lookup of `key` begins: the nearest; where these are few, all that are known."""
        contacts = self.table.closest(key, self._settings.bucket_size)
        if len(contacts) < self._settings.replicas:
            seeds = (*self._lost.values(), *self._seeds.values())
            everybody = {contact.peer: contact for contact in (*seeds, *self.table.contacts(), *contacts)}
            contacts = list(everybody.values())
        return [contact for contact in contacts if include_silent or not self._backoff.is_excluded(contact, now)]

    def acceptable(self, contacts: Sequence[Contact], *, key: Key, by: Contact, now: float) -> tuple[Contact, ...]:
        """Filter the contacts that a peer named as near to `key`, and replace each address by the best known one.

        An honest peer names the nearest first, and nobody whose address it cannot know.

        Args:
            contacts: The named contacts.
            key: The key of the lookup.
            by: The peer that named them.
            now: Unix seconds.
        """
        if self._settings.check_replies and not _in_order(contacts, key):
            self._trace.mark("dht.drop.nodes.order")
            return ()
        chosen: dict[PeerId, Contact] = {}
        checked, from_afar = self._settings.check_replies, reach(by.host)
        known_there, is_excluded = self.table.get, self._backoff.is_excluded
        for contact in contacts:
            peer = contact.peer_id
            if peer == self._me or peer in chosen:
                self._trace.mark("dht.drop.contact")
                continue
            best = known_there(peer)
            if best is None:
                if checked and not may_name(contact.host, from_afar):
                    self._trace.mark("dht.drop.contact.reach")
                    continue
                best = self.book.preferred(contact)
            if not self.ipv6 and ":" in best.host:
                self._trace.mark("dht.drop.contact.ipv6")
                continue
            if not is_excluded(best, now):
                chosen[peer] = best
        return tuple(chosen.values())


def _in_order(contacts: Sequence[Contact], key: Key) -> bool:
    target = point(key)
    before = -1
    for contact in contacts:
        away = position(contact.peer) ^ target
        if away < before:
            return False
        before = away
    return True
