"""Credit for sharing: members tell in the DHT, signed, how many checked bytes of shards they got today, and from whom.

Nobody can attest this but the one who got them, and a record of the DHT is signed by its owner.  It stands beside what
people give in samples and is never added to it.

What the worst gains: two friends who trade in words only.  What one member acknowledges counts up to the whole data
set a day, for a pass needs each shard once, and up to what its line takes since the day began; what one is thanked for,
up to what its line gives in that time.  Who wants more needs more accounts, and gets a number, nothing else.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.averaging.plan import Rates
from core.base.ids import PeerId
from core.base.machine import earliest
from core.base.problems import WireProblem
from core.base.wire import Schema
from core.dht.events import Found
from core.dht.key_classes import Validator, classed_key, own_records
from core.dht.messages import VALUE_BYTES_MAX
from core.swarm.shards.news import ShardDirectory
from core.swarm.words.outputs import Output

THANKS: Final = "shard thanks"
"""The class of the key."""
MARK_BYTES: Final = 8
"""Bytes of a giver's id, enough among the members that are here."""
GIVERS_MAX: Final = 24
"""Number of givers in one record, those that gave most."""
UNIT_BYTES: Final = 1024
DAY_S: Final = 86_400.0
LIFETIME_S: Final = DAY_S
AGAIN_S: Final = 600.0
"""Time between two records of one member, and between two reads."""
UNKNOWN: Final = Rates(10**6, 10**6)
"""Bytes a second of a line that no round has measured."""

Mark = Annotated[bytes, Meta(min_length=MARK_BYTES, max_length=MARK_BYTES)]
Given = Annotated[tuple[tuple[Mark, Annotated[int, Meta(ge=1, lt=2**40)]], ...], Meta(max_length=GIVERS_MAX)]


class ShardThanks(msgspec.Struct, frozen=True, array_like=True):
    """What a member got from others in one day."""

    day: Annotated[int, Meta(ge=0, lt=10**6)]
    """Days since 1970, UTC."""
    given: Given
    """By the giver's mark: units of 1,024 bytes, each chunk of which was checked."""


_SCHEMA: Final = Schema(ShardThanks, named="thanks for shards", bytes_max=VALUE_BYTES_MAX)


is_thanks: Validator = own_records(_SCHEMA.decode)
SCHEMAS: Mapping[str, Validator] = MappingProxyType({THANKS: is_thanks})
"""What may stand under the key of thanks."""


class ShardCredit:
    """Tells what this peer got, and adds up what all say.

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
        directory: ShardDirectory,
        received: Counter[PeerId],
        random: Random,
    ) -> None:
        self._me = me
        self._key = classed_key(THANKS, run)
        self._data_bytes = data_bytes
        self._directory = directory
        self._received = received
        self._random = random
        self._day = 0
        self._before: Counter[bytes] = Counter()
        """Bytes of `received` from an earlier day, by mark; below 0: an earlier run of this day has told them."""
        self._told: dict[PeerId, ShardThanks] = {}
        self._has_told = False
        """Whether this run has told anything: then its own word is no earlier run's."""
        self._due_at: float | None = None

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do."""
        return earliest(self._due_at)

    def start(self, now: float) -> None:
        """Read what is told, this peer's own word of an earlier run among it, and tell from then on."""
        self._due_at = now

    def tick(self, now: float) -> Sequence[Output]:
        """Tell and read what is due."""
        if self._due_at is None or now < self._due_at:
            return []
        self._due_at = now + AGAIN_S * self._random.uniform(0.8, 1.2)
        thanks = self._thanks(int(now // DAY_S))
        outputs = list(self._directory.get(self._key, now))
        if thanks.given:
            value, self._has_told = _SCHEMA.encode(thanks), True
            outputs += self._directory.store(self._key, value, lifetime_s=LIFETIME_S, now=now, subkey=self._me)
        return outputs

    def found(self, found: Found, now: float) -> bool:
        """Take in what a read brought; False: it was another key's."""
        if found.key != self._key:
            return False
        for record in found.records:
            try:
                thanks = _SCHEMA.decode(record.value)
            except WireProblem:
                continue
            is_earlier = record.owner == self._me and not self._has_told and record.owner not in self._told
            if is_earlier and thanks.day == int(now // DAY_S):
                self._before.subtract({mark: units * UNIT_BYTES for mark, units in thanks.given})
            self._told[record.owner] = thanks
        self._told = {owner: one for owner, one in self._told.items() if one.day == int(now // DAY_S)}
        return True

    def credits(
        self, peers: Iterable[PeerId], rates: Callable[[PeerId], Rates | None], now: float
    ) -> dict[PeerId, int]:
        """Bytes that each of these has given to others today, as far as their words can be true.

        Args:
            peers: Who is asked about.
            rates: What is known of a peer's line; None: nothing.
            now: Unix seconds.
        """
        day, since_s = divmod(now, DAY_S)
        thanked: Counter[bytes] = Counter()
        for owner, thanks in self._told.items():
            if thanks.day != int(day):
                continue
            said = {mark: units * UNIT_BYTES for mark, units in thanks.given if mark != owner[:MARK_BYTES]}
            most = min(self._data_bytes, (rates(owner) or UNKNOWN).down * since_s)
            share = min(1.0, most / max(1, sum(said.values())))
            thanked.update({mark: int(count * share) for mark, count in said.items()})
        return {
            peer: int(min(thanked[mark], (rates(peer) or UNKNOWN).up * since_s))
            for peer in peers
            if thanked[mark := peer[:MARK_BYTES]]
        }

    def _thanks(self, day: int) -> ShardThanks:
        """What this peer has to say of this day."""
        got: Counter[bytes] = Counter({peer[:MARK_BYTES]: count for peer, count in self._received.items()})
        if day != self._day:
            if self._day:
                self._before = got.copy()
            self._day = day
        got.subtract(self._before)
        most = [(mark, count // UNIT_BYTES) for mark, count in got.most_common(GIVERS_MAX) if count >= UNIT_BYTES]
        return ShardThanks(day, tuple(most))
