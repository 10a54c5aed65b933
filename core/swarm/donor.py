"""The donor's side of catching up: gives its newest state file, chunk by chunk, to a few at a time."""

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from core.base.content import CHUNK_BYTES
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick
from core.base.problems import Problem
from core.base.trace import Trace
from core.swarm.messages import ChunkAsk, ChunkGive, StateAsk, StateDenied, StateDone, StateOffer

OFFERED = 2
GUESTS_MAX = 4
GUEST_SILENCE_S = 60.0
"""Longer than a guest on a slow line waits for a chunk."""
IDLE_S = 20.0
"""A guest that asks for nothing for so long keeps nobody out: longer than a line of 20 KB/s takes for a chunk."""
SLOW_S = 3.0
"""A guest that has not asked again for so long waits for a chunk."""
TURN_S = 60.0
"""So long a guest to whom chunks come slowly has the line for itself."""
TURN_AGAIN_S = 600.0
"""After so long it may have it for itself again; sooner it shares it with others."""
TURNS_MAX = 256
"""Guests whose turns are remembered."""
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


@dataclass(slots=True)
class _Guest:
    """Whom we give chunks."""

    digest: bytes
    """Of the state that it downloads."""
    turn_ends: float
    asked: float
    """When it asked for something last."""
    chunks: int = 0
    """How many it has asked for.  The second it asks for when the first has come."""

    def is_slow(self, now: float) -> bool:
        """Whether chunks come to it slowly, as far as we know, and it is still its turn."""
        waits = now > self.asked + SLOW_S if self.chunks > 1 else self.chunks == 1 or now < self.asked + SLOW_S
        return waits and now < min(self.turn_ends, self.asked + IDLE_S)


class StateDonor:
    """Answers whoever asks for a state that this peer has.

    At most `GUESTS_MAX` are served at a time, so that a crowd of newcomers cannot choke a peer that is training; the
    others are told when to ask again.  The files offered are the newest two, and whatever somebody is downloading.

    On a slow line there is one guest at a time.  Of several that share it none may be done before their state is out
    of date; the first that is done has a line of its own to give from.
    """

    def __init__(self, *, trace: Trace) -> None:
        self._trace = trace
        self._files: dict[bytes, StateFile] = {}
        self._ledger = b""
        self._guests: dict[PeerId, _Guest] = {}
        self._turns: OrderedDict[PeerId, float] = OrderedDict()
        """When the turn of each that had one began."""

    def offer(self, file: StateFile, *, ledger: bytes) -> None:
        """Offer a newer state; the one before the last is withdrawn when nobody downloads it any more."""
        self._files.pop(file.digest, None)
        self._files[file.digest] = file
        self._ledger = ledger
        self._withdraw()

    def _withdraw(self) -> None:
        wanted = {guest.digest for guest in self._guests.values()}
        for old in [digest for digest in list(self._files)[:-OFFERED] if digest not in wanted]:
            del self._files[old]

    @property
    def size_bytes(self) -> int | None:
        """Length of the newest file; None before the first."""
        return next((file.size_bytes for file in reversed(self._files.values())), None)

    @property
    def deadline(self) -> float | None:
        """Never: guests are forgotten when the next one asks."""
        return None

    def handle(
        self, event: Received[StateAsk | ChunkAsk | StateDone] | Tick | Lost, now: float
    ) -> Sequence[Send[object]]:
        """Answer one request."""
        match event:
            case Received(sender=sender, message=StateAsk(digest=digest)):
                return [Send(sender, self._answer(sender, digest, now))]
            case Received(sender=sender, message=ChunkAsk() as ask):
                return self._give(sender, ask, now)
            case Received(sender=peer, message=StateDone()) | Lost(peer=peer):
                self._guests.pop(peer, None)
                self._withdraw()
        return []

    def _answer(self, guest: PeerId, digest: bytes, now: float) -> StateOffer | StateDenied:
        self._guests = {peer: known for peer, known in self._guests.items() if known.asked > now - GUEST_SILENCE_S}
        self._withdraw()
        file = self._files.get(digest)
        if file is None:
            return StateDenied(digest, 0.0)
        if guest not in self._guests and not self._has_room(now):
            self._trace.mark("state.donor.full")
            return StateDenied(digest, RETRY_AFTER_S)
        known = self._guests.get(guest)
        if known is None:
            known = self._guests[guest] = _Guest(digest, self._turn(guest, now) + TURN_S, now)
        known.digest, known.asked = digest, now
        self._withdraw()
        return StateOffer(digest, file.size_bytes, list(file.chunks), self._ledger)

    def _turn(self, guest: PeerId, now: float) -> float:
        """When the turn of a guest begins, or began: whoever comes again soon has had it."""
        began = self._turns.get(guest, -math.inf)
        if now >= began + TURN_AGAIN_S:
            began = self._turns[guest] = now
            self._turns.move_to_end(guest)
            if len(self._turns) > TURNS_MAX:
                self._turns.popitem(last=False)
        return began

    def _has_room(self, now: float) -> bool:
        return len(self._guests) < GUESTS_MAX and not any(guest.is_slow(now) for guest in self._guests.values())

    def _give(self, guest: PeerId, ask: ChunkAsk, now: float) -> Sequence[Send[object]]:
        file = self._files.get(ask.digest)
        if file is None:
            return [Send(guest, StateDenied(ask.digest, 0.0))]
        known = self._guests.get(guest)
        if known is None or ask.index >= len(file.chunks):
            self._trace.mark("state.drop.ask")
            return []
        known.asked, known.chunks = now, known.chunks + 1
        try:
            data = file.read(ask.index)
        except Problem:
            self._trace.mark("state.donor.unreadable")
            self._files.pop(ask.digest, None)
            return [Send(guest, StateDenied(ask.digest, 0.0))]
        assert len(data) <= CHUNK_BYTES
        return [Send(guest, ChunkGive(ask.digest, ask.index, memoryview(data)))]
