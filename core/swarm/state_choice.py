"""Which state to go to: the one where most stand, or for newcomers the backbone's copy, and which of its files."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from core.base.back_off import BackOff
from core.base.bounds import FOLLOWED_EPOCH_MAX
from core.base.ids import PeerId
from core.swarm.membership import Membership
from core.swarm.progress import ProgressReport
from core.swarm.states import State, StateName

RETRY_MIN_S: Final = 0.5
PEER_REST_MAX_S: Final = 60.0
STATE_REST_MAX_S: Final = 600.0
LISTEN_S: Final = 10.0
"""A newcomer goes where one stranger stands alone after so long: a moment after its start it has not heard of all."""
GIVES_S: Final = 20.0
"""A newcomer waits so long for a backbone that stands further to give its copy of the model.

It does when it has noticed that the last who trained has gone.  Of 90 simulated worlds in which all came back with
empty disks, 6 lost the model with 5 seconds, and none with 10."""


@dataclass(frozen=True, slots=True)
class NewerState:
    """A state, and who promises to give the file with this digest for it."""

    name: StateName
    digest: bytes
    peers: tuple[PeerId, ...]


class StateChoice:
    """Chooses among what peers promise, and remembers files and peers that disappointed.

    Args:
        membership: Knows who promises what, and who stands where.
        random: Spreads the rests.
    """

    def __init__(self, membership: Membership, *, random: Random) -> None:
        self._membership = membership
        self._states = BackOff[tuple[StateName, bytes]](first=RETRY_MIN_S, longest=STATE_REST_MAX_S, random=random)
        self._peers = BackOff[PeerId](first=RETRY_MIN_S, longest=PEER_REST_MAX_S, random=random)
        self._false: bytes | None = None
        """Digest of the last file that the trainer refused."""
        self._listens_since: float | None = None
        """Since when a newcomer waits for more news of where the others stand, unix seconds."""
        self._listens_s = LISTEN_S
        """For how long."""

    def best(self, mine: State, now: float) -> NewerState | None:
        """The state to fetch, without the files and the peers that have disappointed lately; None: ours is right."""
        return self._usable(self.offers(mine, now), now)

    def copy_of(self, name: StateName, now: float) -> NewerState | None:
        """The file of this state to fetch, with the same exceptions; None: nobody gives one."""
        return self._usable(self._promised(name, now), now)

    def _usable(self, offers: Sequence[NewerState], now: float) -> NewerState | None:
        for offer in offers:
            peers = tuple(peer for peer in offer.peers if not self._peers.is_excluded(peer, now))
            if peers and not self._states.is_excluded((offer.name, offer.digest), now):
                return NewerState(offer.name, offer.digest, peers)
        return None

    def offers(self, mine: State, now: float) -> list[NewerState]:
        """The files that peers promise of the state where this peer should stand."""
        kept = self._model() if mine.name.epoch == 0 else None
        if kept is not None and kept.digest:
            return self._promised(kept.state, now)
        stands = self._membership.stands(now)
        name = self._membership.branches.head(mine.name, stands)
        there = [stand.peer for stand in stands if stand.state == name]
        stranger = len(there) == 1 and not self._membership.branches.met(there[0])
        nobody_gives = name is None and kept is not None  # the model, which the backbone knows of
        if mine.name.epoch > 0 or not (stranger or nobody_gives):
            self._listens_since = None
        elif self._listens_since is None:
            self._listens_since = now
        self._listens_s = GIVES_S if nobody_gives else LISTEN_S
        if name is None or self.listens(now):
            return self._promised(mine.name, now, held=mine.digest)
        return self._promised(name, now)

    def _model(self) -> ProgressReport | None:
        """What the backbone says of the state where it stands; None: that is the first, or its copy is false."""
        told = self._membership.live().get(self._membership.backbone) if self._membership.backbone else None
        return told if told is not None and told.epoch > 0 and told.digest != self._false else None

    def _promised(self, name: StateName, now: float, *, held: bytes = b"") -> list[NewerState]:
        """The files that peers promise of a state: what most promise comes first.

        Equal states have equal files.  Where most have another file than the one that is `held`, that is damaged.
        """
        if name.epoch > FOLLOWED_EPOCH_MAX:
            return []
        believed = {stand.peer for stand in self._membership.stands(now) if stand.trains} | {self._membership.backbone}
        promised: defaultdict[bytes, list[PeerId]] = defaultdict(list)
        backed = Counter([held] if held else ())
        for peer, report in sorted(self._membership.live().items()):
            if report.digest and report.state == name:
                promised[report.digest].append(peer)
                backed[report.digest] += peer in believed
        least = backed[held]
        found = [NewerState(name, file, tuple(peers)) for file, peers in promised.items() if backed[file] > least]
        return sorted(found, key=lambda offer: (backed[offer.digest], offer.digest), reverse=True)

    def listens(self, now: float) -> bool:
        """Whether a newcomer still waits for more news, and makes no history of its own."""
        return self._listens_since is not None and now < self._listens_since + self._listens_s

    def trust(self, peers: Sequence[PeerId]) -> None:
        """Note that these have given what they promised."""
        for peer in peers:
            self._peers.clear(peer)

    def doubt(self, wanted: NewerState, now: float, *, times: int = 1, false: bool = False) -> float:
        """Leave a file and its donors alone for a while.

        Args:
            wanted: The file.
            now: Unix seconds.
            times: For how many failures it counts.
            false: Whether the file is not what it was called.

        Returns:
            When to look again, unix seconds.
        """
        if false:
            self._false = wanted.digest
        peers = [self._peers.fail(peer, now, times=times) for peer in wanted.peers]
        return max(self._states.fail((wanted.name, wanted.digest), now, times=times), min(peers))
