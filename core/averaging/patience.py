"""Leaders whose calls come to nothing, again and again: for a while they are not followed."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from core.base.ids import PeerId

FREE: Final = 3
"""Calls that may come to nothing before a rest follows: it happens to the best."""
FIRST_S: Final = 2.0
LONGEST_S: Final = 32.0
FORGET_S: Final = 120.0
LEADERS_MAX: Final = 256


@dataclass(slots=True)
class _Account:
    fruitless: int = 0
    until: float = 0.0
    last: float = 0.0


class Patience:
    """Whoever is called stands still until a plan comes, so calling is a way to keep others from training.

    A leader that calls and makes no plan is followed a few times; then it rests, each time twice as long.  A plan, or
    two minutes, make good for everything.
    """

    def __init__(self) -> None:
        self._accounts: OrderedDict[PeerId, _Account] = OrderedDict()

    def disappointed(self, leader: PeerId, now: float, *, times: int = 1) -> None:
        """A call of `leader` came to nothing, as bad as that many of them."""
        account = self._accounts.pop(leader, _Account())
        if now - account.last > FORGET_S:
            account = _Account()
        account.last = now
        account.fruitless += times
        beyond = account.fruitless - FREE
        if beyond >= 0:
            account.until = now + min(FIRST_S * (1 << min(beyond, 10)), LONGEST_S)
        self._accounts[leader] = account
        if len(self._accounts) > LEADERS_MAX:
            self._accounts.popitem(last=False)

    def content(self, leader: PeerId) -> None:
        """`leader` made a plan."""
        self._accounts.pop(leader, None)

    def over(self, leader: PeerId, now: float) -> bool:
        """Whether `leader` is not to be followed now."""
        account = self._accounts.get(leader)
        return account is not None and now < account.until
