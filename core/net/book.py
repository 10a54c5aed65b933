"""Where peers are to be reached, and how long a peer that could not be reached is left alone."""

from collections import OrderedDict
from random import Random

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


class CallBackoff:
    """Rests between attempts to reach one peer: each twice as long as the one before, with jitter.

    Args:
        first_s: The first rest.
        longest_s: No rest is longer, jitter apart.
    """

    def __init__(self, *, first_s: float = 0.25, longest_s: float = 30.0) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._failures = 0
        self._until = 0.0

    def failed(self, now: float, random: Random) -> None:
        """It did not work."""
        rest_s = min(self._first_s * 2 ** min(self._failures, 30), self._longest_s)
        self._failures += 1
        self._until = now + rest_s * random.uniform(0.5, 1.5)

    def succeeded(self) -> None:
        """It worked, and lasted."""
        self._failures = 0
        self._until = 0.0

    def wait_s(self, now: float) -> float:
        """How long to wait before the next attempt."""
        return max(0.0, self._until - now)
