"""Clock skew: this computer's clock against the median over many peers, so that a few liars cannot move it.

Every answer to a ping carries the answering peer's time; half the round trip later is when it was read here (the rule
of NTP, RFC 5905, section 8).
"""

from statistics import median

from core.base.ids import PeerId

PEERS_MIN = 5
"""Number of clocks below which there is no result: two liars among five do not move the median beyond the honest."""
PEERS_MAX = 64


class ClockSkew:
    """Offsets of other clocks, one per peer; the oldest is forgotten first.

    Args:
        warn_s: Offsets beyond this are reported, seconds.
        keep_s: How long an offset counts, seconds.
    """

    def __init__(self, *, warn_s: float, keep_s: float) -> None:
        self._warn_s = warn_s
        self._keep_s = keep_s
        self._opinions: dict[PeerId, tuple[float, float]] = {}
        self._told: float | None = None

    def heard(self, peer: PeerId, theirs: float, *, sent: float, now: float) -> None:
        """Note the clock of a peer.

        Args:
            peer: The peer.
            theirs: Its clock in the answer, Unix seconds.
            sent: When the request was sent, Unix seconds.
            now: When the answer came, Unix seconds.
        """
        self._opinions.pop(peer, None)
        self._opinions[peer] = (now, theirs - (sent + now) / 2)
        if len(self._opinions) > PEERS_MAX:
            del self._opinions[next(iter(self._opinions))]

    def offset_s(self, now: float) -> float | None:
        """Median offset of the others' clocks ahead of this one, seconds; None: too few were heard."""
        offsets = [offset for heard, offset in self._opinions.values() if now - heard <= self._keep_s]
        return median(offsets) if len(offsets) >= PEERS_MIN else None

    def news(self, now: float) -> float | None:
        """The offset, if it is worth reporting and was not reported yet; 0.0: a reported offset has vanished."""
        offset = self.offset_s(now)
        if offset is None:
            return None
        wrong = abs(offset) > self._warn_s
        if wrong and (self._told is None or abs(offset - self._told) > self._warn_s / 2):
            self._told = offset
            return offset
        if not wrong and self._told is not None:
            self._told = None
            return 0.0
        return None
