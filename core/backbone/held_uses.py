"""Uses of invitations that are held for newcomers who prepare to come in: they fetch files and look whether they can.

A use is spent with the first pass; until then it is held, for the last one shall not be given away while a newcomer
fetches what the pass is good for.

What the worst stranger gains who knows an invitation: of its uses `HOUSEHOLD_MAX` stay with nobody for each household
that it asks from, as long as it goes on asking.  With passes for keys that it invents it could spend them for good.
"""

from typing import Final

from core.base.ids import PeerId

HELD_S: Final = 180.0
"""How long a use is held: a collaboration's files are there by then on most lines."""
HOUSEHOLD_MAX: Final = 4
"""Number of uses that are held for the newcomers of one household; more of them come in as long as there are uses."""
HELD_MAX: Final = 1000


class HeldUses:
    """Who is about to come in, by invitation and key.  Nothing is kept on the disk."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, PeerId], tuple[float, str]] = {}
        """Until when, and for which household; the oldest first."""

    def hold(self, invitation: str, peer: PeerId, *, household: str, now: float) -> None:
        """Hold a use, if there is room; one that is held is not held for longer.

        Args:
            invitation: `Invitation.id`.
            peer: Who says that it is about to come in; nothing is proven yet.
            household: Where it asks from.
            now: Unix seconds.
        """
        self._forget(now)
        same = sum(place == household for _, place in self._held.values())
        if (invitation, peer) not in self._held and same < HOUSEHOLD_MAX and len(self._held) < HELD_MAX:
            self._held[invitation, peer] = now + HELD_S, household

    def by_others(self, invitation: str, peer: PeerId | None, now: float) -> int:
        """Number of uses that are held for others.

        Args:
            invitation: `Invitation.id`.
            peer: Who asks; None: somebody who only looks.
            now: Unix seconds.
        """
        self._forget(now)
        return sum(held == invitation and holder != peer for held, holder in self._held)

    def release(self, invitation: str, peer: PeerId) -> None:
        """It has come in, so that nothing is held for it any more."""
        self._held.pop((invitation, peer), None)

    def _forget(self, now: float) -> None:
        ended = [who for who, (until, _) in self._held.items() if now > until]
        for who in ended:
            del self._held[who]
