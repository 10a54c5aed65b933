"""The host of experts: takes trainers' calls in, has them computed, many of one expert together, and answers.

    ExpertCall -> refused at once: malformed, absent, busy
               -> waits -> refused: late, stopping
                        -> dropped by its trainer, which may be gone
                        -> computed -> answered, or refused: its numbers were not finite

Each call that was taken in ends once, in one of these ways.  The worker that computes has its next batch before it has
finished one (`AHEAD`), so it never waits for this machine.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.codecs.codec import Codec
from core.experts.grid import Place
from core.experts.messages import (
    CALL_MESSAGES,
    RETRY_S_MAX,
    ExpertCall,
    ExpertDrop,
    ExpertRefused,
    ExpertReply,
    call_bytes,
)
from core.experts.queue import CallKind, CallQueue, CallRefusal, WaitingCall

AHEAD: Final = 2
"""Number of batches that the worker has at a time: one that it computes, and the next."""
WAITS_KEPT: Final = 200
"""Number of answers over which the time of waiting is measured."""
LONG: Final = 0.95
"""Share of the answers that took no longer than the time that is told."""

Expert: TypeAlias = tuple[int, Place]
"""An expert is known by its layer and its place there."""


def named(expert: Expert) -> str:
    """An expert as people see it, such as "1: 0-3"; layers count from 1."""
    return f"{expert[0] + 1}: {'-'.join(map(str, expert[1]))}"


@dataclass(frozen=True, slots=True)
class ExpertHosted:
    """The worker has the expert of a place, and can be asked."""

    layer: int
    place: Place
    version: int = 0


@dataclass(frozen=True, slots=True)
class ExpertLeft:
    """The expert of a place is here no longer, or is about to go: nobody is to ask it any more."""

    layer: int
    place: Place


@dataclass(frozen=True, slots=True)
class ExpertLost:
    """The worker cannot have the expert of a place of that file, or has no memory for it."""

    layer: int
    place: Place
    why: str
    damaged: bool = False
    """Whether it is the file."""


@dataclass(frozen=True, slots=True)
class ExpertKept:
    """The state of an expert lies in a file of this computer."""

    layer: int
    place: Place
    version: int
    path: str
    digest: bytes
    """`core.base.content.root_digest` over the file's chunks."""
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ExpertNotKept:
    """The worker was to save the expert of a place, and has no file of it."""

    layer: int
    place: Place


@dataclass(frozen=True, slots=True)
class HostStopped:
    """The worker computes nothing more and has no experts: it has ended, or stands still."""


@dataclass(frozen=True, slots=True, eq=False)
class ComputeBatch:
    """The worker is to compute these calls, all of one expert and kind."""

    number: int
    layer: int
    place: Place
    kind: CallKind
    calls: tuple[WaitingCall, ...]
    payloads: tuple[memoryview, ...]
    """One for each call."""


@dataclass(frozen=True, slots=True, eq=False)
class BatchComputed:
    """The worker has computed a batch."""

    number: int
    version: int
    answers: tuple[memoryview | None, ...]
    """One for each call, in the batch's order; None: its numbers were not finite."""


HostFact: TypeAlias = ExpertHosted | ExpertLost | ExpertKept | ExpertNotKept | HostStopped | BatchComputed
"""What the worker tells; the host's machine takes what concerns calls."""
HostEvent: TypeAlias = (
    Received[ExpertCall | ExpertDrop]
    | Tick
    | Lost
    | ExpertHosted
    | ExpertLeft
    | ExpertNotKept
    | HostStopped
    | BatchComputed
)
HostOutput: TypeAlias = Send[ExpertReply | ExpertRefused] | ComputeBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLimits:
    """What calls may take of a host, until they are answered."""

    calls_max: int = 256
    bytes_max: int
    """Bytes of all calls that wait."""
    rows_max: int
    """Number of rows of one batch."""


@dataclass(slots=True)
class _Open:
    """A call that was taken in and has not ended."""

    call: WaitingCall
    payload: memoryview | None
    """None from when its batch was ordered."""


class ExpertHost:
    """Answers the calls of trainers to the experts of this computer.

    What the worst trainer gains is as much room as it leaves free, and one turn among the trainers (`CallQueue`); what
    it drops while it is computed costs one computation, which its turn has paid for.

    Args:
        codec: The collaboration's.
        numbers: Numbers of a row.
        limits: For the calls of all trainers.
        trace: Counts what trainers do wrong.
    """

    TAKES: ClassVar[tuple[type, ...]] = (*CALL_MESSAGES, ExpertHosted, ExpertLeft, HostStopped, BatchComputed)
    """Classes of messages and events."""

    def __init__(self, *, codec: Codec, numbers: int, limits: HostLimits, trace: Trace) -> None:
        self._codec = codec
        self._numbers = numbers
        self._limits = limits
        self._trace = trace
        self._queue = CallQueue(calls_max=limits.calls_max, bytes_max=limits.bytes_max, rows_max=limits.rows_max)
        self._open: dict[tuple[PeerId, int], _Open] = {}
        self._batches: dict[int, ComputeBatch] = {}
        """Batches that the worker has, by number."""
        self._ordered = 0
        self._waits: deque[float] = deque(maxlen=WAITS_KEPT)
        self.hosted: set[Expert] = set()
        """The experts that can be asked."""
        self.answered: Counter[Expert] = Counter()
        """Rows that each has answered, forward and backward."""
        self.replies = 0
        """Number of calls that were answered."""
        self.refused: Counter[CallRefusal] = Counter()
        """Number of calls that were refused, by reason."""

    @property
    def room(self) -> int:
        """Number of calls that could be taken in now."""
        return self._limits.calls_max - len(self._queue)

    @property
    def wait_s(self) -> float:
        """Seconds from a call's coming to its answer: 95 % of the last ones took no longer; 0: none was answered."""
        return sorted(self._waits)[int(LONG * (len(self._waits) - 1))] if self._waits else 0.0

    @property
    def deadline(self) -> float | None:
        """When nobody waits any more for a call."""
        return self._queue.until

    def start(self, now: float) -> None:
        """Nothing is to be done when the peer joins the swarm; calls come when others know of the experts."""

    def found(self, found: object, now: float) -> None:
        """This machine asks the DHT for nothing."""

    def handle(self, event: HostEvent, now: float) -> Sequence[HostOutput]:
        """Calls, what the worker has computed, what it hosts, time and lost peers move it on."""
        outputs: list[HostOutput] = []
        match event:
            case Received(sender=sender, message=ExpertCall() as call):
                outputs += self._called(sender, call, now)
            case Received(sender=sender, message=ExpertDrop(call=number)):
                self._queue.drop(sender, number)
                self._open.pop((sender, number), None)
            case Lost(peer=peer):
                self._queue.forget(peer)
                self._open = {key: one for key, one in self._open.items() if key[0] != peer}
            case BatchComputed():
                outputs += self._computed(event, now)
            case ExpertHosted(layer=layer, place=place):
                self.hosted.add((layer, place))
            case ExpertLeft(layer=layer, place=place):
                self.hosted.discard((layer, place))
                outputs += self._end(self._queue.forget_expert(layer, place), CallRefusal.STOPPING)
            case HostStopped():
                self.hosted.clear()
                self._batches.clear()
                outputs += self._end([one.call for one in self._open.values()], CallRefusal.STOPPING)
        outputs += self._end(self._queue.late(now), CallRefusal.LATE)
        outputs += self._order()
        return outputs

    def _called(self, sender: PeerId, call: ExpertCall, now: float) -> list[HostOutput]:
        """Take a call in, or refuse it."""
        if (sender, call.call) in self._open:
            self._trace.mark("experts.repeated")
            return []
        size, place = call.payload.nbytes, tuple(call.place)
        waiting = WaitingCall(
            sender=sender,
            call=call.call,
            layer=call.layer,
            place=place,
            kind=call.kind,
            rows=call.rows,
            size=size,
            at=now,
            until=now + call.within_ms / 1000,
            seen=call.seen,
        )
        if size != call_bytes(self._codec, kind=call.kind, rows=call.rows, numbers=self._numbers):
            why: CallRefusal | None = CallRefusal.MALFORMED
        elif (call.layer, place) not in self.hosted:
            why = CallRefusal.ABSENT
        else:
            why = self._queue.admit(waiting)
        if why is None:
            self._open[sender, call.call] = _Open(waiting, call.payload)
            return []
        if why is CallRefusal.MALFORMED:
            self._trace.mark("experts.malformed")
        return [self._refusal(waiting, why)]

    def _computed(self, done: BatchComputed, now: float) -> list[HostOutput]:
        """Answer those calls of a batch for which somebody waits still."""
        batch = self._batches.pop(done.number, None)
        if batch is None:
            return []  # from before a stop
        outputs: list[HostOutput] = []
        for call, answer in zip(batch.calls, done.answers, strict=True):
            one = self._open.get((call.sender, call.call))
            if one is None or one.call is not call:
                continue  # dropped meanwhile
            if answer is None:
                self._trace.mark("experts.not_finite")
                outputs += self._end([call], CallRefusal.MALFORMED)
                continue
            del self._open[call.sender, call.call]
            self._waits.append(now - call.at)
            self.answered[call.layer, call.place] += call.rows
            self.replies += 1
            outputs.append(Send(call.sender, ExpertReply(call.call, call.rows, done.version, answer)))
        return outputs

    def _order(self) -> list[HostOutput]:
        """Give the worker its next batches."""
        outputs: list[HostOutput] = []
        while len(self._batches) < AHEAD and (calls := self._queue.next()):
            payloads = []
            for call in calls:
                one = self._open[call.sender, call.call]
                assert one.payload is not None
                payloads.append(one.payload)
                one.payload = None
            self._ordered += 1
            first = calls[0]
            batch = ComputeBatch(self._ordered, first.layer, first.place, first.kind, tuple(calls), tuple(payloads))
            self._batches[batch.number] = batch
            outputs.append(batch)
        return outputs

    def _end(self, calls: Iterable[WaitingCall], why: CallRefusal) -> list[HostOutput]:
        """Refuse calls that were taken in."""
        outputs: list[HostOutput] = []
        for call in calls:
            self._queue.drop(call.sender, call.call)
            del self._open[call.sender, call.call]
            outputs.append(self._refusal(call, why))
        return outputs

    def _refusal(self, call: WaitingCall, why: CallRefusal) -> HostOutput:
        self.refused[why] += 1
        again = why in {CallRefusal.BUSY, CallRefusal.LATE}
        retry_s = min(self.wait_s, RETRY_S_MAX) if again else 0.0
        return Send(call.sender, ExpertRefused(call.call, why, retry_s))
