"""What is held against peers, of whatever kind: reasons add levels, and levels mean rests that double."""

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from core.base.ids import PeerId

PEERS_MAX: Final = 256
"""In one book of accounts; the one with the oldest reason is forgotten first."""


@dataclass(slots=True)
class _Account:
    level: int = 0
    until: float = 0.0
    last: float = 0.0


class Accounts:
    """One matter in which peers may be a nuisance.  `now` is in any unit that only grows: seconds, or rounds.

    Args:
        first: How long the first rest is, in units of `now`; each further level makes it twice as long.
        most: The highest level.
        free: So many levels mean no rest yet: it happens to the best.
        fade: After each such time without a new reason...
        faded: ... so many levels are made good for.
    """

    def __init__(self, *, first: float, most: int, free: int = 0, fade: float = math.inf, faded: int = 1) -> None:
        self._first = first
        self._most = most
        self._free = free
        self._fade = fade
        self._faded = faded
        self._of: OrderedDict[PeerId, _Account] = OrderedDict()

    def blame(self, peer: PeerId, now: float, *, levels: int = 1) -> None:
        """There is a new reason, as bad as that many."""
        account = self._of.pop(peer, _Account())
        level = min(self._left(account, now) + levels, self._most)
        beyond = level - self._free
        until = now + self._first * (1 << (beyond - 1)) if beyond > 0 else account.until
        self._of[peer] = _Account(level, until, now)
        if len(self._of) > PEERS_MAX:
            self._of.popitem(last=False)

    def praise(self, peer: PeerId, now: float) -> None:
        """It did well: that makes good for one level."""
        account = self._of.get(peer)
        if account is not None:
            account.level, account.last = self._left(account, now) - 1, now
            if account.level <= 0:
                del self._of[peer]

    def clear(self, peer: PeerId) -> None:
        """All is made good for."""
        self._of.pop(peer, None)

    def resting(self, peer: PeerId, now: float) -> bool:
        """Whether it is to be done without."""
        account = self._of.get(peer)
        return account is not None and now < account.until

    def level(self, peer: PeerId, now: float) -> int:
        """How much is held against it."""
        account = self._of.get(peer)
        return 0 if account is None else self._left(account, now)

    def _left(self, account: _Account, now: float) -> int:
        times = max(0.0, now - account.last) / self._fade
        return max(0, account.level - int(times) * self._faded)


FREE: Final = 2
"""Calls that may come to nothing before a rest follows the next one."""
CALL_REST_S: Final = 2.0
CALL_LEVELS: Final = 7
FORGET_S: Final = 120.0


def fruitless_calls() -> Accounts:
    """Leaders whose calls come to nothing, in seconds.

    Whoever is called stands still until a plan comes, so calling is a way to keep others from training.  A leader that
    calls and makes no plan is followed a few times; then it rests, for 2 s to 32 s.  A plan, or two minutes, make good
    for everything (`Accounts.clear`).
    """
    return Accounts(first=CALL_REST_S, most=CALL_LEVELS, free=FREE, fade=FORGET_S, faded=CALL_LEVELS)
