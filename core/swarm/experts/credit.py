"""Credit for hosting: trainers sign how many rows hosts have answered them today (`core.swarm.thanks`).

What the worst pair of a trainer and a host gains: what a trainer acknowledges counts up to the rows that the samples
take which rounds have counted for it, and up to what its line sends since the day began; what a host is thanked for, up
to what its line sends in that time.  So a trainer without samples credits nobody, and one that has trained can make a
friend look, each day, as if that friend had answered for all of its samples.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Final

from core.averaging.plan import Rates
from core.base.ids import PeerId
from core.dht.key_classes import Validator, classed_key
from core.dht.node import DhtNode
from core.swarm.experts.records import Mixture
from core.swarm.thanks import Thanks, is_thanks

THANKS: Final = "expert thanks"
"""The class of the key."""
UNKNOWN: Final = Rates(10**6, 10**6)
"""Bytes a second of a line that no round has measured."""
SCHEMAS: Mapping[str, Validator] = MappingProxyType({THANKS: is_thanks})
"""What may stand under the key of thanks."""


@dataclass(frozen=True, slots=True)
class KnownOfPeers:
    """What is known of peers beside what they say.

    Attributes:
        rates: Of a peer's line; None: nothing.
        samples: What rounds have counted for a peer in all.
    """

    rates: Callable[[PeerId], Rates | None]
    samples: Callable[[PeerId], int]


class ExpertCredit(Thanks):
    """Tells how many rows hosts have answered this peer, and adds up what all say.

    Args:
        me: This peer.
        mixture: What a row and a sample cost.
        directory: The DHT.
        received: Rows that were answered and of use, by host, since this program began; changes.
        random: Spreads what many do.
    """

    def __init__(
        self,
        me: PeerId,
        *,
        mixture: Mixture,
        directory: DhtNode,
        received: Counter[PeerId],
        random: Random,
    ) -> None:
        key = classed_key(THANKS, mixture.run)
        super().__init__(me, key=key, unit=1, directory=directory, received=received, random=random)
        self._mixture = mixture

    def credits(self, peers: Iterable[PeerId], known: KnownOfPeers, now: float) -> dict[PeerId, int]:
        """Rows that each of these has answered for others today, as far as their words can be true."""

        def sent(peer: PeerId, since_s: float) -> float:
            return (known.rates(peer) or UNKNOWN).up * since_s / self._mixture.row_bytes

        def got(peer: PeerId, since_s: float) -> float:
            return min(known.samples(peer) * self._mixture.sample_rows, sent(peer, since_s))

        return self.counted(peers, now, got=got, gave=sent)
