"""Facts of lines through the DHT: publishes what this peer's book says, and reads what the others' say."""

from collections.abc import Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Final

from core.averaging.bandwidth.book import LineBook
from core.averaging.bandwidth.records import decode_facts, encode_facts
from core.base.ids import Key, PeerId
from core.base.machine import Trace, earliest
from core.base.problems import WireProblem
from core.dht.events import Found
from core.dht.key_classes import Validator, classed_key, own_records
from core.dht.node import DhtNode
from core.swarm.experts.credit import SCHEMAS as EXPERT_THANKS_SCHEMAS
from core.swarm.experts.records import SCHEMAS as EXPERT_SCHEMAS
from core.swarm.presence.membership import Membership
from core.swarm.shards.holdings import SCHEMAS as SHARD_SCHEMAS
from core.swarm.shards.thanks import SCHEMAS as THANKS_SCHEMAS
from core.swarm.words.outputs import Output
from core.swarm.words.progress import SCHEMAS as PROGRESS_SCHEMAS

LINES: Final = "lines"
"""The class of the key under which facts of lines stand."""
LIFETIME_S: Final = 900.0
AGAIN_S: Final = 300.0
"""Time after which facts that have not changed are published again."""
REST_S: Final = 2.0
"""Pause between two times that facts are published, or read."""
READ_AFTER_S: Final = 0.5
"""After a round: the others publish theirs just then."""
READ_S: Final = 60.0
CROWD: Final = 20
"""Number of peers from which on each publishes and reads less often."""


def lines_key(run: bytes) -> Key:
    """Where a collaboration's facts of lines stand in the DHT."""
    return classed_key(LINES, run)


is_facts: Validator = own_records(decode_facts)
SCHEMAS: Mapping[str, Validator] = MappingProxyType(
    {
        **PROGRESS_SCHEMAS,
        **SHARD_SCHEMAS,
        **THANKS_SCHEMAS,
        **EXPERT_SCHEMAS,
        **EXPERT_THANKS_SCHEMAS,
        LINES: is_facts,
    }
)
"""What may stand under the swarm's keys."""


class LineNews:
    """Keeps a LineBook informed, and tells the others what it holds after each round that taught it something.

    Args:
        me: This peer.
        run: The manifest's id.
        dht: Carries it.
        book: What is known.
        membership: Only those who are here count.
        random: Spreads the reads of many.
    """

    def __init__(
        self, *, me: PeerId, run: bytes, dht: DhtNode, book: LineBook, membership: Membership, random: Random
    ) -> None:
        self._me = me
        self._key = lines_key(run)
        self._dht = dht
        self._book = book
        self._membership = membership
        self._random = random
        self._publish_at: float | None = None
        self._read_at: float | None = None
        self._published_at = self._last_read = float("-inf")

    def start(self, now: float) -> None:
        """Begin to read; there is nothing to tell yet."""
        self._read_at = now + READ_AFTER_S

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do."""
        return earliest(self._publish_at, self._read_at)

    def changed(self, now: float) -> None:
        """A round has taught the book something: its facts are published as soon as the rest allows."""
        rest_s = REST_S * max(1.0, len(self._membership.reported) / CROWD)
        self._publish_at = max(now, self._published_at + rest_s)
        if self._read_at is not None:
            soon = now + READ_AFTER_S * self._random.uniform(1.0, 2.0)
            self._read_at = min(self._read_at, max(soon, self._last_read + rest_s))

    def tick(self, now: float) -> Sequence[Output]:
        """Publish and read what is due."""
        outputs: list[Output] = []
        if self._publish_at is not None and self._publish_at <= now:
            self._published_at = now
            self._publish_at = now + AGAIN_S * self._random.uniform(0.8, 1.2)
            value = encode_facts(self._book.facts())
            outputs += self._dht.store(self._key, value, lifetime_s=LIFETIME_S, now=now, subkey=self._me)
        if self._read_at is not None and self._read_at <= now:
            self._last_read = now
            self._book.aged(now)
            self._read_at = now + READ_S * self._random.uniform(0.8, 1.2)
            outputs += self._dht.get(self._key, now)
        return outputs

    def found(self, found: Found, *, trace: Trace) -> bool:
        """Take in what a read brought; False: it was another key's."""
        if found.key != self._key:
            return False
        self._book.forget(list(self._membership.live()))
        for record in found.records:
            if record.owner == self._me or record.subkey != record.owner:
                continue
            try:
                self._book.heard(record.owner, decode_facts(record.value))
            except WireProblem:
                trace.mark("lines.drop.schema")
        return True
