"""Peers that did not answer are left alone for a while, longer each time.

A peer and its address count together: who spreads a wrong address of a peer does not make us avoid the right one.
"""

from core.dht.messages import Contact


class Backoff:
    """Who is not to be asked, and until when.

    Args:
        first_s: The first rest; each further failure doubles it.
        longest_s: No rest is longer.
        limit: Contacts remembered; the ones that failed longest ago are forgotten first.
    """

    def __init__(self, first_s: float, longest_s: float, *, limit: int = 1000) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._limit = limit
        self._rests: dict[Contact, tuple[float, float]] = {}

    def failed(self, contact: Contact, now: float) -> None:
        """`contact` did not answer."""
        _, last_s = self._rests.pop(contact, (0.0, 0.0))
        rest_s = min(last_s * 2 or self._first_s, self._longest_s)
        self._rests[contact] = (now + rest_s, rest_s)
        if len(self._rests) > self._limit:
            del self._rests[next(iter(self._rests))]

    def cleared(self, contact: Contact) -> None:
        """`contact` is there after all."""
        self._rests.pop(contact, None)

    def resting(self, contact: Contact, now: float) -> bool:
        """Whether `contact` is to be left alone."""
        rest = self._rests.get(contact)
        return rest is not None and now < rest[0]
