"""Which signed requests a desk heeds: those signed just now, for the first time, and not too often of one requester."""

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from core.base.problems import Busy, NotTrusted
from core.base.rate_limit import RateLimit

SIGNED_S: Final = 120.0
"""Seconds by which a member's clock may differ from the desk's: twice what a pass may be off by."""
R = TypeVar("R", bound=Hashable)


class FreshRequests(Generic[R]):
    """Knows the nonces of requests whose moment still counts.

    Args:
        rate_per_s: Requests of one requester in the long run.
        burst: Requests of one requester at once.
        too_often: Said where there are more.
    """

    def __init__(self, *, rate_per_s: float, burst: int, too_often: str) -> None:
        self._asked = RateLimit[R](rate_per_s=rate_per_s, burst=burst)
        self._too_often = too_often
        self._nonces: dict[bytes, float] = {}
        """Until when each counts, Unix seconds."""

    def take(self, requester: R, *, at: float, nonce: bytes, now: float) -> None:
        """Count a request whose signature holds.

        Args:
            requester: Who has signed it.
            at: When, Unix seconds.
            nonce: What the requester has drawn for it.
            now: Unix seconds.

        Raises:
            NotTrusted: it was signed at another time, or came before.
            Busy: the requester has asked too often.
        """
        if abs(now - at) > SIGNED_S:
            raise NotTrusted("This request was signed at another time.", hint="Set this computer's clock.")
        self._nonces = {known: until for known, until in self._nonces.items() if now <= until}
        if nonce in self._nonces:
            raise NotTrusted("This request was made already.")
        if not self._asked.admits(requester, now):
            raise Busy(self._too_often, hint="Wait for some minutes.")
        self._nonces[nonce] = at + SIGNED_S
