"""Upkeep of a quiet node: which repairs are due when, so that an idle node sleeps for minutes."""

from core.base.ids import node_key
from core.base.machine import earliest
from core.dht.bucket import KBucket
from core.dht.context import DhtContext
from core.dht.events import Joined, Output
from core.dht.operations import FindNode, Operation

STALE_TOGETHER = 0.3
"""Share of `stale_after_s` by which silent neighbours are pinged early, together with one that is due."""
SWEEP_S = 30.0
SEEDS_AT_ONCE = 4
SEEDS_NEWEST = 2
"""Number among these of contacts that were lost last; the others are drawn."""


class Upkeep:
    """Joins, refreshes buckets, pings silent neighbours and seeds, and forgets expired records."""

    def __init__(self, parts: DhtContext) -> None:
        self._place = node_key(parts.me)
        self._query_runner = parts.query_runner
        self._neighbours = parts.neighbours
        self._records = parts.records
        self._cache = parts.cache
        self._memory = parts.memory
        self._settings = settings = parts.settings
        self._random = parts.random
        self.deadline: float | None = None
        """Time at which `tick` is due, Unix seconds; None: nothing was ever done."""
        self._last = float("-inf")
        self._joining: FindNode | None = None
        self._join_at: float | None = None
        self._join_pause_s = settings.housekeeping_s
        self._seeds_at = float("inf")
        self._seeds_pause_s = settings.seeds_s
        self._sweep_at: float | None = None

    def begin(self, now: float) -> None:
        """Plan the first tick, unless one is planned."""
        if self.deadline is None:
            self.wake(now)

    def wake(self, now: float) -> None:
        """Plan a tick, since something wants attention soon."""
        at = max(now, self._last) + self._settings.housekeeping_s * self._random.uniform(0.75, 1.25)
        if self.deadline is None or at < self.deadline:
            self.deadline = at

    def kept(self, until: float, now: float) -> None:
        """Plan a sweep for after the expiration of a record.

        Args:
            until: The expiration, Unix seconds.
            now: Unix seconds.
        """
        at = max(until, now + SWEEP_S)
        if self._sweep_at is None or at < self._sweep_at:
            self._sweep_at = at + SWEEP_S * self._random.random()
            if self.deadline is None or self._sweep_at < self.deadline:
                self.deadline = self._sweep_at

    def has_seeds(self, now: float) -> None:
        """Try the new seeds again whenever they fall silent."""
        self._seeds_pause_s = self._settings.seeds_s
        self._seeds_at = now + self._settings.seeds_s
        self.wake(now)

    def join(self, now: float) -> list[Output]:
        """Look up this peer's own position, unless that is in progress."""
        if self._joining is not None:
            return []
        self._join_at = None
        self._joining = FindNode(self._neighbours.lookup(self._place, now))
        return self._query_runner.begin(self._joining, now)

    def join_soon(self, now: float) -> None:
        """Join again soon: a seed has come into reach, and the rest of the network may be behind it."""
        self._join_at = now
        self.wake(now)

    def concluded(self, operation: Operation, now: float) -> list[Output]:
        """Report `Joined` if the lookup of this peer's own position is over, and fill the farthest buckets.

        That lookup finds peers near this one only, and so does each newcomer's: where nearly all come through one seed,
        peers would know nobody in other parts of the key space, and their lookups would end in their own part
        (Maymounkov and Mazieres 2002, section 2.3, refreshes all buckets).

        Args:
            operation: The operation that is over.
            now: Unix seconds.
        """
        if operation is not self._joining:
            return []
        self._joining = None
        self.wake(now)
        outputs: list[Output] = [Joined(len(self._neighbours.table))]
        for bucket in self._neighbours.table.far_and_empty():
            outputs += self._refresh(bucket, now)
        return outputs

    def tick(self, now: float) -> list[Output]:
        """Do what is due and plan the next tick."""
        if self.deadline is None or self.deadline > now:
            return []
        self._last = now
        outputs = [*self._seeds(now), *self._stale(now), *self._rejoin(now)]
        bucket = self._neighbours.table.stalest()
        if bucket is not None and bucket.refreshed < now - self._settings.refresh_s:
            outputs += self._refresh(bucket, now)
        if self._sweep_at is not None and self._sweep_at <= now:
            self._sweep_at = None
            until = earliest(self._records.expire(now), self._memory.expire(now), self._cache.expire(now))
            if until is not None:
                self.kept(until, now)
        self._plan(now)
        return outputs

    def _refresh(self, bucket: KBucket, now: float) -> list[Output]:
        """Look up a random key of a bucket, which meets peers there."""
        bucket.refreshed = now
        lookup = self._neighbours.refresh_lookup(self._neighbours.table.random_key(bucket, self._random), now)
        return self._query_runner.begin(FindNode(lookup), now)

    def _plan(self, now: float) -> None:
        settings = self._settings
        table = self._neighbours.table
        stalest = table.stalest()
        stale_at = min((seen for _, seen in table.near_me(settings.replicas)), default=float("inf"))
        due = earliest(
            self._join_at,
            None if stalest is None else stalest.refreshed + settings.refresh_s,
            stale_at + settings.stale_after_s,
            self._seeds_at,
            self._sweep_at,
            now + settings.idle_s,
        )
        least = settings.housekeeping_s * self._random.uniform(0.75, 1.25)
        self.deadline = max(due if due is not None else now, now + least)

    def _seeds(self, now: float) -> list[Output]:
        """Ping seeds that are silent, less and less often: some of them, or all if nobody else is known.

        Those that fell silent together, in a network that was divided, come back together: the newest are among them.
        A seed may have restarted and know nobody: newcomers come to it, and only peers that ping it bring them together
        with the rest.  The fewer peers there are, the more often each has to.
        """
        if self._seeds_at > now:
            return []
        settings = self._settings
        few = len(self._neighbours.table) < 2 * settings.bucket_size
        longest_s, silent_s = (
            (settings.seeds_few_s, settings.seeds_few_s) if few else (settings.seeds_max_s, settings.stale_after_s)
        )
        silent = self._neighbours.silent_seeds(now - silent_s)
        self._seeds_pause_s = min(2 * self._seeds_pause_s, longest_s)
        self._seeds_at = now + self._seeds_pause_s * self._random.uniform(0.75, 1.0)
        if len(self._neighbours.table):
            newest, others = silent[:SEEDS_NEWEST], silent[SEEDS_NEWEST:]
            silent = newest + self._random.sample(others, min(SEEDS_AT_ONCE - SEEDS_NEWEST, len(others)))
        return [output for contact in silent for output in self._query_runner.probe(contact, now)]

    def _stale(self, now: float) -> list[Output]:
        """Ping the neighbours that are silent, and with them those that will be soon."""
        near = self._neighbours.table.near_me(self._settings.replicas)
        before = now - self._settings.stale_after_s
        if all(seen > before for _, seen in near):
            return []
        soon = before + STALE_TOGETHER * self._settings.stale_after_s
        return [output for contact, seen in near if seen <= soon for output in self._query_runner.probe(contact, now)]

    def _rejoin(self, now: float) -> list[Output]:
        """Join again if nobody is known, less and less often, or if a seed has come into reach."""
        if len(self._neighbours.table):
            self._join_pause_s = self._settings.housekeeping_s
            return self.join(now) if self._join_at is not None and self._join_at <= now else []
        if self._join_at is not None and self._join_at > now:
            return []
        outputs = self.join(now)
        self._join_at = now + self._join_pause_s
        self._join_pause_s = min(2 * self._join_pause_s, self._settings.seeds_few_s)
        return outputs
