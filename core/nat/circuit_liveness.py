"""Whether the other end of a circuit is still there, without a word more than is needed to know.

Whoever has bytes under way beats until they have arrived, and says so then; so both ends look for silence while there
is something to lose, and an idle circuit costs nothing.
"""

from typing import Final

HEARTBEAT_S: Final = 0.25
SILENT_S: Final = 0.8
"""Data is under way and not a word comes back: the relay has failed.

Together with a call to the next relay (2.5 round trips of at most 150 ms), the agreement with the other end (one round
trip between the ends) and the way of the first byte (half of one, at most 300 ms in all) that makes 1.7 s.  A beat may
be late by 0.55 s, which is one lost packet and its repetition.
"""
RTT_SURE_S: Final = 0.3
"""`SILENT_S` holds for round trips up to this; the first answer on a longer way is awaited for so much longer."""
RTT_UNKNOWN_S: Final = 0.5
"""A way that has not been measured yet is taken to be so long, and twice as long after each time that it was left."""
RTT_UNKNOWN_MAX_S: Final = 4.0


class CircuitLiveness:
    """See the module's docstring.

    Args:
        now: Unix seconds.
    """

    def __init__(self, now: float) -> None:
        self.awaits = False
        """The other end says that it has more for us: it beats until all of that has arrived."""
        self._heard_at = now
        """When it was heard last, or could have been at the earliest."""
        self._heard = False
        self._unknown_s = RTT_UNKNOWN_S

    @property
    def peer_unaware(self) -> bool:
        """The other end may not know that there is anything under way, and so does not look."""
        return not (self._heard or self.awaits)

    def heard(self, now: float) -> None:
        """A word came."""
        self._heard_at, self._heard = now, True

    def asked(self, now: float, *, least_s: float | None) -> None:
        """Something is said that wants an answer, after a time in which nothing did.

        Args:
            now: Unix seconds.
            least_s: The shortest round trip; None: not known.
        """
        round_trip_s = self._unknown_s if least_s is None else least_s
        self._heard_at, self._heard = now + max(0.0, round_trip_s - RTT_SURE_S), False

    def silent_at(self, *, under_way: bool) -> float | None:
        """When the relay will have failed; None: there is nothing to be heard.  `under_way`: we have sent something."""
        return self._heard_at + SILENT_S if under_way or self.awaits else None

    def left(self, *, least_s: float | None) -> None:
        """The relay is taken to have failed; without a measurement the way may only have been long."""
        if least_s is None:
            self._unknown_s = min(RTT_UNKNOWN_MAX_S, 2 * self._unknown_s)
