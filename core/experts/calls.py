"""A trainer's calls to experts: whom it asks, how long it waits, and whom it asks no more.

`docs/protocols/experts.md` has the messages.  What the worst host gains: the wait of one call, which the speed of its
own earlier answers bounds, then a rest during which others of the place are asked; false numbers are bounded where they
are used.  It cannot answer for another host, nor for a call that it was not asked, since numbers are drawn at random
and belong to one host each.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random
from typing import Final

from core.base.back_off import BackOff
from core.base.bounds import remember
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace, earliest
from core.experts.grid import Place
from core.experts.messages import WITHIN_MS_MAX, ExpertCall, ExpertDrop, ExpertRefused, ExpertReply
from core.experts.queue import CallKind, CallRefusal
from core.experts.table import ExpertTable

REST_S: Final = (2.0, 300.0)
"""First and longest rest of a host that was late or lost, or whose answer could not be used."""
SLOW: Final = 3.0
"""Factor on the time within which 19 of 20 of its answers came: a host has as long as that."""
LEAST_S: Final = 1.0
"""And at least this long: its computer has other work, too."""
LATENCIES: Final = 64
"""Number of a host's last answers by which its speed is known."""
FIRST: Final = 1 / 3
"""Part of the patience that a host has whose speed is not known."""
BUSY_S: Final = 0.25
"""A host that is busy is left alone for at least this long."""
REFUSALS_MAX: Final = 4
"""A host that was too busy for one call so often rests, as one that has not answered."""
WINDOW: Final = (1.0, 16.0, 256.0)
"""Least, first and largest number of calls that one host has at a time."""
USELESS: Final = 2
"""Number of failures that an answer counts for which cannot be used: as an answer it took one away."""
HOSTS_MAX: Final = 1024
"""Number of hosts whose speed is remembered, beside those that have calls: keys that nobody has cost nothing."""
REMEMBERED: Final = 4096
"""Number of last answers whose hosts are remembered, to be blamed for what they hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertAsk:
    """Somebody is to answer for an expert.

    Attributes:
        ticket: Names it in what becomes of it.
        layer: Number of the layer.
        place: The expert's.
        kind: What is asked for.
        rows: Number of rows.
        seen: Version that answered forward, for a backward call.
        payload: Taken when it is sent: the rows, encoded.
        bytes: Length of the answer's payload.
    """

    ticket: int
    layer: int
    place: Place
    kind: CallKind
    rows: int
    payload: Callable[[], memoryview]
    bytes: int
    seen: int = 0


@dataclass(frozen=True, slots=True)
class CallAnswered:
    """An expert has answered one of the asks."""

    ticket: int
    version: int
    payload: memoryview


@dataclass(frozen=True, slots=True)
class CallLapsed:
    """Nobody has answered in time, and nobody will."""

    ticket: int


CallOutput = Send[ExpertCall | ExpertDrop] | CallAnswered | CallLapsed


@dataclass(slots=True)
class _OpenAsk:
    """A call until it is answered or lapses."""

    ask: ExpertAsk
    until: float
    host: PeerId
    number: int = -1
    """As its host knows it; -1: it waits until the host has fewer calls."""
    sent_at: float = 0.0
    tried: set[PeerId] = field(default_factory=set)
    refused: int = 0
    """How often this host was too busy for it."""


@dataclass(slots=True)
class _Host:
    """What is known of a host: its speed, and how many calls it takes at a time."""

    window: float = WINDOW[1]
    open: int = 0
    waiting: deque[int] = field(default_factory=deque)
    """Tickets that wait for their turn."""
    rests_until: float = 0.0
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=LATENCIES))

    def within_s(self, patience_s: float) -> float:
        """Time for an answer: as long as its answers take, with room; of the patience where that is not known."""
        if len(self.latencies) < LATENCIES // 4:
            return patience_s * FIRST
        usual = sorted(self.latencies)[int(0.95 * len(self.latencies))]
        return min(patience_s, max(LEAST_S, SLOW * usual))


class ExpertCalls:
    """Asks hosts, one after the other where a place has several, until one answers or patience ends.

    A busy host is asked again with fewer calls at a time (additive increase, multiplicative decrease: Chiu, Jain 1989).

    Args:
        tables: Who lives where, by layer.
        patience_s: Time within which an answer is of use.
        members: Who was in rounds with this peer: they are asked before others, for anybody can make up keys.
        random: Draws the numbers of calls.
        trace: Counts what hosts do wrong.
    """

    def __init__(
        self,
        tables: Mapping[int, ExpertTable],
        *,
        patience_s: float,
        members: Container[PeerId],
        random: Random,
        trace: Trace,
    ) -> None:
        self._tables, self._members = tables, members
        self._patience_s = min(patience_s, WITHIN_MS_MAX / 1000)
        self._random = random
        self._trace = trace
        self._asked: dict[int, _OpenAsk] = {}
        """By ticket."""
        self._calls: dict[int, int] = {}
        """Tickets by the number of the call."""
        self._due: list[tuple[float, int]] = []
        """When to look at a ticket; a heap, in which calls stay that are over."""
        self._hosts: dict[PeerId, _Host] = {}
        self._resting = BackOff[PeerId](first=REST_S[0], longest=REST_S[1], random=random)
        self._answered: OrderedDict[int, tuple[PeerId, ExpertAsk]] = OrderedDict()
        """Who has answered, by ticket, the last `REMEMBERED`."""
        self.rows_from: Counter[PeerId] = Counter()
        """Rows that each host has answered, without those that could not be used."""

    @property
    def deadline(self) -> float | None:
        """When somebody has waited long enough, Unix seconds."""
        while self._due and self._due[0][1] not in self._asked:
            heappop(self._due)
        rests = (one.rests_until for one in self._hosts.values() if one.waiting and one.rests_until)
        return earliest(self._due[0][0] if self._due else None, min(rests, default=None))

    def ask(self, asks: Iterable[ExpertAsk], now: float) -> Sequence[CallOutput]:
        """Ask for answers; each ticket comes back once, answered or lapsed, unless it is forgotten before."""
        until = now + self._patience_s
        return [output for ask in asks for output in self._next_host(_OpenAsk(ask, until, PeerId(b"")), now)]

    def forget(self, tickets: Iterable[int] | None, now: float) -> Sequence[CallOutput]:
        """Nobody needs these answers any more; None: nobody needs any."""
        named = self._asked.keys() if tickets is None else self._asked.keys() & set(tickets)
        ended = [self._asked.pop(ticket) for ticket in sorted(named)]
        outputs = [output for asked in ended for output in self._take_back(asked, tell=True)]
        for host in {asked.host: None for asked in ended}:
            outputs += self._send_more(host, now)
        return outputs

    def blame(self, ticket: int, now: float) -> None:
        """What was answered cannot be used: its numbers are not finite, or have done harm."""
        if (answered := self._answered.pop(ticket, None)) is not None:
            host, ask = answered
            self._trace.mark("experts.useless_answer")
            self._resting.fail(host, now, times=USELESS)
            self.rows_from[host] -= ask.rows
            self._tables[ask.layer].now = now
            self._tables[ask.layer].failed(ask.place)

    def handle(self, event: Received[ExpertReply | ExpertRefused] | Tick | Lost, now: float) -> Sequence[CallOutput]:
        """Answers, refusals, lost hosts and time."""
        outputs: list[CallOutput] = []
        match event:
            case Received(sender=sender, message=message):
                asked = self._asked.get(self._calls.get(message.call, -1))
                if asked is None or asked.host != sender:
                    self._trace.mark("experts.drop.not_asked")
                    return []
                self._take_back(asked)
                match message:
                    case ExpertReply():
                        outputs += self._replied(asked, message, now)
                    case ExpertRefused():
                        outputs += self._refused(asked, message, now)
                outputs += self._send_more(sender, now)
            case Lost(peer=peer):
                for table in self._tables.values():
                    table.now = now
                    table.lost(peer)
                for asked in [asked for asked in self._asked.values() if asked.host == peer]:
                    self._take_back(asked)
                    self._failed(peer, now)
                    outputs += self._next_host(asked, now)
            case Tick():
                while (deadline := self.deadline) is not None and deadline <= now:
                    outputs += self._late(now)
        return outputs

    def _replied(self, asked: _OpenAsk, reply: ExpertReply, now: float) -> Sequence[CallOutput]:
        ask, peer = asked.ask, asked.host
        if reply.rows != ask.rows or len(reply.payload) != ask.bytes:
            self._trace.mark("experts.malformed_answer")
            self._failed(peer, now)
            return self._next_host(asked, now)
        host = self._hosts[peer]
        host.latencies.append(now - asked.sent_at)
        host.window = min(WINDOW[2], host.window + 1 / host.window)
        self._resting.succeed(peer, now)
        self._tables[ask.layer].answered(ask.place)
        del self._asked[ask.ticket]
        remember(self._answered, ask.ticket, (peer, ask), REMEMBERED)
        self.rows_from[peer] += ask.rows
        return [CallAnswered(ask.ticket, reply.version, reply.payload)]

    def _refused(self, asked: _OpenAsk, refused: ExpertRefused, now: float) -> Sequence[CallOutput]:
        host = self._hosts[asked.host]
        if refused.why in {CallRefusal.BUSY, CallRefusal.OVER_THE_SHARE}:
            host.window = max(WINDOW[0], host.window / 2)
            asked.refused += 1
            if asked.refused >= REFUSALS_MAX:
                self._failed(asked.host, now)
                return self._next_host(asked, now)
            pause_s = min(max(refused.retry_after_s, now - asked.sent_at, BUSY_S), self._patience_s)
            host.rests_until = max(host.rests_until, now + pause_s * self._random.uniform(1.0, 1.5))
            host.waiting.appendleft(asked.ask.ticket)
            return []
        if refused.why in {CallRefusal.ABSENT, CallRefusal.MALFORMED}:
            self._trace.mark("experts.refused")
            self._failed(asked.host, now)
        return self._next_host(asked, now)

    def _late(self, now: float) -> Iterator[CallOutput]:
        """Look at hosts whose rest is over, and at the call that waited longest."""
        for peer, host in list(self._hosts.items()):
            if host.rests_until and host.rests_until <= now:
                host.rests_until = 0.0
                yield from self._send_more(peer, now)
        if not self._due or self._due[0][0] > now:
            return
        asked = self._asked[heappop(self._due)[1]]
        peer = asked.host
        is_late = asked.number >= 0 and now >= asked.sent_at + self._hosts[peer].within_s(self._patience_s)
        if is_late:
            self._trace.mark("experts.late")
            self._hosts[peer].latencies.append(now - asked.sent_at)
            self._failed(peer, now)
        if is_late or now >= asked.until:
            yield from self._take_back(asked, tell=True)
            yield from self._next_host(asked, now)
            yield from self._send_more(peer, now)
        else:
            self._wait(asked)

    def _next_host(self, asked: _OpenAsk, now: float) -> Sequence[CallOutput]:
        """Ask another host of the place, the one for which the fewest wait; one that rests only where all do."""
        ask, table = asked.ask, self._tables[asked.ask.layer]
        table.now = now
        hosts = [host for host in table.hosts(ask.place) if host not in asked.tried]
        awake = [host for host in hosts if not self._resting.is_excluded(host, now)] or hosts
        if not hosts:
            table.failed(ask.place)
        if not hosts or now >= asked.until:
            self._asked.pop(ask.ticket, None)
            return [CallLapsed(ask.ticket)]
        asked.refused = 0
        asked.host = min(awake, key=lambda one: (one not in self._members, len(self._hosts.get(one, _Host()).waiting)))
        asked.tried.add(asked.host)
        self._asked[ask.ticket] = asked
        self._hosts.setdefault(asked.host, _Host()).waiting.append(ask.ticket)
        if len(self._hosts) > HOSTS_MAX:
            idle = (peer for peer, host in self._hosts.items() if not host.open and not host.waiting)
            self._hosts.pop(next(idle, PeerId(b"")), None)
        self._wait(asked)
        return self._send_more(asked.host, now)

    def _send_more(self, peer: PeerId, now: float) -> Sequence[CallOutput]:
        """Send what waits for this host, as far as its window and its rest allow."""
        host = self._hosts.get(peer)
        if host is None or host.rests_until > now:
            return []
        outputs: list[CallOutput] = []
        while host.waiting and host.open < host.window:
            asked = self._asked.get(host.waiting.popleft())
            if asked is None or asked.host != peer or asked.number >= 0:
                continue
            ask, asked.number, asked.sent_at = asked.ask, self._random.getrandbits(62), now
            self._calls[asked.number] = ask.ticket
            host.open += 1
            self._wait(asked)
            within_s = min(host.within_s(self._patience_s), asked.until - now)
            call = ExpertCall(
                call=asked.number,
                layer=ask.layer,
                place=ask.place,
                kind=ask.kind,
                rows=ask.rows,
                seen=ask.seen,
                within_ms=max(1, int(1000 * within_s)),
                payload=ask.payload(),
            )
            outputs.append(Send(peer, call))
        return outputs

    def _wait(self, asked: _OpenAsk) -> None:
        until = asked.until
        if asked.number >= 0:
            until = min(until, asked.sent_at + self._hosts[asked.host].within_s(self._patience_s))
        heappush(self._due, (until, asked.ask.ticket))

    def _take_back(self, asked: _OpenAsk, *, tell: bool = False) -> Sequence[CallOutput]:
        """The host has this call no more."""
        number, asked.number = asked.number, -1
        if self._calls.pop(number, None) is None:
            return []
        self._hosts[asked.host].open -= 1
        return [Send(asked.host, ExpertDrop(call=number))] if tell else []

    def _failed(self, host: PeerId, now: float) -> None:
        """Let a host rest; what comes while it rests is of the same trouble."""
        if not self._resting.is_excluded(host, now):
            self._resting.fail(host, now)
