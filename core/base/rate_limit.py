"""Limit on the requests of each requester: of a peer, or of an address."""

from collections.abc import Hashable
from ipaddress import IPv6Address, ip_address
from typing import Generic, TypeVar

from core.base.token_bucket import TokenBucket

K = TypeVar("K", bound=Hashable)


class RateLimit(Generic[K]):
    """A token bucket for each requester; full buckets are forgotten.

    Args:
        rate_per_s: Requests of one requester in the long run; 0: no limit.
        burst: Requests of one requester at once.
        limit: Number of requesters counted at a time.  Beyond it, all newcomers share one bucket.
    """

    def __init__(self, *, rate_per_s: float, burst: int, limit: int = 1024) -> None:
        self._rate_per_s = rate_per_s
        self._burst = burst
        self._limit = limit
        self._buckets: dict[K | None, TokenBucket] = {}
        self._sweep_at = 32

    def __len__(self) -> int:
        return len(self._buckets)

    def admits(self, requester: K, now: float, cost: int = 1) -> bool:
        """Whether a requester may send requests now; if so they are counted.

        Args:
            requester: The requester.
            now: Unix seconds.
            cost: Number of requests.
        """
        if not self._rate_per_s:
            return True
        key: K | None = requester
        if key not in self._buckets and len(self._buckets) >= self._sweep_at:
            self._forget(now)
            if len(self._buckets) >= self._limit:
                key = None
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = TokenBucket(rate_per_s=self._rate_per_s, burst=self._burst)
        return bucket.admits(now, cost)

    def _forget(self, now: float) -> None:
        """Drop the buckets that are full again; the next sweep comes when their number has doubled."""
        self._buckets = {key: one for key, one in self._buckets.items() if one.tokens(now) < self._burst}
        self._sweep_at = min(max(32, 2 * len(self._buckets)), self._limit)


def household(host: str) -> str:
    """The part of an address that one household has for itself: all of an IPv4 address, 64 bits of an IPv6 address.

    Args:
        host: An IP address as text, as a socket tells it.
    """
    address = ip_address(host.partition("%")[0])
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))
    return str(address)
