"""Catching up: downloads the state that was chosen (`state_choice`), and tells what became of it.

Where the means of the rounds that led there are fewer bytes, it downloads these instead (`replay`).
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Tick, Trace, earliest
from core.base.state_header import LEDGER_BYTES_MAX
from core.swarm.catching_up.fetch import DONORS_MAX, Sinks, StateFetch
from core.swarm.catching_up.ledger_reader import LedgerReader
from core.swarm.catching_up.replay import MeansFetch
from core.swarm.catching_up.state_choice import LISTEN_S, NewerState, StateChoice
from core.swarm.catching_up.state_donor import StateDonor
from core.swarm.presence.membership import Membership
from core.swarm.words.messages import ChunkGive, StateDenied, StateOffer
from core.swarm.words.orders import Changed
from core.swarm.words.outputs import (
    CatchUpFailed,
    Fetched,
    FetchFailed,
    Fetching,
    MeansFetched,
    MeansMissing,
    Output,
    StateFetched,
)
from core.swarm.words.states import State, StateName

STATE_SLACK_BYTES: Final = 64 * 1024 + 2 * LEDGER_BYTES_MAX
"""Bytes by which another state may be larger than the own one: only their ledgers differ in size."""
DEADLY: Final = 4
"""Number of failures in a row that a state counts for if the trainer went while it was loading it."""
FALSE: Final = 8
"""Number of failures that a state counts for which is not what it was called."""


class CatchUp:
    """Downloads states, and reads the ledgers of others.

    Args:
        membership: Knows who promises what.
        donor: Knows how large a state of this collaboration is, and gives what this peer has.
        sinks: Where what is downloaded is put together.
        random: Draws the donors, and spreads the rests.
        trace: Counts what others do wrong.
    """

    MESSAGES: Final = (StateOffer, StateDenied, ChunkGive)

    def __init__(
        self, *, membership: Membership, donor: StateDonor, sinks: Sinks, random: Random, trace: Trace
    ) -> None:
        self.choice = StateChoice(membership, random=random)
        """Which state to download."""
        self.branches = membership.branches
        """Which state came from which."""
        self.donor = donor
        """Gives states to others."""
        self._random = random
        self._trace = trace
        self._fetch = StateFetch(sink=sinks.states, trace=trace)
        self.means = MeansFetch(sink=sinks.means, trace=trace)
        """Is to be told how large a mean is."""
        self.reader = LedgerReader(trace=trace)
        """Reads who gave what from others' states, while this peer holds none."""
        self._wanted: NewerState | None = None
        self._peers: tuple[PeerId, ...] = ()
        """Who promises it, where means lead to it."""
        self._replays_from: StateName | None = None
        """The own state, while it is to be led to the wanted one by means; None: that is loaded whole."""
        self._not_from: StateName | None = None
        """The own state from which means have led nowhere."""
        self._retry_at: float | None = None
        """When to look again after a failure, unix seconds."""
        self._failed_at = 0.0
        self.fetching: Fetching | None = None
        """How far the download is; None: there is none."""

    @property
    def deadline(self) -> float | None:
        """When the download, or the owner by way of `due`, has something to do."""
        return earliest(self._fetch.deadline, self.means.deadline, self.reader.deadline, self._retry_at)

    def handle(
        self, event: Received[StateOffer | StateDenied | ChunkGive] | Tick | Lost, now: float
    ) -> Sequence[Output]:
        """Advance the download by one event."""
        outputs: list[Output] = list(self.reader.handle(event, now))
        for output in (*self.means.handle(event, now), *self._fetch.handle(event, now)):
            match output:
                case Fetching():
                    self.fetching = output
                    outputs.append(Changed())
                case Fetched(name=name, location=location):
                    self.fetching = None
                    outputs.append(StateFetched(name, location))
                case MeansFetched():
                    self.fetching = None
                    outputs.append(output)
                case MeansMissing(owed=owed):
                    outputs += self._load_whole(now, owed=owed)
                case FetchFailed(reason=reason, too_large=too_large, problem=problem):
                    self._trace.mark("state.fetch.failed")
                    self.fetching = None
                    self._doubt(now, false=too_large)
                    outputs.append(CatchUpFailed(reason, problem))
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
        """Whether it is useless to go on where most do not stand, though there is nothing to fetch just now.

        A download has failed a short while ago, or a newcomer listens.  Who has a model goes on with it after a while,
        unless all have gone back from it.
        """
        if self.branches.undone(mine.name):
            return True
        failed = self._retry_at is not None and self._retry_at > now
        failed = failed and (mine.name.epoch == 0 or now < self._failed_at + LISTEN_S)
        return self.choice.listens(now) or (failed and bool(self.choice.offers(mine, now)))

    def look(self, mine: State, now: float) -> Sequence[Output]:
        """Read now and then who gave what where a peer without a trainer would go; `mine` is the state that it has."""
        if not self.reader.due(now):
            return []
        offer = self.choice.best(mine, now)
        if offer is None:
            return []
        donors = self._random.sample(offer.peers, min(len(offer.peers), DONORS_MAX))
        return self.reader.read(offer.name, offer.digest, donors, now)

    def begin(
        self, offer: NewerState, now: float, *, size_max: int | None = None, mine: StateName | None = None
    ) -> list[Output]:
        """Download this state from some of its peers, which are drawn, or the means that lead to it.

        Args:
            offer: The state.
            now: Unix seconds.
            size_max: Number of bytes that it may have; None: as many as the own one, and some more for its ledger.
            mine: The state that this peer's trainer holds; None: it has none.
        """
        wanted = self._draw(offer)
        state_bytes = self.donor.size_bytes
        pays = mine is not None and self.means.pays(mine, offer.name, state_bytes=state_bytes)
        if mine is not None and pays and mine != self._not_from and not self.branches.abandons(mine, offer.name):
            self._replays_from, self._peers = mine, offer.peers
            return list(self.means.fetch(mine, offer.name, offer.digest, wanted.peers, now))
        return self._fetch_state(wanted, now, size_max=size_max)

    def _draw(self, offer: NewerState) -> NewerState:
        donors = self._random.sample(offer.peers, min(len(offer.peers), DONORS_MAX))
        self._wanted = NewerState(offer.name, offer.digest, tuple(donors))
        return self._wanted

    def _fetch_state(self, wanted: NewerState, now: float, *, size_max: int | None = None) -> list[Output]:
        self._replays_from = None
        if size_max is None and self.donor.size_bytes is not None:
            size_max = self.donor.size_bytes + STATE_SLACK_BYTES
        return list(self._fetch.fetch(wanted.name, wanted.digest, wanted.peers, now, size_max=size_max))

    def _load_whole(self, now: float, *, owed: bool) -> list[Output]:
        """The means cannot be had: download the state, best from others where the donors owe them."""
        wanted = self._wanted
        assert wanted is not None
        self._trace.mark("state.replay.missing")
        if owed:
            self.choice.rest(wanted.peers, now)
            others = tuple(peer for peer in self._peers if peer not in wanted.peers)
            wanted = self._draw(NewerState(wanted.name, wanted.digest, others or wanted.peers))
        return self._fetch_state(wanted, now)

    # --- what became of it -------------------------------------------------------------------------------------------

    def arrived(self, name: StateName) -> bool:
        """The trainer holds a state; True, and its donors are trusted again, when it is the one that was wanted."""
        wanted = self._wanted
        if wanted is None or name != wanted.name:
            return False
        self.choice.trust(wanted.peers)
        if self._replays_from is not None:
            self._trace.mark("state.replayed")
        self._wanted = self._replays_from = None
        return True

    def refused(self, now: float) -> None:
        """The trainer found that the state is not what it was called, or that means do not lead to it from its own.

        Its own may be damaged, so the state is loaded whole the next time.
        """
        if self._replays_from is not None:
            self._trace.mark("state.replay.refused")
            self._not_from, self._wanted, self._replays_from = self._replays_from, None, None
            return
        self._trace.mark("state.load.refused")
        self._doubt(now, times=FALSE, false=True)

    def stop(self, now: float, *, loading: bool) -> list[Output]:
        """The trainer is gone, perhaps because of the state that it was loading; says goodbye to the donors."""
        if loading and self._replays_from is not None:
            self.refused(now)
        elif loading:
            self._doubt(now, times=DEADLY)
        self.fetching = None
        return [*self._fetch.stop(), *self.means.stop()]

    def _doubt(self, now: float, *, times: int = 1, false: bool = False) -> None:
        if self._wanted is not None:
            self._retry_at, self._failed_at = self.choice.doubt(self._wanted, now, times=times, false=false), now
            self._wanted = None
