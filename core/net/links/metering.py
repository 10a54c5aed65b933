"""Feeds a meter from the links of a host, a few times a second while bulk moves."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from core.base.meter import LOOK_S, Glance, Meter
from core.net.limits.pace import Pace
from core.net.links.streams import PeerStream

QUIET_S: Final = 2.0
"""Seconds after the last bulk until the samples end."""


class Metering:
    """Samples all links while bulk moves.

    Args:
        meter: Takes the samples.
        streams: Returns all links that are open.
        pace: The person's limits, which cap the measured bandwidth.
    """

    def __init__(self, meter: Meter, *, streams: Callable[[], Sequence[PeerStream]], pace: Pace) -> None:
        self._meter = meter
        self._streams = streams
        self._pace = pace
        self._loop = asyncio.get_running_loop()
        self._until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def moved(self) -> None:
        """Sample for a while, since bulk came or is to go."""
        self._until = self._loop.time() + QUIET_S
        if self._timer is None:
            self._look()

    def close(self) -> None:
        """Stop sampling and cancel the timer."""
        self._until = 0.0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        now = self._loop.time()
        self._meter.cap_up = self._pace.upload.rate_bytes_s
        self._meter.cap_down = self._pace.download.rate_bytes_s
        self._meter.look(
            now,
            [
                Glance(
                    id(stream),
                    stream.peer,
                    stream.sender.bytes_left,
                    stream.receiver.bytes_received,
                    stream.sender.bulk_waits,
                    stream.sender.pacing.least_s,
                )
                for stream in self._streams()
            ],
        )
        self._timer = self._loop.call_later(LOOK_S, self._look) if now < self._until else None
