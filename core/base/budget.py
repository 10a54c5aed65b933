"""Bulk that a round sends to one peer: how fast it leaves, so that no queue stands anywhere.

The plan of a round says how many bytes go from each member to each other, and how long that takes; a link that sends
at just that rate leaves room to all others.  The rate is counted anew from what is left over the time that is left, so
that a link which lost something catches up.
"""

from collections import deque
from typing import Final

from core.base.machine import Transfer

LOOK_S: Final = 0.125
"""How often the rate is counted anew, seconds."""
CATCH_UP: Final = 1.2
"""Upper bound on the speed of a link that is behind, in units of the planned one: all lines have little more room."""
SPARE: Final = 1.25
"""Multiple of the planned seconds after which bulk follows no plan: the round is over, or is not as planned."""
FLOOR_BYTES_S: Final = 4096.0
"""No link in a round is slower than one small fragment a second."""
WINDOW_S: Final = 0.5
"""Time over which a link is seen to follow its rate, or not to; seconds."""
FOLLOWS: Final = 0.85
"""A link that carries less than this part of its rate cannot do more."""
BURST_S: Final = 0.02
"""Bytes leave in bursts of so much time where the system does not pace, and so much waits in it where it does: what is
said meanwhile waits no longer.  Seconds."""
BURST_BYTES_LEAST: Final = 4096
"""Less at once would cost more in headers and wake-ups than it saves."""
BURST_BYTES_MAX: Final = 1 << 20
"""More at once would keep the loop from other links."""


class Budget:
    """What one round sends to one peer.

    Args:
        transfer: Its bytes and seconds.
        now: A steady clock, seconds.
    """

    def __init__(self, transfer: Transfer, now: float) -> None:
        self.transfer = transfer
        """What it goes by."""
        self._began_at = now
        self._left = transfer.bulk_bytes
        self._tokens = 0.0
        self._tokens_at = now
        self._carried: dict[int, int] = {}
        """All that each link to the peer had carried when it was last looked at."""
        self._carried_bytes = 0
        self._looks: deque[tuple[float, int]] = deque()

    def spend(self, count: float) -> None:
        """The link reports `count` bytes written; the rate follows from what is left."""
        self._left -= count
        self._tokens -= count

    def active(self, now: float) -> bool:
        """Whether bulk still goes by this plan."""
        return self._left > 0 and now < self._began_at + SPARE * self.transfer.seconds

    def rate(self, now: float, *, unsent_bytes: int = 0) -> float | None:
        """How fast bulk may leave now, bytes a second; None: as fast as it can.

        Args:
            now: Seconds.
            unsent_bytes: Bytes that were written and have not left.
        """
        if not self.transfer.even or not self.active(now):
            return None
        planned = self.transfer.bulk_bytes / self.transfer.seconds
        left_s = max(LOOK_S, self._began_at + self.transfer.seconds - now)
        behind = (self._left + unsent_bytes) / left_s / planned
        return max(FLOOR_BYTES_S, planned * min(max(1.0, behind), CATCH_UP))

    def wait_s(self, now: float) -> float:
        """Seconds until bulk may leave where the system does not pace it."""
        rate = self.rate(now)
        if rate is None:
            return 0.0
        self._tokens = min(self._tokens + rate * (now - self._tokens_at), rate * BURST_S)
        self._tokens_at = now
        return -self._tokens / rate if self._tokens < -1 else 0.0

    def burst_bytes(self, now: float) -> int:
        """How much may leave at once: what the rate carries in `BURST_S`."""
        rate = self.rate(now)
        return BURST_BYTES_MAX if rate is None else max(BURST_BYTES_LEAST, min(int(rate * BURST_S), BURST_BYTES_MAX))

    def follows(self, now: float, link: int, carried_bytes: int) -> bool:
        """Whether the links to the peer carry what the rate allows; to be asked of each every `LOOK_S` or so.

        Args:
            now: Seconds.
            link: One of the links.
            carried_bytes: All that it has carried.
        """
        rate = self.rate(now)
        self._carried_bytes += carried_bytes - self._carried.get(link, carried_bytes)
        self._carried[link] = carried_bytes
        self._looks.append((now, self._carried_bytes))
        while len(self._looks) > 2 and self._looks[1][0] <= now - WINDOW_S:
            self._looks.popleft()
        since, before = self._looks[0]
        if rate is None:
            return False
        return now - since < WINDOW_S or self._carried_bytes - before >= FOLLOWS * rate * (now - since)
