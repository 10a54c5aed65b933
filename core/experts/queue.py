"""Calls that wait at a host: bounded for each trainer, served fairly, many of one expert together."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from core.base.ids import PeerId
from core.experts.grid import Place


class CallKind(IntEnum):
    """What a call asks an expert for."""

    FORWARD = 0
    BACKWARD = 1


class CallRefusal(IntEnum):
    """Why a host does not answer a call."""

    BUSY = 0
    LATE = 1
    """Nobody would wait for the answer any more."""
    ABSENT = 2
    """No expert lives here under that place."""
    MALFORMED = 3
    STOPPING = 4
    OVER_THE_SHARE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCall:
    """A call that a host has admitted, until its expert computes it."""

    sender: PeerId
    call: int
    layer: int
    place: Place
    kind: CallKind
    rows: int
    size: int
    """Bytes that it takes while it waits."""
    at: float
    """When it came, Unix seconds."""
    until: float
    """When nobody waits for it any more."""
    seen: int = 0
    """Version of the expert that answered forward, for a backward call."""


@dataclass(slots=True)
class _Trainer:
    """What one trainer has waiting, and how many rows it was served, so that all are served alike."""

    calls: dict[int, WaitingCall] = field(default_factory=dict)
    size: int = 0
    served: float = 0.0


class CallQueue:
    """Calls that wait until their expert has its turn.

    The trainer that has been served least comes next, with its oldest call; all other calls for the same expert and
    kind go along, as far as they fit.  A trainer that asks for the first time, or again after a rest, has been served
    as little as the one that had least (start-time fair queueing: Goyal et al. 1996): nobody gains by waiting.

    A trainer may have as much waiting as room is free (dynamic thresholds: Choudhury and Hahne 1998): alone it has half
    of all, n trainers have 1 / (n + 1) each, and as much is always left for another one.

    Args:
        calls_max: Number of calls of all together.
        bytes_max: Bytes of all together.
        rows_max: Number of rows that an expert takes at once.
    """

    def __init__(self, *, calls_max: int, bytes_max: int, rows_max: int) -> None:
        self._calls_max = calls_max
        self._bytes_max = bytes_max
        self._rows_max = rows_max
        self._trainers: dict[PeerId, _Trainer] = {}
        self._least = 0.0
        """What the trainer had that was served last, before its turn."""
        self._count = 0
        self._size = 0

    def __len__(self) -> int:
        return self._count

    @property
    def trainers(self) -> int:
        """Number of trainers that have calls here, or had of late."""
        return len(self._trainers)

    @property
    def until(self) -> float | None:
        """When nobody waits any more for the first of the calls; None: none waits."""
        return min((call.until for call in self._every()), default=None)

    def admit(self, call: WaitingCall) -> CallRefusal | None:
        """Take a call, or say why not; a call of the same number replaces nothing, and is not admitted."""
        if call.rows > self._rows_max:
            return CallRefusal.MALFORMED
        if call.until <= call.at:
            return CallRefusal.LATE
        trainer = self._trainers.get(call.sender) or _Trainer()
        if call.call in trainer.calls:
            return CallRefusal.MALFORMED
        if len(trainer.calls) >= self._calls_max - self._count:
            return CallRefusal.BUSY
        if trainer.size + call.size > self._bytes_max - self._size:
            return CallRefusal.BUSY
        if not trainer.calls:
            trainer.served = max(trainer.served, self._least)
        self._trainers[call.sender] = trainer
        trainer.calls[call.call] = call
        trainer.size += call.size
        self._size += call.size
        self._count += 1
        return None

    def drop(self, sender: PeerId, call: int) -> WaitingCall | None:
        """Forget a call that nobody waits for, unless its turn has come; returns it."""
        trainer = self._trainers.get(sender)
        return None if trainer is None or call not in trainer.calls else self._take(trainer.calls[call])

    def forget(self, sender: PeerId) -> list[WaitingCall]:
        """Forget all calls of a trainer that is gone; returns them."""
        trainer = self._trainers.get(sender)
        return [] if trainer is None else [self._take(call) for call in list(trainer.calls.values())]

    def forget_expert(self, layer: int, place: Place) -> list[WaitingCall]:
        """Forget all calls for an expert that is here no longer; returns them."""
        gone = [call for call in self._every() if call.layer == layer and call.place == place]
        return [self._take(call) for call in gone]

    def late(self, now: float) -> list[WaitingCall]:
        """Take out the calls for which nobody waits any more."""
        return [self._take(call) for call in list(self._every()) if call.until <= now]

    def next(self) -> list[WaitingCall]:
        """The calls that an expert computes next, all of one expert and kind; empty: none wait."""
        heads = ((one.served, next(iter(one.calls.values()))) for one in self._trainers.values() if one.calls)
        first = min(heads, key=lambda head: (head[0], head[1].at, head[1].sender), default=None)
        if first is None:
            return []
        self._least, head = first
        together, rows = [], 0
        same = (call for call in self._every() if _key(call) == _key(head) and call is not head)
        for call in [head, *sorted(same, key=lambda call: (call.at, call.sender, call.call))]:
            if rows + call.rows <= self._rows_max:
                together.append(call)
                rows += call.rows
        for call in together:
            self._trainers[call.sender].served += call.rows
            self._take(call)
        over = [sender for sender, one in self._trainers.items() if not one.calls and one.served <= self._least]
        for sender in over:
            del self._trainers[sender]
        return together

    def _every(self) -> Iterator[WaitingCall]:
        for trainer in self._trainers.values():
            yield from trainer.calls.values()

    def _take(self, call: WaitingCall) -> WaitingCall:
        trainer = self._trainers[call.sender]
        del trainer.calls[call.call]
        trainer.size -= call.size
        self._size -= call.size
        self._count -= 1
        return call


def _key(call: WaitingCall) -> tuple[int, Place, CallKind]:
    return call.layer, call.place, call.kind
