"""The volunteer's limits: upload and download a second, bytes a month, and times when the network is not to be used.

Each direction is a token bucket (as in RFC 2697) that all links share.  Waiting links stand in a ring: each gets a turn
after the other, so a link with much to send takes no more than the others.  Control never waits behind bulk: it may go
into debt that bulk has to pay back.
"""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from core.base.wire import FRAGMENT_BYTES_MAX

BURST_S: Final = 0.1
"""Unused tokens are kept up to the worth of this time."""
DEBT_S: Final = 0.1
"""Control may exceed the limit by the worth of this time."""
TURN_S: Final = 0.02
TURN_BYTES_MIN: Final = 4096
RING_S: Final = 0.0005
SHUT_S: Final = 1.0
LOOK_S: Final = 1.0
"""Seconds between two comparisons of the month's use with its limit."""
SMALLEST_BYTES_S: Final = 4096.0
"""Lowest effective limit: with less, nobody could stay in a swarm."""

Hindrance = Literal["schedule", "metered", "month", "switch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A person's limits; None: no limit.  Bytes on the connection, without the headers of TCP and IP."""

    upload_bytes_s: float | None = None
    download_bytes_s: float | None = None
    month_bytes: int | None = None
    """Both directions together, in a calendar month."""


@dataclass(frozen=True, slots=True)
class MonthUse:
    """Bytes used in one month, for the owner to keep."""

    month: str = ""
    """Year and month, as in 2026-11."""
    used_bytes: int = 0


class Bucket:
    """A token bucket.  Times in seconds of one steady clock.

    Args:
        rate_bytes_s: None for no limit.
        now: Seconds.
    """

    def __init__(self, rate_bytes_s: float | None, now: float) -> None:
        self.rate_bytes_s = rate_bytes_s if rate_bytes_s is None else max(rate_bytes_s, SMALLEST_BYTES_S)
        self._level = 0.0
        self._at = now

    def level(self, now: float) -> float:
        """Number of bytes that may pass now; less than zero is a debt."""
        if self.rate_bytes_s is None:
            return float("inf")
        self._level = min(self._level + max(0.0, now - self._at) * self.rate_bytes_s, BURST_S * self.rate_bytes_s)
        self._at = max(now, self._at)
        return self._level

    def spend(self, count: float, now: float) -> None:
        """Take tokens for bytes that passed.

        Args:
            count: Number of bytes.
            now: Seconds.
        """
        if self.rate_bytes_s is not None:
            self._level = self.level(now) - count

    def wait_s(self, now: float) -> float:
        """Seconds until bulk may pass again."""
        return 0.0 if self.rate_bytes_s is None else max(0.0, -self.level(now)) / self.rate_bytes_s


class BucketFlow:
    """One link's share of a bucket."""

    def __init__(self, lane: "SharedBucket", resume: Callable[[], None]) -> None:
        self._lane = lane
        self.resume = resume
        self.spent = lane.spent
        """Takes the number of bytes that passed, allowed or not, and the time."""

    def room(self, now: float, *, bulk: bool = True) -> int:
        """Number of bytes that may pass at once; 0: later, and `resume` will be called then.

        Args:
            now: Seconds.
            bulk: Whether the bytes are bulk; control may go into debt.
        """
        return self._lane.room(self, now, bulk=bulk)

    def leave(self) -> None:
        """Leave the ring of waiting links."""
        self._lane.leave(self)


class SharedBucket:
    """The token bucket of one direction, shared by all links.

    Args:
        steady: The loop's clock.
        call_later: The loop's.
        used: Told of all bytes that pass.
    """

    def __init__(
        self,
        *,
        steady: Callable[[], float],
        call_later: Callable[[float, Callable[[], None]], Any],
        used: Callable[[int], None],
    ) -> None:
        self._steady = steady
        self._call_later = call_later
        self._used = used
        self._bucket = Bucket(None, steady())
        self._waiting: OrderedDict[BucketFlow, None] = OrderedDict()
        self._turn: BucketFlow | None = None
        self._armed = False
        self._shut = False

    @property
    def limited(self) -> bool:
        """Whether there is a limit, or bulk is stopped."""
        return self._shut or self._bucket.rate_bytes_s is not None

    @property
    def rate_bytes_s(self) -> float | None:
        """The limit; None: there is none."""
        return self._bucket.rate_bytes_s

    @property
    def turn_bytes(self) -> int:
        """Number of bytes at most that pass in one turn."""
        rate = self._bucket.rate_bytes_s
        return FRAGMENT_BYTES_MAX if rate is None else min(max(TURN_BYTES_MIN, int(rate * TURN_S)), FRAGMENT_BYTES_MAX)

    def flow(self, resume: Callable[[], None]) -> BucketFlow:
        """Make a flow for a link; `resume` is called when bytes may pass that had to wait."""
        return BucketFlow(self, resume)

    def limit(self, rate_bytes_s: float | None) -> None:
        """Apply another limit from now on."""
        if rate_bytes_s != self._bucket.rate_bytes_s:
            self._bucket = Bucket(rate_bytes_s, self._steady())
            self._wake_all()

    def shut(self, *, shut: bool) -> None:
        """Stop bulk, or let it pass again."""
        if shut != self._shut:
            self._shut = shut
            self._wake_all()

    def allows_control(self, now: float) -> bool:
        """Whether control may pass now; for callers that would rather drop than wait."""
        rate = self._bucket.rate_bytes_s
        return rate is None or self._bucket.level(now) > -DEBT_S * rate

    def room(self, flow: BucketFlow, now: float, *, bulk: bool) -> int:
        """Number of bytes of a flow that may pass at once.

        Args:
            flow: The flow.
            now: Seconds.
            bulk: Whether the bytes are bulk.
        """
        if not self.limited:
            return FRAGMENT_BYTES_MAX
        if not bulk:
            if self.allows_control(now):
                return self.turn_bytes
        elif not self._shut and self._bucket.level(now) > 0.0 and (self._turn is flow or not self._waiting):
            self._turn = None
            return self.turn_bytes
        self._waiting[flow] = None
        self._arm(now)
        return 0

    def spent(self, count: int, now: float, *, owes: bool = True) -> None:
        """Count bytes that passed.

        Args:
            count: Number of bytes.
            now: Seconds.
            owes: Whether they leave a debt; those that never wait take only the tokens that are there.
        """
        self._used(count)
        self._bucket.spend(count if owes else min(count, max(0.0, self._bucket.level(now))), now)

    def leave(self, flow: BucketFlow) -> None:
        """Remove a flow from the ring of waiting links."""
        self._waiting.pop(flow, None)
        if self._turn is flow:
            self._turn = None

    def _ring(self) -> None:
        """Give the next flow its turn, if there are tokens."""
        now = self._steady()
        self._armed = False
        self._turn = None
        if self._waiting and self._bucket.level(now) > 0.0:
            self._turn, _ = self._waiting.popitem(last=False)
            self._turn.resume()
        if self._waiting:
            self._arm(now)

    def _arm(self, now: float) -> None:
        if not self._armed:
            self._armed = True
            self._call_later(SHUT_S if self._shut else self._bucket.wait_s(now) + RING_S, self._ring)

    def _wake_all(self) -> None:
        waiting, self._waiting = list(self._waiting), OrderedDict()
        for flow in waiting:
            flow.resume()


class Pace:
    """All limits of a host.

    Args:
        now: Unix seconds, for the month.
        used: Bytes used earlier in this month.
        steady: The loop's clock.
        call_later: The loop's; None for that of the running loop.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float],
        used: MonthUse | None = None,
        steady: Callable[[], float] = time.monotonic,
        call_later: Callable[[float, Callable[[], None]], Any] | None = None,
    ) -> None:
        self._now = now
        self._steady = steady
        self._limits = Limits()
        kept = used or MonthUse(_month(now()))
        self._used_bytes: Counter[str] = Counter({kept.month: kept.used_bytes})
        """By month: a clock that is wrong for a while begins another one, and does not forget this one."""
        self._forbidden: Hindrance | None = None
        self._looked_at = float("-inf")
        later = call_later or _later
        self.upload = SharedBucket(steady=steady, call_later=later, used=self._count)
        self.download = SharedBucket(steady=steady, call_later=later, used=self._count)

    def limit(self, limits: Limits) -> None:
        """Apply the person's limits, which may change at any time."""
        self._limits = limits
        self.upload.limit(limits.upload_bytes_s)
        self.download.limit(limits.download_bytes_s)
        self._judge()

    def forbid(self, reason: Hindrance | None) -> None:
        """Stop bulk for a reason, or allow it again (None); control goes on, so that links can say goodbye."""
        self._forbidden = reason
        self._judge()

    @property
    def hindrance(self) -> Hindrance | None:
        """Why no bulk passes; the host's owner leaves the swarm as long as there is a reason."""
        if self._forbidden is not None:
            return self._forbidden
        most = self._limits.month_bytes
        return "month" if most is not None and self.used.used_bytes >= most else None

    @property
    def used(self) -> MonthUse:
        """Bytes used this month, for the owner to keep and hand over at the next start."""
        month = _month(self._now())
        return MonthUse(month, self._used_bytes[month])

    def passed(self, *, sent: int = 0, received: int = 0) -> None:
        """Count bytes that never wait: datagrams, which are few and small, unless strangers send them.

        Args:
            sent: Number of bytes sent.
            received: Number of bytes received.
        """
        now = self._steady()
        if sent:
            self.upload.spent(sent, now, owes=False)
        if received:
            self.download.spent(received, now, owes=False)

    def _count(self, count: int) -> None:
        self._used_bytes[_month(self._now())] += count
        if self._steady() - self._looked_at >= LOOK_S:
            self._judge()

    def _judge(self) -> None:
        self._looked_at = self._steady()
        shut = self.hindrance is not None
        self.upload.shut(shut=shut)
        self.download.shut(shut=shut)


def _month(unix_s: float) -> str:
    return _month_of(int(unix_s // 60))


@lru_cache(maxsize=8)
def _month_of(minute: int) -> str:
    return time.strftime("%Y-%m", time.localtime(60 * minute))


def _later(delay_s: float, call: Callable[[], None]) -> Any:
    return asyncio.get_running_loop().call_later(delay_s, call)
