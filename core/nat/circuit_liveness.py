"""Failure detector of a circuit: whether the other endpoint still answers, with as few messages as that takes.

An endpoint with bytes in flight sends heartbeats until they have arrived, and then says so; so both endpoints watch for
silence while there is something to lose, and an idle circuit costs nothing.
"""

from typing import Final

HEARTBEAT_S: Final = 0.25
SILENT_S: Final = 0.8
"""Seconds without any message while bytes are in flight, after which the relay has failed.

Together with a call to the next relay (2.5 round trips of at most 150 ms), the agreement with the other endpoint (one
round trip between the endpoints) and the way of the first byte (half of one, at most 300 ms in all) that makes 1.7 s.
A heartbeat may be late by 0.55 s, which is one lost packet and its retransmission.
"""
RTT_SURE_S: Final = 0.3
"""`SILENT_S` holds for round trips up to this; over a longer one the first answer is awaited longer by the
difference."""
RTT_UNKNOWN_S: Final = 0.5
"""Assumed round trip over a relay that has not been measured; doubled each time that such a relay is left."""
RTT_UNKNOWN_MAX_S: Final = 4.0


class CircuitLiveness:
    """Detects silence on a circuit.

    Args:
        now: Unix seconds.
    """

    def __init__(self, now: float) -> None:
        self.awaits = False
        """The other endpoint has more bytes to send: it sends heartbeats until they have arrived."""
        self._heard_at = now
        """Time of the last message, or the earliest time at which an answer can be expected."""
        self._heard = False
        self._unknown_s = RTT_UNKNOWN_S

    @property
    def peer_unaware(self) -> bool:
        """Whether the other endpoint may not know that bytes are in flight, and then does not watch."""
        return not (self._heard or self.awaits)

    def heard(self, now: float) -> None:
        """A message of the other endpoint has arrived."""
        self._heard_at, self._heard = now, True

    def asked(self, now: float, *, least_s: float | None) -> None:
        """Something is sent that wants an answer, after a time in which nothing was.

        Args:
            now: Unix seconds.
            least_s: The shortest round trip, seconds; None: not known.
        """
        round_trip_s = self._unknown_s if least_s is None else least_s
        self._heard_at, self._heard = now + max(0.0, round_trip_s - RTT_SURE_S), False

    def silent_at(self, *, under_way: bool) -> float | None:
        """Time at which the relay counts as failed, Unix seconds; None: nothing is awaited.

        Args:
            under_way: This endpoint has bytes in flight.
        """
        return self._heard_at + SILENT_S if under_way or self.awaits else None

    def left(self, *, least_s: float | None) -> None:
        """The relay was given up; without a measurement its round trip may only have been long."""
        if least_s is None:
            self._unknown_s = min(RTT_UNKNOWN_MAX_S, 2 * self._unknown_s)
