"""Address book: where peers are to be reached."""

from collections import OrderedDict

from core.base.bounds import remember
from core.base.ids import PeerId

Address = tuple[str, int]
"""Host (an IP address or a name) and port."""
PEERS_MAX = 4096
ADDRESSES_MAX = 2
"""Number of addresses of each family kept for a peer."""


class AddressBook:
    """The last addresses of each peer, newest first; the peer heard of longest ago is forgotten first."""

    def __init__(self) -> None:
        self._addresses: OrderedDict[PeerId, tuple[Address, ...]] = OrderedDict()

    def learn(self, peer: PeerId, address: Address, *, hearsay: bool = False) -> bool:
        """Note an address.

        Args:
            peer: The peer.
            address: Its address.
            hearsay: A third peer named it: it goes behind the best known address.

        Returns:
            Whether it was not the best known address before.
        """
        known = self._addresses.get(peer, ())
        best = known[:1] if hearsay else ()
        self._put(peer, (*best, address, *known))
        return known[:1] != (address,)

    def saw(self, peer: PeerId, address: Address) -> None:
        """Note the source of a datagram.  IPv6 goes behind a known IPv4 address, which more peers can call.

        Args:
            peer: The sender.
            address: Where its datagram came from.
        """
        known = self._addresses.get(peer, ())
        behind = next((n for n, other in enumerate(known) if _is_ipv6(other)), len(known)) if _is_ipv6(address) else 0
        self._put(peer, (*known[:behind], address, *known[behind:]))

    def addresses(self, peer: PeerId) -> tuple[Address, ...]:
        """Addresses of a peer in the order in which to try them."""
        return self._addresses.get(peer, ())

    def _put(self, peer: PeerId, addresses: tuple[Address, ...]) -> None:
        kept: list[Address] = []
        for address in dict.fromkeys(addresses):
            if sum(_is_ipv6(other) == _is_ipv6(address) for other in kept) < ADDRESSES_MAX:
                kept.append(address)
        remember(self._addresses, peer, tuple(kept), PEERS_MAX)


def _is_ipv6(address: Address) -> bool:
    return ":" in address[0]
