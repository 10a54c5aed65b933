"""The token bucket: one rate limit for machines."""


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
