"""Credit that peers sign: members tell in the DHT how much they got today, from whom, and all add up what all say.

Nobody can attest this but the one who got it, and a record of the DHT is signed by its owner.  It stands beside what
people give in samples and is never added to it.

What the worst gains: two friends who trade in words only.  Whoever counts bounds what one member acknowledges, and what
one is thanked for, by what can be true; a member that wants more needs more passes, for words of keys that have shown
none do not count, and gets a number, nothing else.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.bounds import remember
from core.base.ids import Key, PeerId
from core.base.machine import earliest
from core.base.problems import WireProblem
from core.base.wire import Schema
from core.dht.events import Found
from core.dht.events import Output as DhtOutput
from core.dht.key_classes import Validator, own_records
from core.dht.messages import VALUE_BYTES_MAX
from core.dht.node import DhtNode

MARK_BYTES: Final = 8
"""Bytes of a giver's id, enough among the members that are here."""
GIVERS_MAX: Final = 24
"""Number of givers in one record, those that gave most."""
DAY_S: Final = 86_400.0
LIFETIME_S: Final = DAY_S
AGAIN_S: Final = 600.0
"""Time between two records of one member, and between two reads."""
OWNERS_MAX: Final = 4096
"""Number of members whose words are remembered, twice as many as stand under one key."""

Mark = Annotated[bytes, Meta(min_length=MARK_BYTES, max_length=MARK_BYTES)]
Given = Annotated[tuple[tuple[Mark, Annotated[int, Meta(ge=1, lt=2**40)]], ...], Meta(max_length=GIVERS_MAX)]
Most = Callable[[PeerId, float], float]
"""Upper bound on a peer's amount, by the seconds since the day began."""


class DayThanks(msgspec.Struct, frozen=True, array_like=True):
    """What a member got from others in one day."""

    day: Annotated[int, Meta(ge=0, lt=10**6)]
    """Days since 1970, UTC."""
    given: Given
    """By the giver's mark: units that were of use."""


_SCHEMA: Final = Schema(DayThanks, named="thanks", bytes_max=VALUE_BYTES_MAX)

is_thanks: Validator = own_records(_SCHEMA.decode)


class Thanks:
    """Tells what this peer got, and adds up what all say.

    Args:
        me: This peer.
        key: Where thanks of this kind stand.
        unit: What one unit of a record is.
        directory: The DHT.
        received: Amounts by giver, since this program began; changes.
        random: Spreads what many do.
    """

    def __init__(
        self,
        me: PeerId,
        *,
        key: Key,
        unit: int,
        directory: DhtNode,
        received: Counter[PeerId],
        random: Random,
    ) -> None:
        self._me = me
        self._key = key
        self._unit = unit
        self._directory = directory
        self._received = received
        self._random = random
        self._day = 0
        self._before: Counter[bytes] = Counter()
        """What of `received` is from an earlier day, by mark; below 0: an earlier run of this day has told it."""
        self._told: OrderedDict[PeerId, DayThanks] = OrderedDict()
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

    def tick(self, now: float) -> Sequence[DhtOutput]:
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
                self._before.subtract({mark: units * self._unit for mark, units in thanks.given})
            remember(self._told, record.owner, thanks, OWNERS_MAX)
        return True

    def counted(self, peers: Iterable[PeerId], now: float, *, got: Most, gave: Most) -> dict[PeerId, int]:
        """What each of these has given to others today, as far as their words can be true.

        Args:
            peers: Those with passes: they are asked about, and their words count.
            now: Unix seconds.
            got: What a member can have got; what it says beyond that makes all of its words count less.
            gave: What a peer can have given.
        """
        day, since_s = divmod(now, DAY_S)
        known = frozenset(peers)
        thanked: Counter[bytes] = Counter()
        for owner in known & self._told.keys():
            thanks = self._told[owner]
            if thanks.day != int(day):
                continue
            said = {mark: units * self._unit for mark, units in thanks.given if mark != owner[:MARK_BYTES]}
            share = min(1.0, got(owner, since_s) / max(1, sum(said.values())))
            thanked.update({mark: int(count * share) for mark, count in said.items()})
        return {
            peer: int(min(thanked[mark], gave(peer, since_s))) for peer in known if thanked[mark := peer[:MARK_BYTES]]
        }

    def _thanks(self, day: int) -> DayThanks:
        """What this peer has to say of this day."""
        got: Counter[bytes] = Counter({peer[:MARK_BYTES]: count for peer, count in self._received.items()})
        del got[self._me[:MARK_BYTES]]
        if day != self._day:
            if self._day:
                self._before = got.copy()
            self._day = day
        got.subtract(self._before)
        most = [(mark, count // self._unit) for mark, count in got.most_common(GIVERS_MAX) if count >= self._unit]
        return DayThanks(day, tuple(most))
