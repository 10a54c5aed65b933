"""Mirroring: asking other peers where they see this one, answering them, and inferring the router's mapping."""

import math
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable
from random import Random
from typing import Final

from core.base.bounds import remember
from core.base.ids import PeerId
from core.base.machine import Send, earliest
from core.base.rate_limit import RateLimit
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
"""Seconds between keep-alives.  Routers forget a UDP mapping after 30 s in the worst common case (RFC 4787, 4.3, asks
for two minutes)."""
SOON_S: Final = 5.0
AGAIN_S: Final = 1.0
"""Seconds until the next question after a mirror has gone and those left tell too little."""
ANSWERS_PER_S: Final = 1.0
ANSWERS_BURST: Final = 10
"""What one peer gets: an honest one asks a lonely mirror once in `SOON_S`, and after a change a few times more.  Of one
limit for all, 50 a second, a single member with a line of 100 kbit/s left nothing to others."""


def mapping_of(seen: Collection[Address], own: Iterable[str], port: int) -> Mapping:
    """Infer how the router maps a port, from where different peers see it.

    One liar among three or more is outvoted.

    Args:
        seen: One observed address for each peer that was asked.
        own: The IP addresses of this computer's interfaces.
        port: The local port.
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
    """Asks up to four peers where they see this one, again every two minutes, which keeps the mapping alive too.

    Args:
        random: Draws nonces and chooses mirrors.
    """

    def __init__(self, *, random: Random) -> None:
        self._random = random
        self._candidates: OrderedDict[PeerId, Address] = OrderedDict()
        self._asked: dict[bytes, tuple[PeerId, float, bool]] = {}
        """By nonce: the mirror, the time, and whether its second port was asked."""
        self._seen: OrderedDict[tuple[PeerId, bool], Address] = OrderedDict()
        self._own: tuple[str, ...] = ()
        self._port = 0
        self._ask_at: float | None = None
        self._keep_at: float | None = None

    @property
    def observations(self) -> list[Address]:
        """Addresses at which the last four mirrors saw this peer; a single mirror counts with both its ports."""
        return list(self._seen.values())

    @property
    def mapping(self) -> Mapping:
        """How the router maps the UDP port."""
        return mapping_of(self.observations, self._own, self._port)

    @property
    def external(self) -> Address | None:
        """The address at which most mirrors see this peer; None: none has answered."""
        votes = Counter(self.observations).most_common(1)
        return votes[0][0] if votes else None

    def located(self, own: tuple[str, ...], port: int, now: float) -> None:
        """Begin anew after a change of network.

        Args:
            own: The IP addresses of this computer's interfaces.
            port: The local UDP port.
            now: Unix seconds.
        """
        self._own, self._port = own, port
        self._seen.clear()
        self._asked.clear()
        self._ask_at, self._keep_at = now, None

    def readdressed(self, own: tuple[str, ...]) -> None:
        """Note other interface addresses in the same network."""
        self._own = own

    def candidate(self, peer: PeerId, address: Address) -> None:
        """Remember a peer that could be asked.

        Args:
            peer: The candidate.
            address: Its address.
        """
        if peer not in self._candidates and len(self._candidates) >= CANDIDATES_MAX:
            self._candidates.popitem(last=False)
        self._candidates[peer] = prefer_ipv4(self._candidates.get(peer), address)

    def again(self, now: float) -> None:
        """Make the next `tick` ask at once."""
        self._ask_at = now

    @property
    def deadline(self) -> float | None:
        """Time at which `tick` is due, Unix seconds; None: nothing is pending."""
        return earliest(self._ask_at, self._keep_at, *(at + ASK_S for _, at, _ in self._asked.values()))

    def tick(self, now: float) -> list[Send[Mirror] | AddAddress | SendDatagramTo]:
        """Ask several mirrors when it is time, and one between the rounds to keep the mapping alive."""
        for nonce in [nonce for nonce, (_, at, _) in self._asked.items() if at + ASK_S <= now]:
            peer, _, second = self._asked.pop(nonce)
            if self._seen.pop((peer, second), None) is not None and self.mapping == "unknown":
                self._ask_at = earliest(self._ask_at, now + AGAIN_S)
        if self._ask_at is None or now < self._ask_at or not self._port:
            return self._keep_alive(now)
        # Mirrors in the same network see the inside address, which says nothing about the router.
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
        """Ask one mirror between the rounds, so that the router does not forget the mapping."""
        if self._keep_at is None or now < self._keep_at:
            return []
        self._keep_at = now + KEEP_S
        known = [peer for peer, second in self._seen if not second and peer in self._candidates]
        if not known or self.mapping == "none":
            return []
        peer = self._random.choice(known)
        return self.ask(peer, self._candidates[peer], now)

    def ask(self, peer: PeerId, address: Address, now: float) -> list[Send[Mirror] | AddAddress | SendDatagramTo]:
        """Ask one mirror.

        Args:
            peer: The mirror.
            address: Its address.
            now: Unix seconds.
        """
        return [AddAddress(peer, address), Send(peer, self._mirror(peer, now, second=False))]

    def answered(self, sender: PeerId, message: Mirrored, now: float) -> tuple[float | None, list[SendDatagramTo]]:
        """Take a mirror's answer.

        Args:
            sender: The mirror.
            message: Its answer.
            now: Unix seconds.

        Returns:
            The round trip in seconds, None if the mirror was not asked; and outputs.
        """
        peer, at, second = self._asked.get(message.nonce, (None, 0.0, False))
        if peer != sender:
            return None, []
        del self._asked[message.nonce]
        if not reveals_mapping(message.seen.host, self._own):
            return now - at, []
        remember(self._seen, (sender, second), message.seen, MIRRORS_WANTED)
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


class MirrorService:
    """Tells other peers where this one sees them, within `ANSWERS_PER_S` for each."""

    def __init__(self) -> None:
        self.second_port = 0
        """UDP port at which this peer mirrors too; 0: none."""
        self._addresses: OrderedDict[PeerId, Address] = OrderedDict()
        self._rate_limit = RateLimit[PeerId](rate_per_s=ANSWERS_PER_S, burst=ANSWERS_BURST)

    def seen(self, peer: PeerId, address: Address) -> None:
        """Note the source address of a peer's datagrams.

        Args:
            peer: The sender.
            address: Where the host saw its datagrams come from.
        """
        remember(self._addresses, peer, address, ADDRESSES_MAX)

    def address_of(self, peer: PeerId) -> Address | None:
        """The source address of a peer's datagrams; None: not known."""
        return self._addresses.get(peer)

    def asked(self, sender: PeerId, message: Mirror, load: int, now: float) -> list[Send[Mirrored]]:
        """Answer a peer that asks where it is seen.

        Args:
            sender: The peer that asks.
            message: Its question.
            load: This peer's load as a relay, percent.
            now: Unix seconds.
        """
        address = self._addresses.get(sender)
        if address is None or not message.pad or not self._rate_limit.admits(sender, now):
            return []
        return [Send(sender, Mirrored(message.nonce, address, self.second_port, load))]
