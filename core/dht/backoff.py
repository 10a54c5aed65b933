"""Peers that did not answer are left alone for a while, longer each time."""

from core.base.ids import PeerId


class Backoff:
    """Who is not to be asked, and until when.

    Args:
        first_s: The first rest; each further failure doubles it.
        longest_s: No rest is longer.
        limit: Peers remembered; the ones that failed longest ago are forgotten first.
    """

    def __init__(self, first_s: float, longest_s: float, *, limit: int = 1000) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._limit = limit
        self._rests: dict[PeerId, tuple[float, float]] = {}

    def failed(self, peer: PeerId, now: float) -> None:
        """`peer` did not answer."""
        _, last_s = self._rests.pop(peer, (0.0, 0.0))
        rest_s = min(last_s * 2 or self._first_s, self._longest_s)
        self._rests[peer] = (now + rest_s, rest_s)
        if len(self._rests) > self._limit:
            del self._rests[next(iter(self._rests))]

    def cleared(self, peer: PeerId) -> None:
        """`peer` is there after all."""
        self._rests.pop(peer, None)

    def resting(self, peer: PeerId, now: float) -> bool:
        """Whether `peer` is to be left alone."""
        rest = self._rests.get(peer)
        return rest is not None and now < rest[0]
