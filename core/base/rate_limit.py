"""Token buckets: limits on a rate, also on the requests of each requester, which is a peer or an address."""

from collections.abc import Hashable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class TokenBucket:
    """An allowance that refills at a rate, up to a burst, and is full at first.

    Args:
        rate_per_s: Tokens that it gains each second.
        burst: Tokens that it holds at most.
    """

    def __init__(self, *, rate_per_s: float, burst: float) -> None:
        self._rate_per_s = rate_per_s
        self._burst = burst
        self._tokens = float(burst)
        self._at: float | None = None

    @property
    def ready_at(self) -> float | None:
        """Time from which there are tokens again, in seconds of the caller's clock; None: it was never used."""
        return None if self._at is None else self._at + max(0.0, -self._tokens / self._rate_per_s)

    def tokens(self, now: float) -> float:
        """Number of tokens now; less than zero after more was spent than there was."""
        since_s = 0.0 if self._at is None else max(0.0, now - self._at)
        self._tokens = min(self._burst, self._tokens + since_s * self._rate_per_s)
        self._at = now
        return self._tokens

    def spend(self, count: float) -> None:
        """Take tokens, though there may be fewer."""
        self._tokens -= count

    def admits(self, now: float, cost: float = 1.0) -> bool:
        """Take tokens if there are enough.

        Args:
            now: Seconds of the caller's clock.
            cost: Number of tokens.

        Returns:
            Whether there were enough.
        """
        if self.tokens(now) < cost:
            return False
        self.spend(cost)
        return True


class RateLimit(Generic[K]):
    """A token bucket for each requester; full buckets are forgotten.

    Args:
        rate_per_s: Requests of one requester in the long run; 0: no limit.
        burst: Requests of one requester at once.
        limit: Number of requesters counted at a time.  Beyond it, all newcomers share one bucket.
    """

    def __init__(self, *, rate_per_s: float, burst: float, limit: int = 1024) -> None:
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
        return not self._rate_per_s or self._bucket(requester, now).admits(now, cost)

    def spend(self, requester: K, now: float, cost: float = 1.0) -> None:
        """Count something that a requester did, whether or not it may; it may exceed its limit by one.

        Args:
            requester: The requester.
            now: Unix seconds.
            cost: Number of requests that it counts for.
        """
        bucket = self._bucket(requester, now)
        bucket.tokens(now)
        bucket.spend(cost)

    def exceeds(self, requester: K, now: float) -> bool:
        """Whether a requester has done more than it may.

        Args:
            requester: The requester.
            now: Unix seconds.
        """
        shared = self._buckets.get(None) if len(self._buckets) >= self._limit else None
        bucket = self._buckets.get(requester, shared)
        return bucket is not None and bucket.tokens(now) < 0

    def _bucket(self, requester: K, now: float) -> TokenBucket:
        key: K | None = requester
        if key not in self._buckets and len(self._buckets) >= self._sweep_at:
            self._forget(now)
            if len(self._buckets) >= self._limit:
                key = None
        if key not in self._buckets:
            self._buckets[key] = TokenBucket(rate_per_s=self._rate_per_s, burst=self._burst)
        return self._buckets[key]

    def _forget(self, now: float) -> None:
        """Drop the buckets that are full again; the next sweep comes when their number has doubled."""
        self._buckets = {key: one for key, one in self._buckets.items() if one.tokens(now) < self._burst}
        self._sweep_at = min(max(32, 2 * len(self._buckets)), self._limit)


NETWORK_BITS: Final = 48
"""Bits of an IPv6 address that one customer of a provider may have alone (RFC 6177): with 64, that would be 65,536
households."""


def network(host: str) -> str:
    """All that one customer of a provider may have: where a household of its own is worth much to a stranger.

    Args:
        host: As for `household`.
    """
    return household(host, bits=NETWORK_BITS)


@lru_cache(maxsize=4096)
def household(host: str, *, bits: int = 64) -> str:
    """The part of an address that one household has for itself: all of an IPv4 address, 64 bits of an IPv6 address.

    Args:
        host: An IP address as text, as a socket tells it.
        bits: Number of leading bits of an IPv6 address that tell households apart.
    """
    address = ip_address(host.partition("%")[0])
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Address(int(address) >> 128 - bits << 128 - bits))
    return str(address)
