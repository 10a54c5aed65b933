"""Which newer state to go after, and from whom; and how long to leave it alone when it was not to be had."""

from random import Random

from core.base.back_off import BackOff
from core.base.ids import PeerId
from core.swarm.fetch import DONORS_MAX
from core.swarm.membership import Membership, NewerState
from core.swarm.states import StateName

RETRY_MIN_S = 0.5
PEER_REST_MAX_S = 60.0
STATE_REST_MAX_S = 600.0


class Pursuit:
    """Chooses among the states that peers promise, and remembers which states and which peers have disappointed.

    Args:
        membership: Who promises what.
        random: Chooses the donors, and spreads the rests.
    """

    def __init__(self, membership: Membership, random: Random) -> None:
        self._membership = membership
        self._random = random
        self._states = BackOff[tuple[StateName, bytes]](first=RETRY_MIN_S, longest=STATE_REST_MAX_S, random=random)
        self._peers = BackOff[PeerId](first=RETRY_MIN_S, longest=PEER_REST_MAX_S, random=random)
        self._wanted: NewerState | None = None
        self.retry_at: float | None = None
        """When to look again after a failure, unix seconds."""

    def due(self, now: float) -> bool:
        """Whether the rest after a failure is over; true once."""
        if self.retry_at is None or self.retry_at > now:
            return False
        self.retry_at = None
        return True

    def resting(self, now: float) -> bool:
        """Whether the last pursuit has failed a short while ago."""
        return self.retry_at is not None and self.retry_at > now

    def best(self, mine: StateName, now: float) -> NewerState | None:
        """The greatest state above `mine`, without the states and the peers that have disappointed lately."""
        for offer in self._membership.offers(mine):
            peers = tuple(peer for peer in offer.peers if not self._peers.is_excluded(peer, now))
            if peers and not self._states.is_excluded((offer.name, offer.digest), now):
                return NewerState(offer.name, offer.digest, peers)
        return None

    def begin(self, offer: NewerState) -> list[PeerId]:
        """Go after this state; returns the donors to ask, drawn among its peers."""
        donors = self._random.sample(offer.peers, min(len(offer.peers), DONORS_MAX))
        self._wanted = NewerState(offer.name, offer.digest, tuple(donors))
        return donors

    def doubt(self, now: float, *, times: int = 1) -> None:
        """The state was not given, or is not what it was called; `times`: as bad as so many failures."""
        wanted = self._wanted
        if wanted is None:
            return
        ends = [self._states.fail((wanted.name, wanted.digest), now, times=times)]
        ends += [self._peers.fail(peer, now, times=times) for peer in wanted.peers]
        self._wanted, self.retry_at = None, min(ends)

    def arrived(self, name: StateName) -> bool:
        """The trainer holds a state; True, and its donors are trusted again, when it is the one that was wanted."""
        wanted = self._wanted
        if wanted is None or name != wanted.name:
            return False
        for peer in wanted.peers:
            self._peers.clear(peer)
        self._wanted = None
        return True
