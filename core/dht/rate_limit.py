"""Limit on the requests of each peer."""

from core.base.ids import PeerId
from core.base.token_bucket import TokenBucket


class RateLimit:
    """A token bucket for each requesting peer; full buckets are forgotten.

    Args:
        rate_per_s: Requests of one peer in the long run; 0: no limit.
        burst: Requests of one peer at once.
        limit: Number of peers counted at a time.  Beyond it, all newcomers share one bucket.
    """

    def __init__(self, *, rate_per_s: float, burst: int, limit: int = 1024) -> None:
        self._rate_per_s = rate_per_s
        self._burst = burst
        self._limit = limit
        self._buckets: dict[PeerId, TokenBucket] = {}
        self._sweep_at = 32

    def __len__(self) -> int:
        return len(self._buckets)

    def admits(self, peer: PeerId, now: float, cost: int = 1) -> bool:
        """Whether a peer may send requests now; if so they are counted.

        Args:
            peer: The requester.
            now: Unix seconds.
            cost: Number of requests.
        """
        if not self._rate_per_s:
            return True
        if peer not in self._buckets and len(self._buckets) >= self._sweep_at:
            self._forget(now)
            if len(self._buckets) >= self._limit:
                peer = PeerId(b"")
        bucket = self._buckets.get(peer)
        if bucket is None:
            bucket = self._buckets[peer] = TokenBucket(rate_per_s=self._rate_per_s, burst=self._burst)
        return bucket.admits(now, cost)

    def _forget(self, now: float) -> None:
        """Drop the buckets that are full again; the next sweep comes when their number has doubled."""
        self._buckets = {peer: one for peer, one in self._buckets.items() if one.tokens(now) < self._burst}
        self._sweep_at = min(max(32, 2 * len(self._buckets)), self._limit)
