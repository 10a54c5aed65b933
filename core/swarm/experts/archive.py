"""A backbone's copies of experts: of all that live somewhere, as far as there is room on its disk.

It is no keeper that hosts count on (`core.swarm.experts.keeping`), for it hosts nothing; who takes a vacant place finds
its copies as all others, by what it tells in the DHT.
"""

from collections.abc import Sequence
from math import inf
from random import Random
from typing import Any, ClassVar, Final

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Tick, Trace, earliest
from core.dht.events import Found
from core.swarm.experts.copy_news import CopyHere
from core.swarm.experts.keeping import CopyOutput, ExpertKeeping, KeepingParts
from core.swarm.experts.records import Mixture, row_key
from core.swarm.words.messages import EXPERT_FILE_MESSAGES

LOOK_S: Final = 15.0
"""Time between two looks at rows: what hosts say lasts 30 s, and counts for two minutes more."""
READS_MAX: Final = 64
"""Number of rows that are read in one look."""


class ExpertArchive:
    """Keeps copies of all experts, and gives them to others (`core.session.session.Companion`).

    Args:
        me: This peer.
        mixture: The layers and their places.
        parts: What it works with.
        random: Spreads what many do.
        trace: Counts what others do wrong.
    """

    TAKES: ClassVar[tuple[type, ...]] = (CopyHere, *EXPERT_FILE_MESSAGES)
    """Classes of messages and events."""

    def __init__(self, me: PeerId, mixture: Mixture, parts: KeepingParts, *, random: Random, trace: Trace) -> None:
        self._parts = parts
        self._random = random
        self._keeping = ExpertKeeping(me, mixture, parts, random=random, trace=trace)
        prefixes = list(mixture.grid.prefixes(len(mixture.grid.sizes) - 1))
        rows = [(layer, prefix) for layer in range(mixture.layers) for prefix in prefixes]
        self._row_of = {row_key(mixture.run, *row): row for row in rows}
        self._turn = list(self._row_of)
        self._look_at: float | None = None

    @property
    def deadline(self) -> float | None:
        """When something is to be read, told or given up."""
        return earliest(self._look_at, self._keeping.deadline)

    def start(self, now: float) -> None:
        """The peer joins the swarm: begin to look."""
        self._look_at = now
        self._keeping.follow(now, on=False, all_until=inf)

    def handle(self, event: Received[Any] | Tick | Lost | CopyHere, now: float) -> Sequence[CopyOutput]:
        """Messages about files, copies that lie here, time and lost peers."""
        if isinstance(event, CopyHere):
            return self._keeping.here(event, now)
        outputs = list(self._keeping.handle(event, now))
        if isinstance(event, Tick) and self._look_at is not None and self._look_at <= now:
            self._look_at = now + LOOK_S * self._random.uniform(0.8, 1.2)
            keys, rest = self._turn[:READS_MAX], self._turn[READS_MAX:]
            self._turn = [*rest, *keys]
            outputs += self._parts.directory.get(keys, now)
        return outputs

    def found(self, found: Found, now: float) -> Sequence[CopyOutput] | None:
        """Take in what was read; None: this machine has not asked for the key."""
        row = self._row_of.get(found.key)
        if row is None:
            return self._keeping.found(found, now)
        self._parts.hosts.heard(row, found, now)
        return []
