"""When a new snapshot goes out: soon after something changed, never more often than a few times a second."""

from collections.abc import Callable

INTERVAL_S = 0.25


class Announcer:
    """Calls `publish` once for many marks.

    Args:
        publish: Sends the whole snapshot.  Called from the loop, never from within `mark`.
        later: Calls a function after a delay in seconds (`loop.call_later`).
        now: The clock of `later`, in seconds (`loop.time`).
        interval_s: Least time between two calls of `publish`.
    """

    def __init__(
        self,
        publish: Callable[[], None],
        *,
        later: Callable[[float, Callable[[], None]], object],
        now: Callable[[], float],
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._publish = publish
        self._later = later
        self._now = now
        self._interval_s = interval_s
        self._next = now()
        self._pending = False

    def mark(self) -> None:
        """Note a change, to be published soon."""
        if self._pending:
            return
        self._pending = True
        self._later(max(0.0, self._next - self._now()), self._fire)

    def _fire(self) -> None:
        self._pending = False
        self._next = self._now() + self._interval_s
        self._publish()
