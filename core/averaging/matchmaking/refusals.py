"""Plans that were refused, and by whom."""

from collections.abc import Collection
from typing import Final

from core.averaging.matchmaking.attempts import failures
from core.base.ids import PeerId

REFUSERS_MAX: Final = 256
LONE_REFUSALS: Final = 2
MANY: Final = 3
"""This part of the members, one in so many, is enough to be believed."""


class Refusals:
    """Who refuses a plan ends its round for all, so that a bad plan costs no time.

    Whoever is alone with it, or nearly so, again and again, is not heeded for a while, like leaders whose calls come to
    nothing: it stays out, and the others go on.
    """

    def __init__(self) -> None:
        self._by: dict[bytes, set[PeerId]] = {}
        self._lonely = failures(free=LONE_REFUSALS)

    def note(self, round_: bytes, peer: PeerId, *, members: int, now: float) -> None:
        """`peer` refuses the plan of this round of so many members.

        Those who refused one before it, and were few, stand there with their opinion.
        """
        for other in [known for known in self._by if known != round_]:
            refusers = self._by.pop(other)
            if few(refusers, members):
                for lonely in refusers:
                    self._lonely.fail(lonely, now)
        refusers = self._by.setdefault(round_, set())
        if len(refusers) < REFUSERS_MAX:
            refusers.add(peer)

    def by(self, round_: bytes) -> set[PeerId]:
        """Who has refused it."""
        return self._by.get(round_, set())

    def heeded(self, round_: bytes, now: float) -> set[PeerId]:
        """Who has refused it and is heeded."""
        return {peer for peer in self.by(round_) if not self._lonely.is_excluded(peer, now)}


def few(refusers: Collection[PeerId], members: int) -> bool:
    """Whether so few of a round's members refuse its plan that they may be the ones who are wrong."""
    return len(refusers) == 1 or MANY * len(refusers) < members
