"""Uses of invitations that are held for newcomers who prepare to come in: they fetch files and look whether they can.

A use is spent with the first pass; until then it is held, for the last one shall not be given away while a newcomer
fetches what the pass is good for.

What the worst stranger gains who knows an invitation: `HELD_MAX` of its uses stay with nobody as long as it goes on
asking, from however many addresses, and the others come in.  With passes for keys that it invents it could spend all of
them for good.
"""

from typing import Final

from core.base.ids import PeerId

HELD_S: Final = 180.0
"""How long a use is held: a collaboration's files are there by then on most lines."""
HELD_MAX: Final = 4
"""Number of uses of one invitation that are held; more newcomers come in as long as there are uses beside those."""


class HeldUses:
    """Who is about to come in, by invitation and key.  Nothing is kept on the disk."""

    def __init__(self) -> None:
        self._until: dict[tuple[str, PeerId], float] = {}

    def hold(self, invitation: str, peer: PeerId, now: float) -> None:
        """Hold a use, if there is room; one that is held is not held for longer.

        Args:
            invitation: `Invitation.id`.
            peer: Who says that it is about to come in; nothing is proven yet.
            now: Unix seconds.
        """
        if self.by_others(invitation, peer, now) < HELD_MAX:
            self._until.setdefault((invitation, peer), now + HELD_S)

    def by_others(self, invitation: str, peer: PeerId | None, now: float) -> int:
        """Number of uses that are held for others.

        Args:
            invitation: `Invitation.id`.
            peer: Who asks; None: somebody who only looks.
            now: Unix seconds.
        """
        self._until = {who: until for who, until in self._until.items() if now <= until}
        return sum(held == invitation and holder != peer for held, holder in self._until)

    def release(self, invitation: str, peer: PeerId) -> None:
        """It has come in, so that nothing is held for it any more."""
        self._until.pop((invitation, peer), None)
