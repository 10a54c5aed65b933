"""Addresses of other peers, observed or by hearsay, and which of them the host has been told."""

from dataclasses import dataclass

from core.base.contact import HOST_CHARACTERS_MAX, Contact
from core.base.ids import PeerId


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
