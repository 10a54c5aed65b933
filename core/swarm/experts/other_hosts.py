"""What other hosts say of the places of a mixture, and who comes first among several."""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from hashlib import blake2b
from math import inf
from random import Random
from typing import Final, NamedTuple

from core.base.bounds import remember
from core.base.content import DIGEST_BYTES
from core.base.ids import PeerId
from core.base.machine import Send
from core.dht.events import Found
from core.experts.grid import Place
from core.experts.hosting import Expert
from core.experts.table import bits_in
from core.swarm.experts.records import AGAIN_S, LIFETIME_S, ExpertRow, Mixture, claims_in, from_bits, rows_in
from core.swarm.words.messages import ExpertFileAsk, ExpertFileDenied

LATE_S: Final = 120.0
"""Time after the end of a host's word in which it still counts for whose experts are to be kept."""
GONE_S: Final = 1.5 * AGAIN_S
"""Time after the loss of a host in which its word still counts: if it lives, it has told its rows again by then."""
ANY_WORD: Final = ExpertFileAsk(bytes(DIGEST_BYTES))
"""For a file that nobody has: a host that refuses it has spoken."""
ANY_ANSWER: Final = ExpertFileDenied(ANY_WORD.digest, 0.0)
ASKED_MAX: Final = 2
"""Number of hosts of one place that are asked for a word at a time."""
UNHEARD_MAX: Final = 16
"""Number of hosts of one place that count which have not spoken to this peer: keys cost nothing, and each look at a
layer goes through all of their words."""
SPOKEN_MAX: Final = 4_096
"""Upper bound on the hosts that are remembered to have spoken to this peer."""


class PlaceClaim(NamedTuple):
    """A host's word that a place is its own.

    Attributes:
        place: The place in its layer.
        host: The host.
        lives: Whether it lives there, and has not only claimed it.
        first: When it claimed the place, Unix seconds, and its rank there: the least stays.
    """

    place: Place
    host: PeerId
    lives: bool
    first: tuple[int, bytes]


class OtherHosts:
    """What other hosts say of rows, as read last.

    Args:
        me: This peer, which is none of them.
        mixture: The places of each layer, and at how many of them one host counts.
        members: Who was in rounds with this peer.
        random: Draws among hosts.
    """

    def __init__(self, me: PeerId, mixture: Mixture, members: Container[PeerId], random: Random) -> None:
        self._me = me
        self._random = random
        self._grid, self._owner_most = mixture.grid, mixture.owner_most
        self.members = members
        self.read_at: dict[Expert, float] = {}
        """When each row was read, Unix seconds."""
        self._hosts: dict[Expert, Mapping[PeerId, tuple[float, Sequence[PlaceClaim]]]] = {}
        """By row and host: when its word ends, and the places that it names."""
        self._spoken: OrderedDict[PeerId, None] = OrderedDict()
        self._lost: OrderedDict[PeerId, float] = OrderedDict()

    def spoke(self, peer: PeerId) -> None:
        """A peer has sent this one a message about experts, which takes a pass."""
        remember(self._spoken, peer, None, SPOKEN_MAX)

    def lost(self, peer: PeerId, now: float) -> None:
        """The connection with a peer has ended."""
        remember(self._lost, peer, now, SPOKEN_MAX)

    def is_real(self, host: PeerId) -> bool:
        """Whether a host has spoken to this peer, or was in a round with it: made-up keys do neither."""
        return host in self._spoken or host in self.members

    def asked(self, hosts: Sequence[PeerId]) -> Sequence[Send[ExpertFileAsk]]:
        """Ask some hosts for a word."""
        return [Send(host, ANY_WORD) for host in self._random.sample(hosts, min(ASKED_MAX, len(hosts)))]

    def words(self, prefix: Place, found: Found) -> Iterator[tuple[PeerId, ExpertRow, float, int]]:
        """What hosts say of a row that was read, as far as it counts: of places of the grid, and of few strangers each.

        Args:
            prefix: The row's.
            found: What was read.

        Yields:
            The host, its word, when that ends, and the number with a bit for each coordinate at which it counts.
        """
        every = free = (1 << self._grid.width(prefix)) - 1
        unheard, words = Counter[int](), list(rows_in(found))
        self._random.shuffle(words)  # so each host counts in some of the looks
        for host, said, until in words:
            is_real = host == self._me or self.is_real(host)
            counts = (every if is_real else free) & (from_bits(said.hosted) | from_bits(said.claimed))
            if counts:
                yield host, said, until, counts
            for last in bits_in(0 if is_real else counts):
                unheard[last] += 1
                free &= ~(1 << last) if unheard[last] >= UNHEARD_MAX else -1

    def heard(self, row: Expert, found: Found, now: float) -> None:
        """Take what was read of a row."""
        self.read_at[row] = now
        layer, prefix = row
        hosts: dict[PeerId, tuple[float, Sequence[PlaceClaim]]] = {}
        for host, said, until, counts in self.words(prefix, found):
            lives = from_bits(said.hosted)
            since = claims_in(said, until)
            claims = [
                PlaceClaim(place, host, bool(lives >> place[-1] & 1), (since[place[-1]], rank((layer, place), host)))
                for place in ((*prefix, last) for last in bits_in(counts))
            ]
            hosts[host] = until, claims
        hosts.pop(self._me, None)
        self._hosts[row] = hosts

    def peers(self, now: float) -> set[PeerId]:
        """All hosts of late."""
        return {host for hosts in self._hosts.values() for host, (until, _) in hosts.items() if until > now - LATE_S}

    def living(self, now: float) -> Mapping[Expert, list[PeerId]]:
        """The experts that others host, or did of late, and who does: first who claimed it first."""
        living: defaultdict[Expert, list[tuple[int, bytes, PeerId]]] = defaultdict(list)
        for layer, claim in self._counted(now - LATE_S):
            if claim.lives:
                living[layer, claim.place].append((*claim.first, claim.host))
        return {expert: [host for _, _, host in sorted(hosts)] for expert, hosts in living.items()}

    def of_layer(self, layer: int, now: float) -> Mapping[Place, list["PlaceClaim"]]:
        """Who lives at each place of a layer, or claims it, as they say."""
        others: defaultdict[Place, list[PlaceClaim]] = defaultdict(list)
        for _, claim in self._counted(now, layer):
            others[claim.place].append(claim)
        return others

    def _counted(self, after: float, layer: int | None = None) -> Iterator[tuple[int, PlaceClaim]]:
        """Hosts at the places where they live, or which they claim: each at no more of a layer than it counts for.

        Where it lives counts first: of the rows that were read earlier some show claims that it has given up since.

        Args:
            after: What had ended by then is left out; Unix seconds.
            layer: The places of this one only; None: of all.

        Yields:
            The layer of each, and the claim.
        """
        of_hosts: defaultdict[tuple[PeerId, int], list[PlaceClaim]] = defaultdict(list)
        for (in_layer, _), hosts in self._hosts.items():
            for host, (until, claims) in hosts.items() if layer in {None, in_layer} else ():
                if self._end(host, until) > after:
                    of_hosts[host, in_layer] += claims
        for (_, in_layer), claims in of_hosts.items():
            counted = sorted(claims, key=lambda claim: (not claim.lives, claim.first[1]))[: self._owner_most]
            yield from ((in_layer, claim) for claim in counted)

    def _end(self, host: PeerId, until: float) -> float:
        """When a host's word ends: soon, if the host was lost after it was told."""
        lost = self._lost.get(host, -inf)
        return min(until, lost + GONE_S) if until - LIFETIME_S <= lost else until


def row_of(named: Expert) -> Expert:
    """The row in which a place lies."""
    return named[0], named[1][:-1]


def rank(named: Expert, host: PeerId) -> bytes:
    """Decides among hosts that were first at the same time."""
    return blake2b(bytes((named[0], *named[1])) + host, digest_size=8).digest()
