"""Credit for sharing: members sign how many checked bytes of shards they got today (`core.swarm.thanks`).

What the worst gains: what one member acknowledges counts up to the whole data set a day, for a pass needs each shard
once, and up to what its line takes since the day began; what one is thanked for, up to what its line gives in that
time.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from random import Random
from types import MappingProxyType
from typing import Final

from core.averaging.plan import Rates
from core.base.ids import PeerId
from core.dht.key_classes import Validator, classed_key
from core.dht.node import DhtNode
from core.swarm.thanks import Thanks, is_thanks

THANKS: Final = "shard thanks"
"""The class of the key."""
UNIT_BYTES: Final = 1024
UNKNOWN: Final = Rates(10**6, 10**6)
"""Bytes a second of a line that no round has measured."""

SCHEMAS: Mapping[str, Validator] = MappingProxyType({THANKS: is_thanks})
"""What may stand under the key of thanks."""


class ShardCredit(Thanks):
    """Tells how many bytes of shards this peer got, and adds up what all say.

    Args:
        me: This peer.
        run: The manifest's id.
        data_bytes: Length of all shards of the collaboration.
        directory: The DHT.
        received: Bytes of checked chunks by giver, since this program began; grows.
        random: Spreads what many do.
    """

    def __init__(
        self,
        me: PeerId,
        *,
        run: bytes,
        data_bytes: int,
        directory: DhtNode,
        received: Counter[PeerId],
        random: Random,
    ) -> None:
        key = classed_key(THANKS, run)
        super().__init__(me, key=key, unit=UNIT_BYTES, directory=directory, received=received, random=random)
        self._data_bytes = data_bytes

    def credits(
        self, peers: Iterable[PeerId], rates: Callable[[PeerId], Rates | None], now: float
    ) -> dict[PeerId, int]:
        """Bytes that each of these has given to others today, as far as their words can be true.

        Args:
            peers: Who is asked about.
            rates: What is known of a peer's line; None: nothing.
            now: Unix seconds.
        """
        return self.counted(
            peers,
            now,
            got=lambda peer, since_s: min(self._data_bytes, (rates(peer) or UNKNOWN).down * since_s),
            gave=lambda peer, since_s: (rates(peer) or UNKNOWN).up * since_s,
        )
