"""Reads who gave what from the head of a state file, for a peer that holds no state: one that is paused, or helps.

Only the file's first chunks are asked for, and each is checked against the file's digest, as in a download.
"""

from collections.abc import Sequence
from typing import Final

from core.base.content import CHUNK_BYTES
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Tick, Trace
from core.base.problems import WireProblem
from core.base.state_header import HEADER_BYTES_MAX, header_bytes, header_of
from core.swarm.catching_up.fetch import StateFetch
from core.swarm.words.messages import ChunkGive, StateDenied, StateOffer
from core.swarm.words.orders import LedgerRead
from core.swarm.words.outputs import Fetched, FetchFailed, Fetching, Output
from core.swarm.words.states import StateName

READ_INTERVAL_S: Final = 45.0
"""A peer that computes nothing spends 256 KiB on each look."""


class StateHead:
    """The first chunks of a state file (`core.swarm.catching_up.fetch.StateSink`)."""

    def __init__(self) -> None:
        self._count = 1
        """Number of chunks that hold the header, as far as is known."""
        self._chunks: dict[int, bytes] = {}

    def begin(self, root: bytes, size_bytes: int, chunks: Sequence[bytes]) -> set[int]:
        """Want the first chunks; the others count as here."""
        del root, size_bytes
        self._chunks = {}
        return set(range(self._count, len(chunks)))

    def write(self, index: int, data: memoryview) -> None:
        """Keep a chunk."""
        self._chunks[index] = bytes(data)

    def finish(self) -> str:
        """It has no place on the disk."""
        return ""

    def take(self) -> bytes:
        """What has come; the next time as many chunks are wanted as the header takes."""
        head = b"".join(chunk for _, chunk in sorted(self._chunks.items()))
        self._chunks = {}
        self._count = -(-min(header_bytes(head), HEADER_BYTES_MAX) // CHUNK_BYTES)
        return head


class LedgerReader:
    """Fetches the ledger at the head of a state's file without the state.

    Args:
        trace: Counts what others do wrong.
    """

    def __init__(self, *, trace: Trace) -> None:
        self._trace = trace
        self._head = StateHead()
        self._fetch = StateFetch(sink=self._head, trace=trace)
        self._read_at = 0.0
        self._known: StateName | None = None
        """The state whose ledger was read last."""

    @property
    def deadline(self) -> float | None:
        """When patience with a donor ends."""
        return self._fetch.deadline

    def due(self, now: float) -> bool:
        """Whether it is time for another look."""
        return self._fetch.deadline is None and now >= self._read_at

    def read(self, name: StateName, digest: bytes, donors: Sequence[PeerId], now: float) -> Sequence[Output]:
        """Ask for the head of this state's file, unless it is known."""
        self._read_at = now + READ_INTERVAL_S
        return [] if name == self._known else self._fetch.fetch(name, digest, donors, now)

    def stop(self) -> Sequence[Output]:
        """This peer holds a state now, which has a ledger of its own."""
        self._known = None
        return self._fetch.stop()

    def handle(
        self, event: Received[StateOffer | StateDenied | ChunkGive] | Tick | Lost, now: float
    ) -> Sequence[Output]:
        """A donor's answer, its loss or time moves it on."""
        outputs: list[Output] = []
        for output in self._fetch.handle(event, now):
            match output:
                case Fetching() | FetchFailed():
                    pass
                case Fetched(name=name):
                    outputs += self._taken(name)
                case _:
                    outputs.append(output)
        return outputs

    def _taken(self, name: StateName) -> list[LedgerRead]:
        try:
            header = header_of(self._head.take())
        except WireProblem:
            self._trace.mark("ledger.drop")
            return []
        self._known = name
        return [LedgerRead(header.ledger, name.epoch)]
