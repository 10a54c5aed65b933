"""The downloader's side: a state, a mean or a shard, verified, from several peers at once (S000 3.3).

Chunks come from several donors of the same digest at once; each is checked as it arrives, what is checked is kept by
the sink, so a broken transfer goes on where it stopped, with the donors that are there.

A donor on a slow line, or one whose line is full of a round, is not a liar: where its chunk is late, others that have
nothing to do are asked for it as well, and the first that gives it is right.  Only when nothing has come from anybody
for some time is the download given up.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, Protocol, TypeVar

from core.base.content import CHUNK_BYTES, digest, root_digest
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace, earliest
from core.base.problems import Problem
from core.swarm.words.messages import STATE_FILES, ChunkGive, FileMessages, StateDenied, StateDone, StateOffer
from core.swarm.words.outputs import Fetched, FetchFailed, Fetching, Output
from core.swarm.words.states import StateName

WINDOW_CHUNKS = 4
"""The most that one donor is asked for at a time: one first, and one more with each that comes quickly."""
ANSWER_TIMEOUT_S = 12.0
"""For an offer; a chunk that takes longer is asked of others too."""
QUICK_S = ANSWER_TIMEOUT_S / WINDOW_CHUNKS
NOTHING_S = 45.0
"""Time without a chunk from anybody after which a download is given up: donors that send 6 KB/s are waited for."""
DONORS_MAX = STATE_FILES.donors
FETCH_S = 60.0
FETCH_BYTES_PER_S_MIN = 64 * 1024
"""A download that is slower is ended, lest a donor keep us waiting for ever; what was verified stays for the next."""


N = TypeVar("N")


class Why(Enum):
    """Why a download goes on without a donor."""

    REFUSED = "refused"
    LOST = "was lost"
    SILENT = "was silent"
    OTHER = "offered something else"
    WRONG = "sent a wrong chunk"


class StateSink(Protocol):
    """Where a file that is being fetched is put together."""

    def begin(self, root: bytes, size_bytes: int, chunks: Sequence[bytes]) -> set[int]:
        """Make room; returns the chunks that an earlier, broken transfer left here, verified."""

    def write(self, index: int, data: memoryview) -> None:
        """The sink keeps one chunk whose digest has been checked."""

    def finish(self) -> str:
        """All chunks are here: the location of the whole file."""


@dataclass(frozen=True, slots=True)
class Sinks:
    """Where what is downloaded is put together.

    Attributes:
        states: States, one at a time.
        means: Means of rounds; those that are whole stay.
    """

    states: StateSink
    means: StateSink


@dataclass(slots=True)
class _Donor:
    """A peer that was asked for the state."""

    deadline: float
    """Until when its offer is waited for."""
    offered: bool = False
    window: int = 1
    """How many chunks it may owe."""
    asked: dict[int, float] = field(default_factory=dict)
    """Chunks asked of this donor, and when; unix seconds."""
    late: set[int] = field(default_factory=set)
    """Chunks that it still owes, and that others are asked for as well."""


class FileFetch(Generic[N]):
    """Downloads one file at a time from several donors, and checks every chunk of it.

    Args:
        sink: Where it is put together.
        trace: Counts what others do wrong.
        words: The messages in which files of its kind are asked for.
        chunk_bytes: Length of a chunk.
    """

    def __init__(
        self, *, sink: StateSink, trace: Trace, words: FileMessages = STATE_FILES, chunk_bytes: int = CHUNK_BYTES
    ) -> None:
        self._chunk_size = chunk_bytes
        self._sink = sink
        self._trace = trace
        self._words = words
        self.gone: dict[PeerId, Why] = {}
        """Donors without which this download goes, or went, on."""
        self.given: Counter[PeerId] = Counter()
        """Bytes of checked chunks that each donor has given to this download."""
        self._name: N | None = None
        self._root = b""
        self.donors: dict[PeerId, _Donor] = {}
        """Who is asked for chunks, or has to answer still."""
        self._others: Sequence[PeerId] = ()
        """Who is asked when one of them is gone, or late."""
        self._chunks: Sequence[bytes] = ()
        self._wanted: set[int] = set()
        """Chunks that are not here."""
        self._unasked: list[int] = []
        """Missing chunks that no donor is asked for, late donors aside; the next one is at the end.  Chunk 0 goes
        first: the file's last may be so short that it says nothing of a line."""
        self._size_max: int | None = None
        self._size_told: int | None = None
        self._too_large = False
        self._ends_at = self._nothing_at = 0.0

    @property
    def deadline(self) -> float | None:
        """When patience with a donor ends, or with all of them."""
        if self._name is None:
            return None
        return earliest(self._ends_at, self._nothing_at, *(_patience(donor) for donor in self.donors.values()))

    def fetch(
        self,
        name: N,
        root: bytes,
        donors: Sequence[PeerId],
        now: float,
        *,
        size_max: int | None = None,
        size: int | None = None,
    ) -> Sequence[Output]:
        """Begin to download the file of `name`, which has the root digest `root`, from these peers.

        Args:
            name: What it is called.
            root: Digest of its file.
            donors: Who promises it; the first are asked, the others in the place of those that go, or are late.
            now: Unix seconds.
            size_max: An offer of more bytes is refused; None: as large as an offer can be.
            size: Number of its bytes; None: the first donor that offers it says so.

        Raises:
            ValueError: there is no donor.
        """
        if not donors:
            raise ValueError("a download needs a donor")
        self._name, self._root = name, root
        self._chunks, self._unasked = (), []
        self._wanted = set()
        self._too_large = False
        self.gone, self.given = {}, Counter()
        self._size_told, self._size_max = size, size_max
        self._ends_at, self._nothing_at = now + FETCH_S, now + NOTHING_S
        self.donors, self._others = {}, donors
        return self.ask_also(donors, now)

    def ask_also(self, donors: Sequence[PeerId], now: float) -> list[Output]:
        """Ask further peers in the place of those that are gone, or late, while the download goes on."""
        if self._name is None:
            return []
        places = self._words.donors - sum(not donor.late for donor in self.donors.values())
        new = [peer for peer in donors if peer not in self.donors and peer not in self.gone][: max(0, places)]
        self.donors.update({peer: _Donor(now + ANSWER_TIMEOUT_S) for peer in new})
        return [Send(peer, self._words.ask(self._root)) for peer in new]

    def stop(self) -> list[Send[StateDone]]:
        """Give up, and tell the donors; what was verified stays with the sink.  Who owes a late chunk was silent."""
        self.gone |= {peer: Why.SILENT for peer, donor in self.donors.items() if donor.late}
        goodbyes = [Send(peer, self._words.done(self._root)) for peer in self.donors]
        self._name = None
        self.donors = {}
        return goodbyes

    def handle(
        self, event: Received[StateOffer | StateDenied | ChunkGive] | Tick | Lost, now: float
    ) -> Sequence[Output]:
        """A donor's answer, its loss or time moves the download on; without one nothing happens."""
        if self._name is None:
            return []
        try:
            return self._advance(event, now)
        except Problem as problem:
            return self._fail(str(problem), problem)

    def _advance(self, event: Received[StateOffer | StateDenied | ChunkGive] | Tick | Lost, now: float) -> list[Output]:
        match event:
            case Received(sender=sender, message=message):
                if message.digest != self._root or sender not in self.donors:
                    self._trace.mark("state.drop.unasked")
                    return []
                match message:
                    case StateOffer():
                        return self._offered(sender, message, now)
                    case StateDenied():
                        return self._without(sender, Why.REFUSED, now)
                    case ChunkGive():
                        return self._given(sender, message, now)
            case Lost(peer=peer):
                return self._without(peer, Why.LOST, now) if peer in self.donors else []
            case Tick() if self._ends_at <= now:
                return self._fail("it took too long")
            case Tick() if self._nothing_at <= now:
                return self._fail("nothing came any more")
            case Tick():
                return self._be_patient(now)
        return []

    def _offered(self, sender: PeerId, offer: StateOffer, now: float) -> list[Output]:
        whole = -(-offer.size_bytes // self._chunk_size) == len(offer.chunks)
        fits = self._size_max is None or offer.size_bytes <= self._size_max
        fits = fits and self._size_told in {None, offer.size_bytes}
        if not whole or not fits or root_digest(offer.chunks) != self._root:
            self._trace.mark("state.drop.offer")
            self._too_large = whole and root_digest(offer.chunks) == self._root
            return self._without(sender, Why.OTHER, now)
        donor = self.donors[sender]
        if donor.offered:
            return []
        donor.offered = True
        if not self._chunks:
            self._chunks = offer.chunks
            self._ends_at += offer.size_bytes / FETCH_BYTES_PER_S_MIN
            here = self._sink.begin(self._root, offer.size_bytes, offer.chunks)
            self._unasked = [i for i in reversed(range(len(offer.chunks))) if i not in here]
            self._wanted = set(self._unasked)
        return [*self._ask(sender, now), *self._finish_if_whole()]

    def _given(self, sender: PeerId, give: ChunkGive, now: float) -> list[Output]:
        donor = self.donors[sender]
        asked_at, owed = donor.asked.pop(give.index, None), give.index in donor.late
        donor.late.discard(give.index)
        if asked_at is None and not owed:
            self._trace.mark("state.drop.unasked")
            return []
        start, is_last = give.index * self._chunk_size, give.index == len(self._chunks) - 1
        # The file's digest is that of its chunks' digests, which bind no length: each donor can tell another one.
        end = self._size_told or start + (len(give.data) if is_last else self._chunk_size)
        length = min(self._chunk_size, end - start)
        if len(give.data) != length or digest(give.data) != self._chunks[give.index]:
            self._trace.mark("state.drop.chunk")
            if not owed:
                self._unasked.append(give.index)
            return self._without(sender, Why.WRONG, now)
        quick = asked_at is not None and now - asked_at <= QUICK_S
        donor.window = min(donor.window + 1, WINDOW_CHUNKS) if quick else 1
        self.given[sender] += len(give.data)
        if give.index not in self._wanted:
            self._trace.mark("state.chunk.twice")
            return self._ask(sender, now)
        self._sink.write(give.index, give.data)
        self._wanted.discard(give.index)
        self._nothing_at = now + NOTHING_S
        total = len(self._chunks)
        return [Fetching(total - len(self._wanted), total), *self._ask(sender, now), *self._finish_if_whole()]

    def _ask(self, peer: PeerId, now: float) -> list[Output]:
        donor = self.donors[peer]
        asks: list[Output] = []
        while self._unasked and not donor.late and len(donor.asked) < donor.window:
            index = self._unasked.pop()
            if index in self._wanted:
                donor.asked[index] = now
                asks.append(Send(peer, self._words.chunk_ask(self._root, index)))
        return asks

    def _ask_all(self, now: float) -> list[Output]:
        return [ask for peer, donor in self.donors.items() if donor.offered for ask in self._ask(peer, now)]

    def _be_patient(self, now: float) -> list[Output]:
        """Who has not even offered is left; what else is late is asked of others too, further ones among them."""
        for donor in self.donors.values():
            late = {index for index, asked_at in donor.asked.items() if asked_at + ANSWER_TIMEOUT_S <= now}
            donor.late |= late
            for index in sorted(late):
                del donor.asked[index]
                self._unasked.append(index)
                self._trace.mark("state.chunk.late")
        silent = [peer for peer, donor in self.donors.items() if not donor.offered and donor.deadline <= now]
        outputs: list[Output] = [Send(peer, self._words.done(self._root)) for peer in silent]
        outputs += [output for peer in silent for output in self._without(peer, Why.SILENT, now)]
        return [*outputs, *self.ask_also(self._others, now), *self._ask_all(now)] if self.donors else outputs

    def _without(self, peer: PeerId, why: Why, now: float) -> list[Output]:
        """Go on without a donor: the others are asked for what it owed."""
        donor = self.donors.pop(peer)
        self.gone[peer] = why
        self._unasked.extend(donor.asked)
        self._trace.mark("state.donor.gone")
        further = self.ask_also(self._others, now)
        if not self.donors:
            return self._fail(f"the last donor {why.value}")
        return [*further, *self._ask_all(now)]

    def _finish_if_whole(self) -> list[Output]:
        if self._wanted:
            return []
        assert self._name is not None
        name = self._name
        whole = self._sink.finish()  # may fail, and then so does the download
        return [*self.stop(), Fetched(name, whole)]

    def _fail(self, reason: str, problem: Problem | None = None) -> list[Output]:
        assert self._name is not None
        name = self._name
        return [*self.stop(), FetchFailed(name, reason, self._too_large, problem)]


def _patience(donor: _Donor) -> float | None:
    if not donor.offered:
        return donor.deadline
    return min(donor.asked.values()) + ANSWER_TIMEOUT_S if donor.asked else None


StateFetch = FileFetch[StateName]
