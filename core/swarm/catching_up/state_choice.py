"""Which state to go to: the one where most stand, or the backbone's copy, and which of its files."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from core.base.back_off import BackOff
from core.base.bounds import FOLLOWED_EPOCH_MAX
from core.base.ids import AccountId, PeerId
from core.swarm.presence.ancestry import Stand
from core.swarm.presence.membership import Membership
from core.swarm.words.progress import ProgressReport
from core.swarm.words.states import State, StateName

RETRY_MIN_S: Final = 0.5
PEER_REST_MAX_S: Final = 60.0
STATE_REST_MAX_S: Final = 600.0
LISTEN_S: Final = 10.0
"""Time for which a newcomer waits before it goes where a single peer stands or to a copy, or begins where nobody gives
a file of the others' state, or with its backbone unheard.

A moment after its start it has not heard of all, and the backbone not of who has gone, or come back further."""


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
        """Digest of the last file that was not what it was called, or larger than a state can be."""
        self._listens_since: float | None = None
        """Since when a newcomer waits for more news of where the others stand, unix seconds."""
        self._doubted_at = -math.inf
        """When a download last failed: who gave it may only have been lost for a moment, unix seconds."""

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
        """The files that peers promise of the state where this peer should stand; last the copy of the backbone.

        Where the backbone that let a newcomer in knows of a later state, nobody at the first one counts for it.
        """
        stands = self._membership.stands(now)
        root = self._membership.branches.back.root
        if root is not None and self._membership.branches.undone(mine.name):
            return self._on_the_way_back(root, stands, now)
        missed = self._missed(mine.name, stands, now)
        if missed is not None:
            return [missed]
        given = self._copy(self._told())
        told = self._told() if mine.name.epoch == 0 else None
        copy = given if told is not None else None
        model = copy is not None or (told is not None and told.epoch > 0)
        # There is a model: those at the first state have none yet, and would lead back to the beginning.
        counted = [stand for stand in stands if stand.state.epoch] if model else stands
        # A newcomer's own stand at the first state would weigh against the model, so it has none.
        name = self._membership.branches.head(None if model else mine.name, counted)
        there = [stand.peer for stand in stands if stand.state == name]
        offers = [] if name is None else self._promised(name, now)
        if copy is not None:  # equal states have equal files, and the backbone has said which
            offers = [offer for offer in offers if offer.name != copy.name or offer.digest == copy.digest]
        if nowhere := copy is None and name is None:
            # Nobody says where to go, though there is a model, or the backbone has not been heard.
            waits = model or (told is None and self._membership.backbone is not None)
        else:
            # A lone stranger may be a liar, and a state without a file may get one.
            branches = self._membership.branches
            waits = not offers or (len(set(map(branches.account, there))) == 1 and not any(map(branches.met, there)))
        offers += [] if copy is None else [copy]
        if mine.name.epoch > 0 or not waits:
            self._listens_since = None
        elif self._listens_since is None:
            self._listens_since = now
        elif nowhere:
            # The donor of a download that failed may be lost for a moment only: the wait begins anew.
            self._listens_since = max(self._listens_since, self._doubted_at)
        if offers and not self.listens(now):
            return offers
        # It stays where it is, but its own file may be damaged.
        return self._promised(mine.name, now, held=mine.digest) if name is None or self.listens(now) else []

    def _on_the_way_back(self, root: StateName, stands: Sequence[Stand], now: float) -> list[NewerState]:
        """The files for one whose state was undone: the root, from any donor, for moderators have signed its digest.

        Where nobody gives that any more, the backbone's copy, or the state where those stand that it knows.  A single
        one of these could have gone on from the root by itself, so they come last.
        """
        digest, told = self._membership.branches.back.digest, self._told()
        donors = [
            peer
            for peer, report in sorted(self._membership.live().items())
            if (report.state, report.digest) == (root, digest)
            or (report.copy is not None and (report.copy.state, report.copy.digest) == (root, digest))
        ]
        offers = [NewerState(root, digest, tuple(donors))] if donors else []
        if self._membership.backbone in donors:  # it is waited for, also after a download has failed
            return offers
        given = self._copy(told)
        if given is not None and not self._membership.branches.undone(given.name):
            offers.append(given)
        name = self._membership.branches.head(None, stands, loyal=told is not None)
        offers += self._promised(name, now) if name is not None else []
        return [offer for offer in offers if offer.name != root or offer.digest == digest]

    def _missed(self, mine: StateName, stands: Sequence[Stand], now: float) -> NewerState | None:
        """The backbone's copy, for one who comes back to where nobody gives a state; None: it is not further.

        Many more steps than a file has ancestors may lie between the two, so that one led to the other is believed: the
        backbone kept it from those who trained last.  Who has shared a step since decides with the others.
        """
        copy = self._copy(self._told())
        if not 0 < mine.epoch < (0 if copy is None else copy.name.epoch) or not self._membership.branches.returns:
            return None
        head = self._membership.branches.head(mine, stands)
        if head is None:
            # Nobody has come further; the copy leads on only where nobody trains a model either.
            return None if any(stand.trains and stand.state.epoch for stand in stands) else copy
        # Others have come further: the copy stands in where none of them gives a file.
        return None if self._promised(head, now) else copy

    def _told(self) -> ProgressReport | None:
        """What the backbone that let this peer in reports; None: it is not known, or not heard."""
        backbone = self._membership.backbone
        return None if backbone is None else self._membership.live().get(backbone)

    def _copy(self, told: ProgressReport | None) -> NewerState | None:
        """The copy that the backbone gives, unless it was found to be false."""
        copy, backbone = None if told is None else told.copy, self._membership.backbone
        if copy is None or backbone is None or not copy.epoch or copy.digest == self._false:
            return None
        return NewerState(copy.state, copy.digest, (backbone,))

    def _promised(self, name: StateName, now: float, *, held: bytes = b"") -> list[NewerState]:
        """The files that peers promise of a state: what most promise comes first.

        Equal states have equal files.  Where most have another file than the one that is `held`, that is damaged.  As
        with names, those that were in rounds with this peer decide where any of them trains, and strangers only among
        themselves: a false file may have the true name.
        """
        # Own steps from there would pass the last epoch that a message can name.
        if name.epoch > FOLLOWED_EPOCH_MAX:
            return []
        branches = self._membership.branches
        stands = [stand for stand in self._membership.stands(now) if stand.trains]
        trains = {stand.peer for stand in stands}
        known = bool(held) or any(branches.met(stand.peer) for stand in stands if stand.state == name)
        promised: defaultdict[bytes, list[PeerId]] = defaultdict(list)
        people: defaultdict[bytes, set[AccountId]] = defaultdict(set)
        for peer, report in sorted(self._membership.live().items()):
            if report.digest and report.state == name:
                promised[report.digest].append(peer)
                if peer in trains and (branches.met(peer) or not known):
                    people[report.digest].add(branches.account(peer))
        backed = {file: len(people[file]) + (file == held) for file in promised}
        # The held file counts once, for this peer; without one, a file needs at least one that trains behind it.
        least = backed.get(held, int(bool(held)))
        found = [NewerState(name, file, tuple(peers)) for file, peers in promised.items() if backed[file] > least]
        return sorted(found, key=lambda offer: (backed[offer.digest], offer.digest), reverse=True)

    def listens(self, now: float) -> bool:
        """Whether a newcomer still waits for more news, and makes no history of its own."""
        return self._listens_since is not None and now < self._listens_since + LISTEN_S

    def trust(self, peers: Sequence[PeerId]) -> None:
        """Note that these have given what they promised."""
        for peer in peers:
            self._peers.clear(peer)

    def rest(self, peers: Sequence[PeerId], now: float) -> None:
        """Leave peers alone for a while that have not given what would lead to the state they promise."""
        for peer in peers:
            self._peers.fail(peer, now)

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
        self._doubted_at = now
        if false:
            self._false = wanted.digest
        peers = [self._peers.fail(peer, now, times=times) for peer in wanted.peers]
        # It is worth a look once both the file and one of its donors are due again.
        return max(self._states.fail((wanted.name, wanted.digest), now, times=times), min(peers))
