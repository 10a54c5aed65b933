"""Where others see us: asking several of them, being asked, and what follows about our router's mapping."""

import math
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable
from random import Random
from typing import Any, Final

from core.base.ids import PeerId
from core.base.machine import Send, earliest
from core.nat.events import AddAddress, SendDatagramTo
from core.nat.messages import NONCE_BYTES, Address, Mapping, Mirror, Mirrored
from core.nat.peer_record import prefer_ipv4, reveals_mapping, same_subnet

MIRRORS_WANTED: Final = 4
MIRRORS_MIN: Final = 2
CANDIDATES_MAX: Final = 32
ADDRESSES_MAX: Final = 1024
ASK_S: Final = 2.0
REFRESH_S: Final = 120.0
KEEP_S: Final = 25.0
"""Routers forget a UDP mapping after 30 s in the worst common case (RFC 4787, 4.3, asks for two minutes)."""
SOON_S: Final = 5.0
AGAIN_S: Final = 1.0
"""A mirror has gone and what is left tells too little: ask again so soon."""
ANSWERS_PER_S: Final = 50.0


def mapping_of(seen: Collection[Address], own: Iterable[str], port: int) -> Mapping:
    """How our router maps a port, from where different peers see it.

    One liar among three or more is outvoted.

    Args:
        seen: One address for each peer that looked.
        own: The IP addresses of our interfaces.
        port: Our local port.
    """
    if not seen:
        return "unknown"
    (address, votes), *_ = Counter(seen).most_common(1)
    agreed = votes >= math.ceil(2 / 3 * len(seen))
    if agreed and address.host in set(own):
        return "none"
    if len(seen) < MIRRORS_MIN:
        return "unknown"
    if not agreed or votes < MIRRORS_MIN:
        return "symmetric"
    return "kept" if address.port == port else "moved"


class Mirroring:
    """Asks up to four peers, again every two minutes (which keeps the mapping alive too), and answers others.

    Args:
        random: For nonces and the choice of mirrors.
    """

    def __init__(self, *, random: Random) -> None:
        self._random = random
        self._candidates: OrderedDict[PeerId, Address] = OrderedDict()
        self._asked: dict[bytes, tuple[PeerId, float, bool]] = {}
        """By nonce: whom, when, and whether it was its second port."""
        self._seen: OrderedDict[tuple[PeerId, bool], Address] = OrderedDict()
        self._addresses: OrderedDict[PeerId, Address] = OrderedDict()
        self._own: tuple[str, ...] = ()
        self._port = 0
        self._ask_at: float | None = None
        self._keep_at: float | None = None
        self._tokens = ANSWERS_PER_S
        self._tokens_at = 0.0
        self.second_port = 0

    # --- about us ----------------------------------------------------------------------------------------------------

    @property
    def observations(self) -> list[Address]:
        """Where the last four mirrors saw us (one that stands alone counts twice, with its second port)."""
        return list(self._seen.values())

    @property
    def mapping(self) -> Mapping:
        """How our router maps the UDP port."""
        return mapping_of(self.observations, self._own, self._port)

    @property
    def external(self) -> Address | None:
        """Where most of them see us."""
        votes = Counter(self.observations).most_common(1)
        return votes[0][0] if votes else None

    def located(self, own: tuple[str, ...], port: int, now: float) -> None:
        """The network has changed: what was seen before no longer holds."""
        self._own, self._port = own, port
        self._seen.clear()
        self._asked.clear()
        self._ask_at, self._keep_at = now, None

    def readdressed(self, own: tuple[str, ...]) -> None:
        """The same network, but our interfaces have other addresses beside."""
        self._own = own

    def candidate(self, peer: PeerId, address: Address) -> None:
        """A peer that could look."""
        if peer not in self._candidates and len(self._candidates) >= CANDIDATES_MAX:
            self._candidates.popitem(last=False)
        self._candidates[peer] = prefer_ipv4(self._candidates.get(peer), address)

    def again(self, now: float) -> None:
        """Ask now."""
        self._ask_at = now

    @property
    def deadline(self) -> float | None:
        """When to be woken."""
        return earliest(self._ask_at, self._keep_at, *(at + ASK_S for _, at, _ in self._asked.values()))

    def tick(self, now: float) -> list[Send[Mirror] | AddAddress | SendDatagramTo]:
        """Ask when it is time."""
        for nonce in [nonce for nonce, (_, at, _) in self._asked.items() if at + ASK_S <= now]:
            peer, _, second = self._asked.pop(nonce)
            if self._seen.pop((peer, second), None) is not None and self.mapping == "unknown":
                self._ask_at = earliest(self._ask_at, now + AGAIN_S)
        if self._ask_at is None or now < self._ask_at or not self._port:
            return self._keep_alive(now)
        # Mirrors in our own house see our inside address, which says nothing about the router.
        usable = [
            (peer, address)
            for peer, address in self._candidates.items()
            if reveals_mapping(address.host, self._own) and not same_subnet(address.host, self._own)
        ]
        chosen = self._random.sample(usable, min(MIRRORS_WANTED, len(usable)))
        self._keep_at = now + KEEP_S
        self._ask_at = now + (REFRESH_S if len(chosen) >= MIRRORS_MIN else SOON_S)
        return [output for peer, address in chosen for output in self.ask(peer, address, now)]

    def _keep_alive(self, now: float) -> list[Send[Mirror] | AddAddress | SendDatagramTo]:
        """One mirror is asked between the rounds, so that the router does not forget the port."""
        if self._keep_at is None or now < self._keep_at:
            return []
        self._keep_at = now + KEEP_S
        known = [peer for peer, second in self._seen if not second and peer in self._candidates]
        if not known or self.mapping == "none":
            return []
        peer = self._random.choice(known)
        return self.ask(peer, self._candidates[peer], now)

    def ask(self, peer: PeerId, address: Address, now: float) -> list[Send[Mirror] | AddAddress | SendDatagramTo]:
        """Ask this one."""
        return [AddAddress(peer, address), Send(peer, self._mirror(peer, now, second=False))]

    def answered(self, sender: PeerId, message: Mirrored, now: float) -> tuple[float | None, list[Any]]:
        """The round trip in seconds if we had asked, and what to send next."""
        peer, at, second = self._asked.get(message.nonce, (None, 0.0, False))
        if peer != sender:
            return None, []
        del self._asked[message.nonce]
        if not reveals_mapping(message.seen.host, self._own):
            return now - at, []
        self._seen.pop((sender, second), None)
        self._seen[sender, second] = message.seen
        if len(self._seen) > MIRRORS_WANTED:
            self._seen.popitem(last=False)
        alone = len({peer for peer, _ in self._seen}) < MIRRORS_MIN
        if not alone:  # nobody has two votes
            for key in [key for key in self._seen if key[1]]:
                del self._seen[key]
        if second or not message.second_port or not alone:
            return now - at, []
        there = Address(self._candidates[sender].host, message.second_port) if sender in self._candidates else None
        if there is None:
            return now - at, []
        return now - at, [SendDatagramTo(sender, there, self._mirror(sender, now, second=True), fresh=False)]

    def _mirror(self, peer: PeerId, now: float, *, second: bool) -> Mirror:
        nonce = self._random.randbytes(NONCE_BYTES)
        self._asked[nonce] = (peer, now, second)
        return Mirror(nonce)

    # --- about others ------------------------------------------------------------------------------------------------

    def seen(self, peer: PeerId, address: Address) -> None:
        """The host saw that peer's datagrams come from there."""
        self._addresses.pop(peer, None)
        self._addresses[peer] = address
        if len(self._addresses) > ADDRESSES_MAX:
            self._addresses.popitem(last=False)

    def address_of(self, peer: PeerId) -> Address | None:
        """From where its datagrams come."""
        return self._addresses.get(peer)

    def asked(self, sender: PeerId, message: Mirror, load: int, now: float) -> list[Send[Mirrored]]:
        """Answer, unless too many ask."""
        self._tokens = min(ANSWERS_PER_S, self._tokens + ANSWERS_PER_S * max(0.0, now - self._tokens_at))
        self._tokens_at = now
        address = self._addresses.get(sender)
        if address is None or self._tokens < 1 or not message.pad:
            return []
        self._tokens -= 1
        return [Send(sender, Mirrored(message.nonce, address, self.second_port, load))]
