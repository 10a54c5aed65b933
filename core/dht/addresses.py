"""Where peers are, by our own observation or by hearsay, and which of it the host has been told."""

from dataclasses import dataclass

from core.base.ids import PeerId
from core.dht.messages import HOST_CHARACTERS_MAX, Contact


@dataclass(slots=True)
class _Address:
    contact: Contact
    observed: bool
    told: bool


class PeerAddresses:
    """Addresses of the peers met last.  Hearsay never replaces an observation that still works.

    Args:
        limit: Peers remembered.  The host should remember at least as many.
    """

    def __init__(self, *, limit: int = 512) -> None:
        self._limit = limit
        self._addresses: dict[PeerId, _Address] = {}

    def get(self, peer: PeerId) -> Contact | None:
        """Where `peer` is to be reached, as far as we know."""
        address = self._addresses.get(peer)
        return None if address is None else address.contact

    def preferred(self, contact: Contact) -> Contact:
        """A contact that somebody named, or the address at which we have seen that peer ourselves."""
        address = self._addresses.get(contact.peer_id)
        return address.contact if address is not None and address.observed else contact

    def observed(self, peer: PeerId, host: str, port: int) -> Contact | None:
        """The host saw `peer` at this address; where it is best reached now.

        None if nobody else could be told such an address.  One of IPv6 does not replace one of IPv4 that works, which
        more peers can call.
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
        """`peer` answered what was sent to its address, which proves the address."""
        address = self._addresses.get(peer)
        if address is None:
            return None
        address.observed = True
        return address.contact

    def silent(self, peer: PeerId) -> None:
        """`peer` no longer answers at its address: from now on hearsay may replace it."""
        address = self._addresses.get(peer)
        if address is not None:
            address.observed = False

    def before_send(self, contact: Contact) -> Contact | None:
        """A message to this contact is about to leave: the contact to tell the host of, if it does not know it yet."""
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
