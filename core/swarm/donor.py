"""The donor's side of catching up: gives its newest state file, chunk by chunk, to a few at a time."""

from collections.abc import Sequence
from typing import Protocol

from core.base.content import CHUNK_BYTES
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick
from core.base.problems import Problem
from core.base.trace import Trace
from core.swarm.messages import ChunkAsk, ChunkGive, StateAsk, StateDenied, StateOffer

GUESTS_MAX = 4
GUEST_SILENCE_S = 20.0
RETRY_AFTER_S = 2.0


class StateFile(Protocol):
    """A checkpoint file that others may have."""

    @property
    def digest(self) -> bytes:
        """Root digest."""

    @property
    def size_bytes(self) -> int:
        """Length of the file."""

    @property
    def chunks(self) -> Sequence[bytes]:
        """Digest of each chunk of 256 KiB."""

    def read(self, index: int) -> bytes:
        """One chunk.

        Raises:
            Problem: the file is gone or unreadable.
        """


class StateDonor:
    """Answers whoever asks for a state that this peer has.

    At most `GUESTS_MAX` are served at a time, so that a crowd of newcomers cannot choke a peer that is training; the
    others are told when to ask again.  The files offered are the newest two: a download survives one more epoch.
    """

    def __init__(self, *, trace: Trace) -> None:
        self._trace = trace
        self._files: dict[bytes, StateFile] = {}
        self._ledger = b""
        self._guests: dict[PeerId, float] = {}

    def offer(self, file: StateFile, *, ledger: bytes) -> None:
        """Offer a newer state; the one before the last is withdrawn."""
        self._files.pop(file.digest, None)
        self._files[file.digest] = file
        self._ledger = ledger
        while len(self._files) > 2:
            del self._files[next(iter(self._files))]

    @property
    def size_bytes(self) -> int | None:
        """Length of the newest file; None before the first."""
        return next((file.size_bytes for file in reversed(self._files.values())), None)

    @property
    def deadline(self) -> float | None:
        """Never: guests are forgotten when the next one asks."""
        return None

    def handle(self, event: Received[StateAsk | ChunkAsk] | Tick | Lost, now: float) -> Sequence[Send[object]]:
        """Answer one request."""
        match event:
            case Received(sender=sender, message=StateAsk(digest=digest)):
                return [Send(sender, self._answer(sender, digest, now))]
            case Received(sender=sender, message=ChunkAsk() as ask):
                return self._give(sender, ask, now)
            case Lost(peer=peer):
                self._guests.pop(peer, None)
        return []

    def _answer(self, guest: PeerId, digest: bytes, now: float) -> StateOffer | StateDenied:
        self._guests = {peer: seen for peer, seen in self._guests.items() if seen > now - GUEST_SILENCE_S}
        file = self._files.get(digest)
        if file is None:
            return StateDenied(digest, 0.0)
        if guest not in self._guests and len(self._guests) >= GUESTS_MAX:
            self._trace.mark("state.donor.full")
            return StateDenied(digest, RETRY_AFTER_S)
        self._guests[guest] = now
        return StateOffer(digest, file.size_bytes, list(file.chunks), self._ledger)

    def _give(self, guest: PeerId, ask: ChunkAsk, now: float) -> Sequence[Send[object]]:
        file = self._files.get(ask.digest)
        if file is None:
            return [Send(guest, StateDenied(ask.digest, 0.0))]
        if guest not in self._guests or ask.index >= len(file.chunks):
            self._trace.mark("state.drop.ask")
            return []
        self._guests[guest] = now
        try:
            data = file.read(ask.index)
        except Problem:
            self._trace.mark("state.donor.unreadable")
            self._files.pop(ask.digest, None)
            return [Send(guest, StateDenied(ask.digest, 0.0))]
        assert len(data) <= CHUNK_BYTES
        return [Send(guest, ChunkGive(ask.digest, ask.index, memoryview(data)))]
