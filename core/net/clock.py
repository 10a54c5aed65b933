"""The one clock of a process: the collaboration's time.  Machines get it as an argument."""

import time
from collections import OrderedDict
from collections.abc import Callable
from statistics import median_low

from core.base.bounds import remember
from core.base.ids import AccountId

STEP_S = 30.0
"""Differences below this are left alone, seconds: half of what a datagram's time may be off by."""
OPINION_S = 30.0
"""How long another peer's clock counts, seconds: peers that are here answer more often."""
PEERS_MIN = 2
"""Number of people whose computers must have answered before they set this clock: one may lie."""
PEERS_MAX = 64
"""Number of peers whose clocks are remembered; the one whose answer is oldest is forgotten first."""


def steady_s() -> float:
    """Seconds since some moment, which nobody sets, and which the computer's sleep does not stop."""
    # Linux names the clock that counts sleep; macOS counts it in CLOCK_MONOTONIC, Windows in `time.monotonic`.
    kind = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
    return time.monotonic() if kind is None else time.clock_gettime(kind)


class Clock:
    """Unix seconds of the collaboration: a steady clock, and an offset that others have confirmed.

    The computer's wall clock is the first guess only.  Whatever it shows afterwards changes nothing: a step of it is a
    person's, or a mistake.  The backbone's time corrects the guess when this computer joins (`correct`).  Later the
    answers of other peers move the clock forward (`heard`), since a steady clock loses time where a virtual machine
    stands still.  They never move it back: machines rely on that `now` only grows.

    Args:
        authority: Whether newcomers get their time from here: it follows peers only as far as the wall clock shows, so
            that no majority of peers can set the time of the collaboration.
        wall: Unix seconds of the system.
        steady: Seconds that never go back and are never set.
    """

    def __init__(
        self,
        *,
        authority: bool = False,
        wall: Callable[[], float] = time.time,  # noqa: TID251 - this is the edge that the rule names
        steady: Callable[[], float] = steady_s,
    ) -> None:
        self.wall = wall
        """The computer's own clock, for the person's hours and notices: it may be wrong, and it may be set."""
        self._authority = authority
        self._steady = steady
        self._offset = wall() - steady()
        self._opinions: OrderedDict[AccountId, tuple[float, float]] = OrderedDict()
        """By account: when it answered, and the offset that its clock has, both by the steady clock."""

    def now(self) -> float:
        """The present time in Unix seconds."""
        return self._steady() + self._offset

    @property
    def wall_ahead_s(self) -> float:
        """How far the computer's wall clock is ahead of the collaboration's time, seconds."""
        return self.wall() - self.now()

    def correct(self, ahead_s: float) -> None:
        """Follow a trusted clock, the backbone's.  Only while no machine runs may it go back.

        Args:
            ahead_s: How far that clock is ahead of this one, seconds.
        """
        self._offset += ahead_s

    def heard(self, account: AccountId, ahead_s: float) -> None:
        """Note the clock of another peer, and follow the peers forward if at least half of them are ahead.

        The lower median decides, so that less than half of those that answered cannot move this clock beyond what one
        of the others says.

        Args:
            account: Account of a peer that has signed its time in answer to this one; its last answer counts.
            ahead_s: How far its clock is ahead of this one, seconds.
        """
        at = self._steady()
        remember(self._opinions, account, (at, self._offset + ahead_s), PEERS_MAX)
        if ahead_s <= STEP_S:
            return
        offsets = [offset for answered, offset in self._opinions.values() if at - answered <= OPINION_S]
        if len(offsets) < PEERS_MIN:
            return
        middle = median_low(offsets)
        if self._authority:
            middle = min(middle, self.wall() - at)
        if middle - self._offset > STEP_S:
            self._offset = middle
