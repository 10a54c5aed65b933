"""The latecomer's side: fetch parameters and optimiser statistics, verified, from up-to-date peers (S000 3.3).

Chunks come from several donors of the same digest at once; each is checked as it arrives, what is checked is kept by
the sink, so a broken transfer goes on where it stopped, with whoever is there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core.base.content import CHUNK_BYTES, digest, root_digest
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.problems import Problem
from core.base.trace import Trace
from core.swarm.messages import ChunkAsk, ChunkGive, StateAsk, StateDenied, StateOffer
from core.swarm.states import StateName

WINDOW_CHUNKS = 4
ANSWER_TIMEOUT_S = 12.0
DONORS_MAX = 3
FETCH_S = 60.0
FETCH_BYTES_PER_S_MIN = 64 * 1024
"""A download that is slower is ended, lest a donor keep us waiting for ever; what was verified stays for the next."""


class StateSink(Protocol):
    """Where a state that is being fetched is put together."""

    def begin(self, root: bytes, size_bytes: int, chunks: Sequence[bytes]) -> set[int]:
        """Make room; returns the chunks that an earlier, broken transfer left here, verified."""

    def write(self, index: int, data: memoryview) -> None:
        """Keep one verified chunk."""

    def finish(self) -> str:
        """All chunks are here: the location of the whole file."""


@dataclass(frozen=True, slots=True)
class Fetching:
    """So many chunks of so many are here."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Fetched:
    """The whole state is here and its digest holds."""

    name: StateName
    location: str
    ledger: bytes


@dataclass(frozen=True, slots=True)
class FetchFailed:
    """Nobody could give it; the owner may choose another state or other donors and try again."""

    name: StateName
    reason: str


@dataclass(slots=True)
class _Donor:
    """A peer that was asked for the state."""

    deadline: float
    offered: bool = False
    asked: dict[int, float] = field(default_factory=dict)
    """Chunks asked of this donor, with the time at which patience ends."""


class StateFetch:
    """One download at a time."""

    def __init__(self, *, sink: StateSink, trace: Trace) -> None:
        self._sink = sink
        self._trace = trace
        self._name: StateName | None = None
        self._root = b""
        self._donors: dict[PeerId, _Donor] = {}
        self._chunks: Sequence[bytes] = ()
        self._missing: list[int] = []
        self._size = 0
        self._ledger = b""
        self._size_max: int | None = None
        self._ends_at = 0.0

    @property
    def busy(self) -> bool:
        """Whether a download is going on."""
        return self._name is not None

    @property
    def deadline(self) -> float | None:
        """When the first donor's patience ends, or the download's time."""
        if self._name is None:
            return None
        return earliest(self._ends_at, *(_patience(donor) for donor in self._donors.values()))

    def fetch(
        self, name: StateName, root: bytes, donors: Sequence[PeerId], now: float, *, size_max: int | None = None
    ) -> Sequence[object]:
        """Begin to download the state `name`, whose file has the root digest `root`, from these peers.

        Args:
            name: What it is called.
            root: Digest of its file.
            donors: Who promises it.
            now: Unix seconds.
            size_max: An offer of more bytes is refused; None: as large as an offer can be.

        Raises:
            ValueError: there is no donor.
        """
        if not donors:
            raise ValueError("a download needs a donor")
        self._name, self._root = name, root
        self._chunks, self._missing, self._ledger = (), [], b""
        self._size_max, self._ends_at = size_max, now + FETCH_S
        self._donors = {peer: _Donor(now + ANSWER_TIMEOUT_S) for peer in donors[:DONORS_MAX]}
        return [Send(peer, StateAsk(root)) for peer in self._donors]

    def stop(self) -> None:
        """Give up; what was verified stays with the sink."""
        self._name = None
        self._donors = {}

    def handle(
        self, event: Received[StateOffer | StateDenied | ChunkGive] | Tick | Lost, now: float
    ) -> Sequence[object]:
        """Advance by one event."""
        if self._name is None:
            return []
        try:
            return self._advance(event, now)
        except Problem as problem:
            return self._fail(str(problem))

    def _advance(self, event: Received[StateOffer | StateDenied | ChunkGive] | Tick | Lost, now: float) -> list[object]:
        match event:
            case Received(sender=sender, message=message):
                if message.digest != self._root or sender not in self._donors:
                    self._trace.mark("state.drop.unasked")
                    return []
                match message:
                    case StateOffer():
                        return self._offered(sender, message, now)
                    case StateDenied():
                        return self._without(sender, "refused", now)
                    case ChunkGive():
                        return self._given(sender, message, now)
            case Lost(peer=peer):
                return self._without(peer, "was lost", now) if peer in self._donors else []
            case Tick() if self._ends_at <= now:
                return self._fail("it took too long")
            case Tick():
                late = [p for p, donor in self._donors.items() if (end := _patience(donor)) is not None and end <= now]
                return [output for peer in late for output in self._without(peer, "was silent", now)]
        return []

    def _offered(self, sender: PeerId, offer: StateOffer, now: float) -> list[object]:
        whole = -(-offer.size_bytes // CHUNK_BYTES) == len(offer.chunks)
        fits = self._size_max is None or offer.size_bytes <= self._size_max
        if not whole or not fits or root_digest(offer.chunks) != self._root:
            self._trace.mark("state.drop.offer")
            return self._without(sender, "offered something else", now)
        donor = self._donors[sender]
        if donor.offered:
            return []
        donor.offered = True
        if not self._chunks:
            self._chunks, self._size, self._ledger = offer.chunks, offer.size_bytes, offer.ledger
            self._ends_at += offer.size_bytes / FETCH_BYTES_PER_S_MIN
            here = self._sink.begin(self._root, offer.size_bytes, offer.chunks)
            self._missing = [i for i in range(len(offer.chunks)) if i not in here]
        return [*self._ask(sender, now), *self._finish_if_whole()]

    def _given(self, sender: PeerId, give: ChunkGive, now: float) -> list[object]:
        donor = self._donors[sender]
        if donor.asked.pop(give.index, None) is None:
            self._trace.mark("state.drop.unasked")
            return []
        if len(give.data) != self._chunk_bytes(give.index) or digest(give.data) != self._chunks[give.index]:
            self._trace.mark("state.drop.chunk")
            self._missing.append(give.index)
            return self._without(sender, "sent a wrong chunk", now)
        self._sink.write(give.index, give.data)
        total = len(self._chunks)
        outstanding = len(self._missing) + sum(len(d.asked) for d in self._donors.values())
        return [Fetching(total - outstanding, total), *self._ask(sender, now), *self._finish_if_whole()]

    def _chunk_bytes(self, index: int) -> int:
        return min(CHUNK_BYTES, self._size - index * CHUNK_BYTES)

    def _ask(self, peer: PeerId, now: float) -> list[object]:
        donor = self._donors[peer]
        asks: list[object] = []
        while self._missing and len(donor.asked) < WINDOW_CHUNKS:
            index = self._missing.pop()
            donor.asked[index] = now + ANSWER_TIMEOUT_S
            asks.append(Send(peer, ChunkAsk(self._root, index)))
        return asks

    def _without(self, peer: PeerId, reason: str, now: float) -> list[object]:
        """Go on without a donor: the others are asked for what it owed."""
        donor = self._donors.pop(peer)
        self._missing.extend(donor.asked)
        self._trace.mark("state.donor.gone")
        if not self._donors:
            return self._fail(f"the last donor {reason}")
        return [ask for p, other in self._donors.items() if other.offered for ask in self._ask(p, now)]

    def _finish_if_whole(self) -> list[object]:
        if self._missing or any(donor.asked for donor in self._donors.values()):
            return []
        assert self._name is not None
        name = self._name
        self.stop()
        return [Fetched(name, self._sink.finish(), self._ledger)]

    def _fail(self, reason: str) -> list[object]:
        assert self._name is not None
        name = self._name
        self.stop()
        return [FetchFailed(name, reason)]


def _patience(donor: _Donor) -> float | None:
    if not donor.offered:
        return donor.deadline
    return earliest(*donor.asked.values())
