"""Decides which ways to a peer are worth trying, in which order and when."""

from dataclasses import dataclass
from random import Random
from typing import Final

from core.nat.events import BirthdaySide, Way
from core.nat.messages import OFFERED_MAX, Address, Mapping, PunchOffer
from core.nat.peer_record import (
    AddressCandidate,
    CandidateKind,
    PeerRecord,
    is_callable,
    is_private,
    is_public,
    same_subnet,
)

STAGGER_S: Final = 0.15
FALLBACK_S: Final = 0.3
"""Seconds without an answer after which relay and punch begin too."""
TRIES_MAX: Final = 6
BIRTHDAY_PORTS: Final = 256
BIRTHDAY_TRIES: Final = 1024
"""With 256 open ports of 64,512 and 1,024 tries, 98 % of the punches hit one."""
_INDEPENDENT: Final = frozenset({"none", "kept", "moved"})
_WAYS: Final = {
    CandidateKind.LAN: Way.LAN,
    CandidateKind.IPV6: Way.IPV6,
    CandidateKind.PUBLIC: Way.PUBLIC,
    CandidateKind.MAPPED: Way.MAPPED,
}


@dataclass(frozen=True, slots=True)
class PlannedDial:
    """An address to call, and the delay after the beginning."""

    way: Way
    address: Address
    after_s: float


@dataclass(frozen=True, slots=True)
class PunchPlan:
    """Addresses to punch; empty: a punch cannot succeed."""

    tcp: tuple[Address, ...]
    udp: tuple[Address, ...]
    birthday: BirthdaySide | None

    @property
    def hopeless(self) -> bool:
        """Whether only a relay can connect the two peers."""
        return not (self.tcp or self.udp)


def plan_dials(mine: PeerRecord, theirs: PeerRecord) -> list[PlannedDial]:
    """Choose addresses of the other peer to call, from the best to the worst.

    LAN addresses are called only if both peers may be in the same network: a foreign 192.168.1.10 may be a printer
    here.

    Args:
        mine: This peer's record.
        theirs: The other peer's record.
    """
    ours = [listed.address.host for listed in mine.addresses]
    has_ipv6 = any(listed.kind is CandidateKind.IPV6 for listed in mine.addresses)
    useful = [listed for listed in theirs.addresses if _useful(listed, mine, theirs, ours=ours, has_ipv6=has_ipv6)]
    useful.sort(key=lambda listed: _WAYS[listed.kind])
    return [
        PlannedDial(_WAYS[listed.kind], listed.address, number * STAGGER_S)
        for number, listed in enumerate(dict.fromkeys(useful).keys())
        if number < TRIES_MAX
    ]


def relay_after_s(mine: PeerRecord, theirs: PeerRecord) -> float:
    """Delay before relay and punch begin, seconds: 0 if no call is likely to succeed.

    Args:
        mine: This peer's record.
        theirs: The other peer's record.
    """
    ways = [one.way for one in plan_dials(mine, theirs)]
    likely = any(theirs.reachable_ipv6 if way is Way.IPV6 else theirs.reachable for way in ways)
    return FALLBACK_S if likely else 0.0


def punch_plan(mine: PunchOffer, theirs: PunchOffer, *, random: Random) -> PunchPlan:
    """Choose addresses to punch, given both sides' offers.

    Two routers with endpoint-independent mapping let both TCP and UDP through; a symmetric router meets an
    endpoint-independent one only by chance (birthday), and two symmetric ones never meet.  IPv6 is not translated, and
    there are only firewalls to open.

    Args:
        mine: This peer's offer.
        theirs: The other peer's offer.
        random: Draws the ports of a birthday punch.
    """
    ipv6 = _ipv6(mine, theirs)
    neighbours = _externals(mine) == _externals(theirs)
    inside = tuple(address for address in theirs.tcp if neighbours and _near(address, mine.tcp))
    udp_inside = tuple(address for address in theirs.udp if neighbours and _near(address, mine.udp))
    tcp = inside if not _meet(mine.tcp_mapping, theirs.tcp_mapping) else _reachable(theirs.tcp, inside, mine)
    tcp = tuple(dict.fromkeys((*ipv6, *tcp)))
    if not (mine.quic and theirs.quic):
        return PunchPlan(tcp, (), None)
    udp = _reachable(theirs.udp, udp_inside, mine)
    if _meet(mine.udp_mapping, theirs.udp_mapping):
        return PunchPlan(tcp, tuple(dict.fromkeys((*ipv6, *udp))), None)
    external = tuple(address for address in udp if not is_private(address.host)) or udp
    if mine.udp_mapping == "symmetric" and theirs.udp_mapping in _INDEPENDENT and external:
        return PunchPlan(tcp, external[:1], BirthdaySide(BIRTHDAY_PORTS, ()))
    if theirs.udp_mapping == "symmetric" and mine.udp_mapping in _INDEPENDENT and external:
        ports = tuple(random.sample(range(1024, 65536), BIRTHDAY_TRIES))
        return PunchPlan(tcp, external[:1], BirthdaySide(0, ports))
    return PunchPlan(tcp, (*ipv6, *udp_inside), None)


def _meet(mine: Mapping, theirs: Mapping) -> bool:
    """Whether each side knows from where the other's packets will come.  An unknown mapping is worth a try."""
    pair = {mine, theirs}
    return "symmetric" not in pair or pair == {"symmetric", "none"}


def _reachable(addresses: tuple[Address, ...], inside: tuple[Address, ...], mine: PunchOffer) -> tuple[Address, ...]:
    """Keep public addresses and those of a common network; other private ones only in a laboratory."""
    sound = [address for address in addresses if is_callable(address.host)]
    kept = [address for address in sound if address in inside or is_public(address.host) or not _externals(mine)]
    return tuple(kept)[:OFFERED_MAX]


def _ipv6(mine: PunchOffer, theirs: PunchOffer) -> tuple[Address, ...]:
    """The other peer's IPv6 addresses, if both sides have some."""
    return tuple(address for address in theirs.ipv6 if mine.ipv6 and ":" in address.host and is_public(address.host))


def _externals(offer: PunchOffer) -> set[str]:
    return {address.host for address in (*offer.tcp, *offer.udp) if is_public(address.host) and ":" not in address.host}


def _near(address: Address, ours: tuple[Address, ...]) -> bool:
    return is_private(address.host) and same_subnet(address.host, [own.host for own in ours])


def _useful(listed: AddressCandidate, mine: PeerRecord, theirs: PeerRecord, *, ours: list[str], has_ipv6: bool) -> bool:
    host = listed.address.host
    match listed.kind:
        case CandidateKind.LAN:
            known = mine.external != "" and theirs.external != ""
            return mine.external == theirs.external if known else same_subnet(host, ours)
        case CandidateKind.IPV6:
            return has_ipv6
        case CandidateKind.PUBLIC:
            return (theirs.reachable and _may_be_external(host, mine)) or same_subnet(host, ours)
        case _:
            return _may_be_external(host, mine) or same_subnet(host, ours)


def _may_be_external(host: str, mine: PeerRecord) -> bool:
    """Whether an address may lie outside: a private one only if this peer has no public address either."""
    return is_public(host) or not is_public(mine.external)
