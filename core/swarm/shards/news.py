"""Holders of shards through the DHT: publishes what this peer holds, and reads what the others do."""

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Final

from core.base.ids import Key, PeerId
from core.base.machine import Trace, earliest
from core.base.problems import WireProblem
from core.dht.events import Found
from core.dht.node import DhtNode
from core.swarm.catching_up.donor import PastMembers
from core.swarm.shards.holder_book import HolderBook
from core.swarm.shards.holdings import RANGE, decode_holdings, encode_holdings, holdings_key
from core.swarm.shards.shelf import ShardShelf
from core.swarm.words.outputs import Output

LIFETIME_S: Final = 600.0
AGAIN_S: Final = 240.0
"""Time after which holdings that have not changed are published again."""
PUBLISH_REST_S: Final = 10.0
READ_S: Final = 45.0
CROWD: Final = 200
"""Number of peers with shards from which on each publishes and reads less often."""
REST_S_MAX: Final = 300.0
STRANGERS_MAX: Final = 128
"""Upper bound on the holders of a range that were in no round with this peer: anybody can make up keys."""


class ShardNews:
    """Keeps a HolderBook informed while shards are wanted, and tells the others what the shelf holds.

    Args:
        me: This peer.
        shelf: What it holds.
        book: What is known of the others.
        directory: Carries it.
        members: Who was in rounds with this peer.
        random: Spreads what many do.
    """

    def __init__(
        self,
        me: PeerId,
        *,
        shelf: ShardShelf,
        book: HolderBook,
        directory: DhtNode,
        members: PastMembers,
        random: Random,
    ) -> None:
        self._me = me
        self._members = members
        self._shelf = shelf
        self._book = book
        self._directory = directory
        self._random = random
        catalogue = shelf.catalogue
        self._keys = {
            holdings_key(catalogue.run, source, place): (source, place)
            for source, entries in catalogue.sources.items()
            for place in range(-(-len(entries) // RANGE))
        }
        self._told: dict[Key, tuple[bytes, float]] = {}
        """What was published, and when to publish it again, unix seconds."""
        self.peers = 0
        """Number of peers that hold shards, as read last."""
        self._publish_at: float | None = None
        self._read_at: float | None = None
        self._published_at = float("-inf")

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do."""
        return earliest(self._publish_at, self._read_at)

    def follow(self, now: float) -> None:
        """Begin to read what others hold, for shards are wanted here."""
        if self._read_at is None:
            self._read_at = now

    def changed(self, now: float) -> None:
        """The shelf has changed: the others are told as soon as the rest allows."""
        at = max(now, self._published_at + self._rest(PUBLISH_REST_S))
        self._publish_at = at if self._publish_at is None else min(at, self._publish_at)

    def tick(self, now: float) -> Sequence[Output]:
        """Publish and read what is due."""
        outputs: list[Output] = []
        if self._publish_at is not None and self._publish_at <= now:
            self._published_at = now
            outputs += self._publish(now)
        if self._read_at is not None and self._read_at <= now:
            self._read_at = now + self._rest(READ_S) * self._random.uniform(0.8, 1.2)
            self._book.expire(now)
            outputs += [output for key in self._keys for output in self._directory.get(key, now)]
        return outputs

    def found(self, found: Found, *, trace: Trace) -> bool:
        """Take in what a read brought; False: it was another key's."""
        if found.key not in self._keys:
            return False
        source, place = self._keys[found.key]
        known = self._book.told(source, place)
        room = STRANGERS_MAX - sum(peer not in self._members for peer in known)
        self.peers = len(found.records)  # all that say so: each makes the reads of all others larger
        for record in found.records:
            is_new = record.owner not in known and record.owner not in self._members
            if is_new and record.owner != self._me:
                room -= 1
                if room < 0:
                    trace.mark("shards.drop.strangers")
                    continue
            if record.owner == self._me or record.subkey != record.owner:
                continue
            try:
                bits = decode_holdings(record.value)
            except WireProblem:
                trace.mark("shards.drop.schema")
                continue
            self._book.heard(source, place, record.owner, bits, until=record.expiration)
        return True

    def _publish(self, now: float) -> Sequence[Output]:
        outputs: list[Output] = []
        held: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for name in self._shelf.held:
            held[name.source, name.number // RANGE].append(name.number)
        for key, (source, place) in self._keys.items():
            value = encode_holdings(held[source, place], place)
            before, again_at = self._told.get(key, (encode_holdings((), place), float("inf")))
            if value != before or now >= again_at:
                self._told[key] = value, now + AGAIN_S * self._random.uniform(0.8, 1.0)
                outputs += self._directory.store(key, value, lifetime_s=LIFETIME_S, now=now, subkey=self._me)
        self._publish_at = min((at for _, at in self._told.values()), default=None)
        return outputs

    def _rest(self, seconds: float) -> float:
        return min(seconds * max(1.0, self.peers / CROWD), REST_S_MAX)
