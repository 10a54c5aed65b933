"""Who is known, where, and who is silent: the routing table with the addresses and the rests that belong to it."""

from collections.abc import Iterable, Sequence

from core.base.ids import Key, PeerId
from core.base.trace import Trace
from core.dht.addresses import AddressBook
from core.dht.backoff import Backoff
from core.dht.messages import Contact
from core.dht.routing import Heard, RoutingTable
from core.dht.settings import DhtSettings

SEEDS_MAX = 32


class Neighbours:
    """Keeps the routing table true to what is heard and not heard.

    Only who has answered us enters the table: that proves its key and its address.  What others say of a peer never
    replaces an address at which it was seen.
    """

    def __init__(self, me: PeerId, settings: DhtSettings, *, trace: Trace) -> None:
        self._me = me
        self._settings = settings
        self._trace = trace
        self.table = RoutingTable(
            me,
            bucket_size=settings.bucket_size,
            spares=settings.spares_per_bucket,
            doubt_after_s=settings.doubt_after_s,
        )
        self.book = AddressBook()
        self._backoff = Backoff(settings.silence_s, settings.silence_max_s)
        self._seeds: dict[PeerId, Contact] = {}

    def add_seeds(self, contacts: Iterable[Contact]) -> None:
        """Remember peers that a lookup may always start from; at most `SEEDS_MAX`."""
        for contact in contacts:
            if contact.peer != self._me and len(self._seeds) < SEEDS_MAX:
                self._seeds[contact.peer_id] = contact

    def is_seed(self, peer: PeerId) -> bool:
        """Whether lookups may always start from this peer."""
        return peer in self._seeds

    def absent_seeds(self, now: float) -> list[Contact]:
        """Seeds that are not in the table and may be tried again."""
        seeds = self._seeds.items()
        return [c for peer, c in seeds if self.table.get(peer) is None and not self._backoff.resting(peer, now)]

    def observed(self, peer: PeerId, host: str, port: int) -> None:
        """The host saw the peer at this address."""
        contact = self.book.observed(peer, host, port)
        if contact is None:
            self._trace.mark("dht.drop.address")
        else:
            self.table.moved(contact)

    def alive(self, contact: Contact, now: float) -> tuple[Contact, Heard]:
        """A contact has answered; returns it with the address that it is known by."""
        peer = contact.peer_id
        contact = self.book.answered(peer) or contact
        self._backoff.cleared(peer)
        return contact, self.table.heard(contact, now)

    def silent(self, peer: PeerId, now: float) -> None:
        """A contact has not answered."""
        self._backoff.failed(peer, now)
        self.book.silent(peer)
        self.table.failed(peer)

    def to_probe(self, peer: PeerId, now: float) -> Contact | None:
        """A request of `peer` has come: its contact if it should be asked to prove its address."""
        if self.table.touched(peer, now) or not self.table.wants(peer):
            return None
        contact = self.book.get(peer)
        if contact is None:
            self._trace.mark("dht.note.address_unknown")
        return contact

    def start(self, key: Key, now: float) -> list[Contact]:
        """Where a lookup of `key` begins: the nearest that are known; where these are few, whoever there is."""
        contacts = self.table.closest(key, self._settings.bucket_size)
        if len(contacts) < self._settings.replicas:
            everybody = {
                contact.peer: contact for contact in (*self.table.contacts(), *self._seeds.values(), *contacts)
            }
            contacts = list(everybody.values())
        return [contact for contact in contacts if not self._backoff.resting(contact.peer_id, now)]

    def acceptable(self, contacts: Sequence[Contact], now: float) -> tuple[Contact, ...]:
        """Those of the contacts that somebody named which are worth asking, with the best known address of each."""
        chosen: dict[PeerId, Contact] = {}
        for contact in contacts:
            peer = contact.peer_id
            if peer == self._me or peer in chosen:
                self._trace.mark("dht.drop.contact")
            elif not self._backoff.resting(peer, now):
                chosen[peer] = self.table.get(peer) or self.book.preferred(contact)
        return tuple(chosen.values())
