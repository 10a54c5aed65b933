"""Fetches the means of the rounds that led from the own state to that of others, where they are fewer bytes than it.

The header of a state's file names its last ancestors, and the digests of the means that led to it from there.  The
header is a part of the file whose digest most promise that stand there, so it is believed as the file would be: a peer
on one of these ancestors asks for the means by their digests, as for any file, and has its trainer take the same steps.
"""

from collections.abc import Sequence
from typing import Final

from core.base.content import CHUNK_BYTES, DIGEST_BYTES
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace, earliest
from core.base.problems import WireProblem
from core.base.state_header import ANCESTORS_MAX, MARK_BYTES, StateHeader, header_of
from core.swarm.catching_up.fetch import StateFetch, StateSink
from core.swarm.catching_up.ledger_reader import StateHead
from core.swarm.words.messages import ChunkGive, StateDenied, StateDone, StateOffer
from core.swarm.words.outputs import Fetched, FetchFailed, Fetching, MeansFetched, MeansMissing, Output
from core.swarm.words.states import StateName

HEADS_MAX: Final = 2
"""Number of times that a header is read: the first time tells how many chunks it has."""


def way(header: StateHeader, *, mine: StateName, to: StateName) -> list[bytes] | None:
    """Digests of the means that lead from one state to another, in the order of the steps; None: it tells none.

    Args:
        header: Header of the other state's file.
        mine: The state from which the steps lead.
        to: What the header must call its state.
    """
    steps = to.epoch - mine.epoch
    marks, means = bytes.fromhex(header.ancestors), bytes.fromhex(header.means)
    fits = StateName(header.epoch, bytes.fromhex(header.lineage)) == to and len(means) >= DIGEST_BYTES * steps > 0
    if not fits or marks[MARK_BYTES * (steps - 1) : MARK_BYTES * steps] != mine.mark:
        return None
    return [means[DIGEST_BYTES * at : DIGEST_BYTES * (at + 1)] for at in reversed(range(steps))]


class MeansFetch:
    """Fetches the means that lead from this peer's state to another, where they are fewer bytes than it.

    Args:
        sink: Where means are put together; those that are whole stay there.
        trace: Counts what others do wrong.
    """

    def __init__(self, *, sink: StateSink, trace: Trace) -> None:
        self._head = StateHead()
        self._heads = StateFetch(sink=self._head, trace=trace)
        self._means = StateFetch(sink=sink, trace=trace)
        self.mean_bytes = 0
        """Length of a mean at most, bytes; 0: not known."""
        self._mine = self._to = StateName(0, b"")
        self._digest = b""
        self._header: StateHeader | None = None
        self._donors: Sequence[PeerId] = ()
        self._reads = 0
        self._left: list[bytes] = []
        self._here: list[str] = []

    @property
    def deadline(self) -> float | None:
        """When patience with a donor ends."""
        return earliest(self._heads.deadline, self._means.deadline)

    def pays(self, mine: StateName, to: StateName, *, state_bytes: int | None) -> bool:
        """Whether the means of the steps from one state to another are fewer bytes than a whole state.

        Args:
            mine: The state from which they lead.
            to: The other.
            state_bytes: Length of a state's file; None: not known.
        """
        steps = to.epoch - mine.epoch
        known = state_bytes is not None and self.mean_bytes > 0 and 0 < steps <= ANCESTORS_MAX
        return known and CHUNK_BYTES + steps * self.mean_bytes < (state_bytes or 0)

    def fetch(
        self, mine: StateName, to: StateName, digest: bytes, donors: Sequence[PeerId], now: float
    ) -> Sequence[Output]:
        """Begin with the header of the other state's file.

        Args:
            mine: The state from which the steps lead.
            to: The other.
            digest: Root digest of its file.
            donors: Who promises it.
            now: Unix seconds.
        """
        self._mine, self._to, self._digest, self._donors = mine, to, digest, donors
        self._reads, self._left, self._here = 0, [], []
        return self._heads.fetch(to, digest, donors, now)

    def stop(self) -> list[Output]:
        """Give up, and tell the donors."""
        return [*self._heads.stop(), *self._means.stop()]

    def handle(
        self, event: Received[StateOffer | StateDenied | ChunkGive] | Tick | Lost, now: float
    ) -> Sequence[Output]:
        """A donor's answer, its loss or time moves it on; it ends with `MeansFetched` or `MeansMissing`."""
        outputs: list[Output] = []
        goodbyes: list[Output] = []
        for output in (*self._heads.handle(event, now), *self._means.handle(event, now)):
            match output:
                case Fetching(done=done, total=total) if self._left:
                    outputs.append(
                        Fetching(len(self._here) * total + done, (len(self._here) + len(self._left)) * total)
                    )
                case Fetching():
                    pass
                case Send(message=StateDone()):
                    goodbyes.append(output)
                case Fetched(location=location):
                    outputs += self._has(location, now)
                    goodbyes = [] if self._left else goodbyes  # the place at the donors is kept for the next mean
                case FetchFailed():
                    outputs.append(MeansMissing(owed=True))
                case _:
                    outputs.append(output)
        return [*goodbyes, *outputs]

    def _has(self, location: str, now: float) -> Sequence[Output]:
        """The header is here, or the next mean: ask for the one after it."""
        if not self._left:
            return self._has_head(now)
        del self._left[0]
        self._here.append(location)
        if self._left:
            return self._ask(now)
        assert self._header is not None
        return [MeansFetched(self._to, self._header, self._digest, tuple(self._here))]

    def _has_head(self, now: float) -> Sequence[Output]:
        self._reads += 1
        try:
            self._header = header_of(self._head.take())
        except WireProblem:
            if self._reads < HEADS_MAX:
                return self._heads.fetch(self._to, self._digest, self._donors, now)
            return [MeansMissing(owed=False)]
        found = way(self._header, mine=self._mine, to=self._to)
        if found is None:
            return [MeansMissing(owed=False)]
        self._left = found
        return self._ask(now)

    def _ask(self, now: float) -> Sequence[Output]:
        return self._means.fetch(self._to, self._left[0], self._donors, now, size_max=self.mean_bytes)
