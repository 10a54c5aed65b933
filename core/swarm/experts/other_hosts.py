"""What other hosts say of the places of a mixture, and who comes first among several."""

from collections import OrderedDict, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from hashlib import blake2b
from math import inf
from random import Random
from typing import Final, NamedTuple

from core.base.content import DIGEST_BYTES
from core.base.ids import PeerId
from core.base.machine import Send
from core.dht.events import Found
from core.experts.grid import Place
from core.experts.hosting import Expert
from core.swarm.experts.records import AGAIN_S, LIFETIME_S, ExpertRow, claims_in, coordinates_in, rows_in
from core.swarm.presence.ancestry import keep
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
SPOKEN_MAX: Final = 4_096
"""Upper bound on the hosts that are remembered to have spoken to this peer."""


class PlaceClaim(NamedTuple):
    """A host's word that a place is its own.

    Attributes:
        host: The host.
        lives: Whether it lives there, and has not only claimed it.
        first: When it claimed the place, Unix seconds, and its rank there: the least stays.
    """

    host: PeerId
    lives: bool
    first: tuple[int, bytes]


class OtherHosts:
    """What other hosts say of rows, as read last.

    Args:
        me: This peer, which is none of them.
        owner_most: Number of places of a layer at which one host counts.
        members: Who was in rounds with this peer.
    """

    def __init__(self, me: PeerId, owner_most: int, members: Container[PeerId]) -> None:
        self._me = me
        self._owner_most = owner_most
        self.members = members
        self.read_at: dict[Expert, float] = {}
        """When each row was read, Unix seconds."""
        self._hosts: dict[Expert, Mapping[PeerId, tuple[ExpertRow, float]]] = {}
        self._spoken: OrderedDict[PeerId, None] = OrderedDict()
        self._lost: OrderedDict[PeerId, float] = OrderedDict()

    def spoke(self, peer: PeerId) -> None:
        """A peer has sent this one a message about experts, which takes a pass."""
        keep(self._spoken, peer, None, at_most=SPOKEN_MAX)

    def lost(self, peer: PeerId, now: float) -> None:
        """The connection with a peer has ended."""
        keep(self._lost, peer, now, at_most=SPOKEN_MAX)

    def is_real(self, host: PeerId) -> bool:
        """Whether a host has spoken to this peer, or was in a round with it: made-up keys do neither."""
        return host in self._spoken or host in self.members

    def asked(self, hosts: Sequence[PeerId], random: Random) -> Sequence[Send[ExpertFileAsk]]:
        """Ask some hosts for a word."""
        return [Send(host, ANY_WORD) for host in random.sample(hosts, min(ASKED_MAX, len(hosts)))]

    def heard(self, row: Expert, found: Found, now: float) -> None:
        """Take what was read of a row."""
        self.read_at[row] = now
        self._hosts[row] = {host: (said, until) for host, said, until in rows_in(found) if host != self._me}

    def peers(self, now: float) -> set[PeerId]:
        """All hosts of late."""
        return {host for hosts in self._hosts.values() for host, (_, until) in hosts.items() if until > now - LATE_S}

    def living(self, now: float) -> Mapping[Expert, list[PeerId]]:
        """The experts that others host, or did of late, and who does: first who claimed it first."""
        living: defaultdict[Expert, list[tuple[int, bytes, PeerId]]] = defaultdict(list)
        for expert, claim in self._counted(now - LATE_S):
            if claim.lives:
                living[expert].append((*claim.first, claim.host))
        return {expert: [host for _, _, host in sorted(hosts)] for expert, hosts in living.items()}

    def of_layer(self, layer: int, now: float) -> Mapping[Place, list["PlaceClaim"]]:
        """Who lives at each place of a layer, or claims it, as they say."""
        others: defaultdict[Place, list[PlaceClaim]] = defaultdict(list)
        for (_, place), claim in self._counted(now, layer):
            others[place].append(claim)
        return others

    def _counted(self, after: float, layer: int | None = None) -> Iterator[tuple[Expert, "PlaceClaim"]]:
        """Hosts at the places where they live, or which they claim: each at no more of a layer than it counts for.

        Where it lives counts first: of the rows that were read earlier some show claims that it has given up since.

        Args:
            after: What had ended by then is left out; Unix seconds.
            layer: The places of this one only; None: of all.
        """
        of_hosts: defaultdict[tuple[PeerId, int], list[tuple[Expert, PlaceClaim]]] = defaultdict(list)
        for (in_layer, prefix), hosts in self._hosts.items():
            for host, (said, until) in hosts.items() if layer in {None, in_layer} else ():
                if self._end(host, until) > after:
                    lives = set(coordinates_in(said.hosted))
                    for last, since in claims_in(said, until).items():
                        expert = (in_layer, (*prefix, last))
                        claim = PlaceClaim(host, last in lives, (since, rank(expert, host)))
                        of_hosts[host, in_layer].append((expert, claim))
        for claims in of_hosts.values():
            yield from sorted(claims, key=lambda one: (not one[1].lives, one[1].first[1]))[: self._owner_most]

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
