"""The donor's side of a download: gives files, chunk by chunk, to a few guests at a time.

Which files they are says a class of its own: states and means (`core.swarm.catching_up.state_donor`), shards
(`core.swarm.shards.giving`).
"""

import math
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.base.bounds import remember
from core.base.content import CHUNK_BYTES
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.base.problems import Problem
from core.base.wire import Message
from core.swarm.words.messages import ChunkAsk, FileMessages, StateAsk, StateDone
from core.swarm.words.states import StateFile

GUESTS_MAX = 4
GUEST_SILENCE_S = 60.0
"""Longer than a guest on a slow line waits for a chunk."""
IDLE_S = 20.0
"""Silence after which a guest keeps nobody out: longer than a line of 20 KB/s takes for a chunk."""
SLOW_S = 3.0
"""Silence after which a guest counts as one that waits for a chunk."""
TURN_S = 60.0
"""A guest to which chunks come slowly has the line for itself for this long."""
TURN_AGAIN_S = 600.0
"""Time after which a guest may have a turn for itself again; sooner it shares it with others."""
TURNS_MAX = 256
"""Guests whose turns are remembered."""
MEMBERS_MAX = 1024
"""Members of past rounds that are remembered."""
STRANGERS_MAX = 2
"""Upper bound on the guests that were in no round with this peer, once any peer was."""
CHUNK_S = 4.0
"""A stranger that takes longer for each chunk than a download may at all (64 KB/s) has its turn and no more."""
TIMES_MAX = 2
"""Times that a stranger gets all chunks while others wait."""
RETRY_AFTER_S = 2.0


@dataclass(slots=True)
class _Guest:
    """A peer that downloads a state from this donor, and how it has used its turn."""

    digest: bytes
    """Digest of the state that it downloads."""
    came: float
    turn_ends: float
    asked: float
    """When it asked for something last."""
    chunks: int = 0
    """How many it has asked for.  The second it asks for when the first has come."""

    def is_slow(self, now: float) -> bool:
        """Whether chunks come to it slowly, as far as we know, and it is still its turn."""
        waits = now > self.asked + SLOW_S if self.chunks > 1 else self.chunks == 1 or now < self.asked + SLOW_S
        return waits and now < min(self.turn_ends, self.asked + IDLE_S)

    def overstays(self, now: float, chunks: int) -> bool:
        """Whether it has had its turn, and has not come for the state's so many chunks since."""
        slow = now - self.came > CHUNK_S * (self.chunks + 1)  # the offer takes its time as well
        return now >= self.turn_ends and (slow or self.chunks > TIMES_MAX * chunks)


class PastMembers:
    """Peers that were in rounds with this one: identities cost nothing, work does."""

    def __init__(self) -> None:
        self._met: OrderedDict[PeerId, None] = OrderedDict()
        """The last one at the end."""

    def __contains__(self, peer: object) -> bool:
        """Whether a peer was in a round with this one, as far as is remembered."""
        return peer in self._met

    def __len__(self) -> int:
        """Number of members that are remembered."""
        return len(self._met)

    def met(self, peers: Iterable[PeerId]) -> None:
        """These have contributed to a round that held."""
        for peer in peers:
            remember(self._met, peer, None, MEMBERS_MAX)


class FileDonor(ABC):
    """Answers peers that ask for a file that this peer has.

    At most `guests_max` are served at a time, so that a crowd of newcomers cannot choke a peer that is training; the
    others are told when to ask again.  Identities cost nothing, so members of past rounds go first: they wait for no
    stranger, and a stranger that dawdles, or comes for the same again and again, makes way.

    On a slow line there is one guest at a time.  Of several that share it none may be done before their state is out
    of date; the first that is done has a line of its own to give from.

    Args:
        words: The messages in which its files are asked for.
        trace: Counts what others do wrong.
        members: Who was in rounds with this peer.
        guests_max: Number of guests at a time.
    """

    def __init__(
        self, words: FileMessages, *, trace: Trace, members: PastMembers, guests_max: int = GUESTS_MAX
    ) -> None:
        self._words = words
        self._trace = trace
        self._guests_max = guests_max
        self._guests: dict[PeerId, _Guest] = {}
        self._turns: OrderedDict[PeerId, float] = OrderedDict()
        """When the turn of each that had one began."""
        self.members = members
        """Who was in rounds with this peer."""

    @abstractmethod
    def _file(self, digest: bytes) -> StateFile | None:
        """The file of a root digest, if others may have it."""

    @abstractmethod
    def _unreadable(self, digest: bytes) -> None:
        """A file turned out to be gone or damaged: it is offered no longer."""

    @abstractmethod
    def _freed(self) -> None:
        """What guests download may have changed."""

    def handle(
        self, event: Received[StateAsk | ChunkAsk | StateDone] | Tick | Lost, now: float
    ) -> Sequence[Send[Message]]:
        """A request is answered at once; a peer that is done or lost frees its place."""
        match event:
            case Received(sender=sender, message=StateAsk(digest=digest)):
                return self._answer(sender, digest, now)
            case Received(sender=sender, message=ChunkAsk() as ask):
                return self._give(sender, ask, now)
            case Received(sender=peer, message=StateDone(digest=digest)):
                if peer in self._guests and self._guests[peer].digest == digest:
                    del self._guests[peer]
                self._freed()
            case Lost(peer=peer):
                self._guests.pop(peer, None)
                self._freed()
        return []

    def _answer(self, guest: PeerId, digest: bytes, now: float) -> list[Send[Message]]:
        self._guests = {peer: known for peer, known in self._guests.items() if known.asked > now - GUEST_SILENCE_S}
        self._freed()
        file = self._file(digest)
        if file is None:
            return [Send(guest, self._words.denied(digest, 0.0))]
        leaves = self._make_room(guest, now) if guest not in self._guests else []
        if leaves is None:
            self._trace.mark("state.donor.full")
            return [Send(guest, self._words.denied(digest, RETRY_AFTER_S))]
        known = self._guests.get(guest)
        if known is None:
            known = self._guests[guest] = _Guest(digest, now, self._turn(guest, now) + TURN_S, now)
        known.digest, known.asked = digest, now
        self._freed()
        return [*leaves, Send(guest, self._words.offer(digest, file.size_bytes, list(file.chunks)))]

    def _make_room(self, guest: PeerId, now: float) -> list[Send[Message]] | None:
        """For one more; None: there is none.  Else what to say to a stranger that has to make way, if one has to."""
        if any(known.is_slow(now) for peer, known in self._guests.items() if self._waits_for(guest, peer)):
            return None
        strangers = [peer for peer in self._guests if peer not in self.members]
        most = STRANGERS_MAX if self.members else self._guests_max
        if len(self._guests) < self._guests_max and (guest in self.members or len(strangers) < most):
            return []
        early = strangers[STRANGERS_MAX:] if guest in self.members else []  # they came before anybody was known
        for peer in strangers:
            known = self._guests[peer]
            file = self._file(known.digest)
            if peer in early or known.overstays(now, 0 if file is None else len(file.chunks)):
                self._trace.mark("state.donor.overstayed")
                del self._guests[peer]
                return [Send(peer, self._words.denied(known.digest, TURN_S))]
        return None

    def _waits_for(self, guest: PeerId, other: PeerId) -> bool:
        """Whether a guest has to wait while chunks come slowly to another."""
        return guest not in self.members or other in self.members

    def _turn(self, guest: PeerId, now: float) -> float:
        """When the turn of a guest begins, or began: whoever comes again soon has had it."""
        began = self._turns.get(guest, -math.inf)
        if now >= began + TURN_AGAIN_S:
            began = now
            remember(self._turns, guest, now, TURNS_MAX)
        return began

    def _give(self, guest: PeerId, ask: ChunkAsk, now: float) -> Sequence[Send[Message]]:
        file = self._file(ask.digest)
        if file is None:
            return [Send(guest, self._words.denied(ask.digest, 0.0))]
        known = self._guests.get(guest)
        if known is None or ask.index >= len(file.chunks):
            self._trace.mark("state.drop.ask")
            return []
        known.asked, known.chunks = now, known.chunks + 1
        try:
            data = file.read(ask.index)
        except Problem:
            self._trace.mark("state.donor.unreadable")
            self._unreadable(ask.digest)
            return [Send(guest, self._words.denied(ask.digest, 0.0))]
        assert len(data) <= CHUNK_BYTES
        return [Send(guest, self._words.chunk_give(ask.digest, ask.index, memoryview(data)))]
