"""How far our clock is from the others': the median over many peers, so that a few liars cannot move it.

Every answer to a ping carries the answering peer's time; half the round trip later is when it was read here (the rule
of NTP, RFC 5905, section 8).
"""

from statistics import median

from core.base.ids import PeerId

PEERS_MIN = 5
"""Fewer opinions are none: two liars among five do not move the median beyond the honest."""
PEERS_MAX = 64


class ClockSkew:
    """What others' clocks show, one opinion per peer; the oldest opinion goes first.

    Args:
        warn_s: Offsets beyond this are worth telling.
        keep_s: How long an opinion counts.
    """

    def __init__(self, *, warn_s: float, keep_s: float) -> None:
        self._warn_s = warn_s
        self._keep_s = keep_s
        self._opinions: dict[PeerId, tuple[float, float]] = {}
        self._told: float | None = None

    def heard(self, peer: PeerId, theirs: float, *, sent: float, now: float) -> None:
        """`peer` answered with its time what we sent at `sent` and got an answer to at `now`."""
        self._opinions.pop(peer, None)
        self._opinions[peer] = (now, theirs - (sent + now) / 2)
        if len(self._opinions) > PEERS_MAX:
            del self._opinions[next(iter(self._opinions))]

    def offset_s(self, now: float) -> float | None:
        """How far the others' clocks are ahead of ours; None: too few were heard."""
        offsets = [offset for heard, offset in self._opinions.values() if now - heard <= self._keep_s]
        return median(offsets) if len(offsets) >= PEERS_MIN else None

    def news(self, now: float) -> float | None:
        """The offset, if it is worth telling the user and was not told yet; 0.0: all is well again."""
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
