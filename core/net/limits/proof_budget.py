"""How much work datagrams may cost: those of strangers that turn out to prove nothing, and those of each member.

Reading a pass and checking a signature takes about 200 us, and anybody can send a datagram that fails at it.  Failures
are counted by where they come from, and a source with too many of them is not looked at for a moment.

What the worst stranger gains: from its own addresses, so much of a core as 128 households with `FAILED_PER_S` failures
each take, a tenth; meanwhile peers that this one does not know yet may have to try again.  Peers it knows are heard, at
the addresses at which they were heard before; to silence one of them, a stranger must forge its address as well, and
lasts as long as it keeps sending.

What the worst member gains: `SHARE` of a core, and the look at a header, 25 us with the reading, for each datagram
beyond that: 20 % of a core at 6,000 a second.  Only what is the member's own is counted for it, so nobody uses up
another's.
"""

from collections import OrderedDict
from typing import Final

from core.base.ids import PeerId
from core.base.rate_limit import RateLimit

FAILED_PER_S: Final = 4.0
FAILED_BURST: Final = 16
"""Failures of one source: an honest peer has none but after its pass has expired."""
SHARE: Final = 0.05
SHARE_BURST_S: Final = 0.5
"""Processor time for one member's datagrams, seconds in a second: an honest one sends 20 in a second at most, which
take 160 us each, on a slow computer 600."""
SOURCES_MAX: Final = 128
"""Number of households that are counted at a time; beyond it, all others share one count."""
MET_MAX: Final = 4096
"""Number of peers that are known at an address; the one heard longest ago is forgotten first."""

_Met = tuple[PeerId, str]


class ProofBudget:
    """Tells which datagrams may be looked at."""

    def __init__(self) -> None:
        self._met: OrderedDict[_Met, None] = OrderedDict()
        self._of_met = RateLimit[_Met](rate_per_s=FAILED_PER_S, burst=FAILED_BURST, limit=MET_MAX)
        self._of_members = RateLimit[PeerId](rate_per_s=SHARE, burst=SHARE_BURST_S, limit=MET_MAX)
        self._of_strangers = RateLimit[str](rate_per_s=FAILED_PER_S, burst=FAILED_BURST, limit=SOURCES_MAX)

    def is_beyond_share(self, peer: PeerId, now: float) -> bool:
        """Whether a member's datagrams have taken more than their share of the processor.

        Args:
            peer: The member.
            now: Unix seconds.
        """
        return self._of_members.exceeds(peer, now)

    def allows(self, peer: PeerId | None, source: str, now: float) -> bool:
        """Whether a datagram may be looked at.

        Args:
            peer: Whose pass it shows, if that is known.
            source: The household that it comes from (`core.base.rate_limit.household`).
            now: Unix seconds.
        """
        if peer is not None and self.is_beyond_share(peer, now):
            return False
        if peer is not None and (peer, source) in self._met:
            return not self._of_met.exceeds((peer, source), now)
        return not self._of_strangers.exceeds(source, now)

    def failed(self, peer: PeerId | None, source: str, now: float) -> None:
        """Count a datagram that proved nothing.

        Args:
            peer: Whose pass it shows, if that is known.
            source: The household that it comes from.
            now: Unix seconds.
        """
        if peer is not None and (peer, source) in self._met:
            self._of_met.spend((peer, source), now)
        else:
            self._of_strangers.spend(source, now)

    def worked(self, peer: PeerId, seconds: float, now: float) -> None:
        """Count processor time that a member's own datagram took.

        Args:
            peer: Its proven sender.
            seconds: The time.
            now: Unix seconds.
        """
        self._of_members.spend(peer, now, seconds)

    def held(self, peer: PeerId, source: str) -> None:
        """Note that a datagram was its sender's.

        Args:
            peer: The sender.
            source: The household that it comes from.
        """
        self._met[peer, source] = None
        self._met.move_to_end((peer, source))
        if len(self._met) > MET_MAX:
            self._met.popitem(last=False)
