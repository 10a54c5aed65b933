"""Catching up: which newer state to download, from which peers, and how long to leave alone what was not given."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from core.base.back_off import BackOff
from core.base.bounds import FOLLOWED_EPOCH_MAX
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Tick, earliest
from core.base.state_header import LEDGER_BYTES_MAX
from core.base.trace import Trace
from core.swarm.donor import StateDonor
from core.swarm.fetch import DONORS_MAX, Fetched, FetchFailed, Fetching, StateFetch, StateSink
from core.swarm.ledger_reader import LedgerReader
from core.swarm.membership import Membership
from core.swarm.messages import ChunkGive, StateDenied, StateOffer
from core.swarm.orders import Changed
from core.swarm.states import State, StateName

RETRY_MIN_S: Final = 0.5
PEER_REST_MAX_S: Final = 60.0
STATE_REST_MAX_S: Final = 600.0
STATE_SLACK_BYTES: Final = 64 * 1024 + 2 * LEDGER_BYTES_MAX
"""By so much a state of this collaboration may be larger than the own: only their ledgers differ in size."""
DEADLY: Final = 4
"""Number of failures in a row that a state counts for if the trainer went while it was loading it."""
LISTEN_S: Final = 10.0
"""A newcomer goes where one stranger stands alone after so long: a moment after its start it has not heard of all."""
FALSE: Final = 8
"""Number of failures that a state counts for which is not what it was called."""


@dataclass(frozen=True, slots=True)
class NewerState:
    """A state, and who promises to give the file with this digest for it."""

    name: StateName
    digest: bytes
    peers: tuple[PeerId, ...]


@dataclass(frozen=True, slots=True)
class StateFetched:
    """A newer state is on the disk, verified: the trainer may load it; `arrived` or `refused` follows."""

    name: StateName
    location: str


@dataclass(frozen=True, slots=True)
class CatchUpFailed:
    """Nobody could give the state; `due` says when to look again."""


class CatchUp:
    """Chooses among the states that peers promise, downloads one, and remembers states and peers that disappointed.

    Args:
        membership: Knows who promises what.
        donor: Knows how large a state of this collaboration is.
        sink: Where a downloaded state is put together.
        random: Draws the donors, and spreads the rests.
        trace: Counts what others do wrong.
    """

    MESSAGES: Final = (StateOffer, StateDenied, ChunkGive)

    def __init__(
        self, *, membership: Membership, donor: StateDonor, sink: StateSink, random: Random, trace: Trace
    ) -> None:
        self._membership = membership
        self.branches = membership.branches
        """Which state came from which."""
        self._donor = donor
        self._random = random
        self._trace = trace
        self._fetch = StateFetch(sink=sink, trace=trace)
        self._reader = LedgerReader(trace=trace)
        self._states = BackOff[tuple[StateName, bytes]](first=RETRY_MIN_S, longest=STATE_REST_MAX_S, random=random)
        self._peers = BackOff[PeerId](first=RETRY_MIN_S, longest=PEER_REST_MAX_S, random=random)
        self._wanted: NewerState | None = None
        self._alone_since: float | None = None
        """Since when a stranger stands alone where this newcomer would go, unix seconds."""
        self._retry_at: float | None = None
        """When to look again after a failure, unix seconds."""
        self.fetching: Fetching | None = None
        """How far the download is; None: there is none."""

    @property
    def deadline(self) -> float | None:
        """When the download, or the owner by way of `due`, has something to do."""
        return earliest(self._fetch.deadline, self._reader.deadline, self._retry_at)

    def handle(
        self, event: Received[StateOffer | StateDenied | ChunkGive] | Tick | Lost, now: float
    ) -> Sequence[object]:
        """Advance the download by one event."""
        outputs: list[object] = list(self._reader.handle(event, now))
        for output in self._fetch.handle(event, now):
            match output:
                case Fetching():
                    self.fetching = output
                    outputs.append(Changed())
                case Fetched(name=name, location=location):
                    self.fetching = None
                    outputs.append(StateFetched(name, location))
                case FetchFailed():
                    self._trace.mark("state.fetch.failed")
                    self.fetching = None
                    self._doubt(now)
                    outputs.append(CatchUpFailed())
                case _:
                    outputs.append(output)
        return outputs

    # --- which state -------------------------------------------------------------------------------------------------

    def due(self, now: float) -> bool:
        """Whether the rest after a failure is over; true once."""
        if self._retry_at is None or self._retry_at > now:
            return False
        self._retry_at = None
        return True

    def rests(self, mine: State, now: float) -> bool:
        """Whether it is no use to go on where most do not stand, though there is nothing to fetch just now.

        A download has failed a short while ago, or a newcomer listens.
        """
        failed = self._retry_at is not None and self._retry_at > now
        return self._listens(now) or (failed and bool(self._offers(mine, now)))

    def best(self, mine: State, now: float) -> NewerState | None:
        """The state to fetch, without the files and the peers that have disappointed lately; None: ours is right."""
        for offer in self._offers(mine, now):
            peers = tuple(peer for peer in offer.peers if not self._peers.is_excluded(peer, now))
            if peers and not self._states.is_excluded((offer.name, offer.digest), now):
                return NewerState(offer.name, offer.digest, peers)
        return None

    def _offers(self, mine: State, now: float) -> list[NewerState]:
        """The files that peers promise of the state where most stand: what most promise comes first.

        Equal states have equal files.  Where most have another file of our own state than we do, ours is damaged.
        """
        stands = self._membership.stands(now)
        name = self.branches.head(mine.name, stands)
        there = [stand.peer for stand in stands if stand.state == name]
        if mine.name.epoch > 0 or len(there) != 1 or self.branches.met(there[0]):
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now
        if name is None or self._listens(now):
            name = mine.name
        if name.epoch > FOLLOWED_EPOCH_MAX:
            return []
        trains = {stand.peer for stand in stands if stand.trains}
        promised: defaultdict[bytes, list[PeerId]] = defaultdict(list)
        backed = Counter({mine.digest: 1} if name == mine.name else ())
        for peer, report in sorted(self._membership.live().items()):
            if report.digest and report.state == name:
                promised[report.digest].append(peer)
                backed[report.digest] += peer in trains
        least = backed[mine.digest] if name == mine.name else 0
        found = [NewerState(name, file, tuple(peers)) for file, peers in promised.items() if backed[file] > least]
        return sorted(found, key=lambda offer: (backed[offer.digest], offer.digest), reverse=True)

    def _listens(self, now: float) -> bool:
        return self._alone_since is not None and now < self._alone_since + LISTEN_S

    def look(self, first: StateName, now: float) -> Sequence[object]:
        """Read who gave what where most stand, now and then; for a peer that holds no state but the `first`."""
        if not self._reader.due(now):
            return []
        offer = self.best(State(first, b"", ""), now)
        if offer is None:
            return []
        donors = self._random.sample(offer.peers, min(len(offer.peers), DONORS_MAX))
        return self._reader.read(offer.name, offer.digest, donors, now)

    def holds_state(self) -> Sequence[object]:
        """This peer's trainer holds a state now: nothing has to be read of others'."""
        return self._reader.stop()

    def begin(self, offer: NewerState, now: float) -> list[Any]:
        """Download this state from some of its peers, which are drawn."""
        donors = self._random.sample(offer.peers, min(len(offer.peers), DONORS_MAX))
        self._wanted = NewerState(offer.name, offer.digest, tuple(donors))
        size_bytes = self._donor.size_bytes
        size_max = None if size_bytes is None else size_bytes + STATE_SLACK_BYTES
        return list(self._fetch.fetch(offer.name, offer.digest, donors, now, size_max=size_max))

    # --- what became of it -------------------------------------------------------------------------------------------

    def arrived(self, name: StateName) -> bool:
        """The trainer holds a state; True, and its donors are trusted again, when it is the one that was wanted."""
        wanted = self._wanted
        if wanted is None or name != wanted.name:
            return False
        for peer in wanted.peers:
            self._peers.clear(peer)
        self._wanted = None
        return True

    def refused(self, now: float) -> None:
        """The trainer found that the state is not what it was called."""
        self._trace.mark("state.load.refused")
        self._doubt(now, times=FALSE)

    def stop(self, now: float, *, loading: bool) -> list[Any]:
        """The trainer is gone, perhaps while it was loading the state; says goodbye to the donors."""
        if loading:
            self._doubt(now, times=DEADLY)
        self.fetching = None
        return list(self._fetch.stop())

    def _doubt(self, now: float, *, times: int = 1) -> None:
        """Leave the state and its donors alone for a while, as after `times` failures."""
        wanted = self._wanted
        if wanted is None:
            return
        ends = [self._states.fail((wanted.name, wanted.digest), now, times=times)]
        ends += [self._peers.fail(peer, now, times=times) for peer in wanted.peers]
        self._wanted, self._retry_at = None, min(ends)
