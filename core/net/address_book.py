"""Where peers are to be reached."""

from collections import OrderedDict

from core.base.ids import PeerId

Address = tuple[str, int]
"""Host (an IP address or a name) and port."""
PEERS_MAX = 4096
ADDRESSES_MAX = 2
"""Of each family."""


class AddressBook:
    """The last addresses of each peer, newest first; whoever was heard of longest ago is forgotten first."""

    def __init__(self) -> None:
        self._addresses: OrderedDict[PeerId, tuple[Address, ...]] = OrderedDict()

    def learn(self, peer: PeerId, address: Address, *, hearsay: bool = False) -> bool:
        """Note an address, behind the best one if it is `hearsay`; whether it is news."""
        known = self._addresses.get(peer, ())
        best = known[:1] if hearsay else ()
        self._put(peer, (*best, address, *known))
        return known[:1] != (address,)

    def saw(self, peer: PeerId, address: Address) -> None:
        """Something came from there.  IPv6 goes behind an IPv4 address that is known: more can call that one."""
        known = self._addresses.get(peer, ())
        behind = next((n for n, other in enumerate(known) if _is_ipv6(other)), len(known)) if _is_ipv6(address) else 0
        self._put(peer, (*known[:behind], address, *known[behind:]))

    def addresses(self, peer: PeerId) -> tuple[Address, ...]:
        """Where to try, best first."""
        return self._addresses.get(peer, ())

    def _put(self, peer: PeerId, addresses: tuple[Address, ...]) -> None:
        kept: list[Address] = []
        for address in dict.fromkeys(addresses):
            if sum(_is_ipv6(other) == _is_ipv6(address) for other in kept) < ADDRESSES_MAX:
                kept.append(address)
        self._addresses[peer] = tuple(kept)
        self._addresses.move_to_end(peer)
        if len(self._addresses) > PEERS_MAX:
            self._addresses.popitem(last=False)


def _is_ipv6(address: Address) -> bool:
    return ":" in address[0]
