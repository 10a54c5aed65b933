"""Gives shards to other members, after everything else: while this peer is in a round, chunks wait for its end."""

from collections import deque
from collections.abc import Sequence
from typing import Final

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.base.rate_limit import RateLimit
from core.base.wire import Message
from core.swarm.catching_up.donor import FileDonor
from core.swarm.catching_up.fetch import WINDOW_CHUNKS
from core.swarm.shards.names import OwnRounds, ShardName, ShardStore
from core.swarm.shards.shelf import ShardShelf
from core.swarm.words.messages import SHARD_FILES, ChunkAsk, ChunkGive, StateAsk, StateDone
from core.swarm.words.states import StateFile

HOLD_S: Final = 8.0
"""A chunk waits no longer than this for the end of a round: it is asked of others after 12 s."""
LOOK_S: Final = 0.05
CHUNKS_PER_S: Final = 256.0
"""Chunks that one guest gets in the long run: 64 MB/s."""
GUESTS_MAX: Final = 8
"""Number of guests of a home line; a seeding peer has a better one."""


class ShardDonor(FileDonor):
    """Gives shards to other members, with chunks waiting while this peer is in a round.

    What the worst guest gains: a place of `GUESTS_MAX`, and `CHUNKS_PER_S`; of its questions `WINDOW_CHUNKS` wait here.

    Args:
        shelf: What is held.
        store: Has the files.
        rounds: This peer's.
        trace: Counts what others do wrong.
    """

    def __init__(self, shelf: ShardShelf, store: ShardStore, *, rounds: OwnRounds, trace: Trace) -> None:
        super().__init__(SHARD_FILES, trace=trace, members=rounds.members, guests_max=GUESTS_MAX)
        self._shelf = shelf
        self._store = store
        self._busy = rounds.busy
        self._waiting: deque[tuple[PeerId, ChunkAsk, float]] = deque()
        """Chunks that were asked for, and when, unix seconds."""
        self._rate = RateLimit[PeerId](rate_per_s=CHUNKS_PER_S, burst=4 * WINDOW_CHUNKS)
        self._look_at: float | None = None
        self.lost: list[ShardName] = []
        """Shards that turned out to be gone or damaged, for the owner to take."""
        self.given_bytes = 0
        """Bytes of chunks that were given, whether or not they arrived."""

    @property
    def deadline(self) -> float | None:
        """When to look whether the round is over."""
        return self._look_at

    def handle(
        self, event: Received[StateAsk | ChunkAsk | StateDone] | Tick | Lost, now: float
    ) -> Sequence[Send[Message]]:
        """Answer a request, or what has waited for the end of a round."""
        return [*super().handle(event, now), *self._give_waiting(now)]

    def _give(self, guest: PeerId, ask: ChunkAsk, now: float) -> Sequence[Send[Message]]:
        if sum(peer == guest for peer, _, _ in self._waiting) >= WINDOW_CHUNKS:
            self._trace.mark("shards.drop.ask")
            return []
        self._waiting.append((guest, ask, now))
        return []

    def _give_waiting(self, now: float) -> list[Send[Message]]:
        given: list[Send[Message]] = []
        busy, waiting = self._busy(), self._waiting
        self._waiting = deque()
        for guest, ask, since in waiting:
            if (busy and now < since + HOLD_S) or not self._rate.admits(guest, now):
                self._waiting.append((guest, ask, since))
            else:
                given += super()._give(guest, ask, now)
        self.given_bytes += sum(len(send.message.data) for send in given if isinstance(send.message, ChunkGive))
        self._look_at = now + LOOK_S if self._waiting else None
        return given

    def _file(self, digest: bytes) -> StateFile | None:
        name = self._shelf.catalogue.names.get(digest)
        if name is None or name not in self._shelf.held:
            return None
        file = self._store.file(digest)
        if file is None:
            self.lost.append(name)
        return file

    def _unreadable(self, digest: bytes) -> None:
        self.lost.append(self._shelf.catalogue.names[digest])

    def _freed(self) -> None:
        """Shards are not withdrawn for their guests' sake."""
