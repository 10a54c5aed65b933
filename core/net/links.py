"""All links of a host: called and accepted, one or two per peer, with what waits for a link that is being made."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any

from core.base.ids import PeerId
from core.base.trace import Trace
from core.net.book import Address, AddressBook, Backoff
from core.net.outbox import BULK_QUEUE_BYTES_MAX, MESSAGE_COST_BYTES
from core.net.passes import Pass
from core.net.rhythm import HEARTBEAT_S
from core.net.streams import CLOSE_S, PeerStream
from core.net.terms import StreamTerms
from core.net.tls import Credentials

CALL_S = 10.0
STRANGERS_MAX = 64
"""Accepted connections at a time whose handshake is not complete."""
STRANGER_S = 1.0
"""A handshake that takes longer makes way when others wait: nobody can hold all places by doing nothing."""
LINKS_MAX = 1024
LINKS_PER_PEER_MAX = 4
STEADY_S = 5.0
"""A link that lived this long was a success; a duplicate that nobody used for this long is closed."""
CIRCLES_MAX = 4096


@dataclass(slots=True)
class _Circle:
    """What there is with one peer."""

    streams: list[PeerStream] = field(default_factory=list)
    backoff: Backoff = field(default_factory=Backoff)
    waiting: deque[tuple[bytes, bool]] = field(default_factory=deque)
    waiting_bytes: int = 0
    calling: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOwner:
    """Who owns the links.  `received` runs inside the loop's callbacks, `lost` in a callback of its own."""

    received: Callable[[PeerStream, bytearray], None]
    lost: Callable[[PeerId, str], None]
    spawn: Callable[[Coroutine[Any, Any, None]], Any]
    """Runs a coroutine in the owner's task group."""


class Links:
    """See the module's docstring.

    When both sides call each other at once, both links live; both sides send on the one that the smaller id called.

    Args:
        me: Our id.
        owner: See there.
        credentials: Ours.
        verify: The pass in a certificate; raises ProofProblem.
        book: Where peers are.
        now: Unix seconds.
    """

    def __init__(  # noqa: PLR0913 - a host's parts, each named once
        self,
        *,
        me: PeerId,
        owner: LinkOwner,
        credentials: Credentials,
        verify: Callable[[bytes], Pass],
        book: AddressBook,
        now: Callable[[], float],
        trace: Trace,
        random: Random,
    ) -> None:
        self._me = me
        self._owner = owner
        self._book = book
        self._trace = trace
        self._random = random
        self._loop = asyncio.get_running_loop()
        self._terms = StreamTerms(owner=self, credentials=credentials, verify=verify, now=now, trace=trace)
        self._circles: dict[PeerId, _Circle] = {}
        self._all: set[PeerStream] = set()
        self._strangers: dict[PeerStream, float] = {}
        """Oldest first, with the time of their arrival."""
        self._closing = False
        self.past_bytes_sent = 0
        self.past_bytes_received = 0

    def streams(self) -> list[PeerStream]:
        """All links that are open."""
        return [stream for circle in self._circles.values() for stream in circle.streams]

    def send(self, peer: PeerId, data: bytes, *, bulk: bool) -> None:
        """Send on the link to `peer`, or call it and send then."""
        if self._closing:
            return
        circle = self._circle(peer)
        stream = self._preferred(circle)
        if stream is not None:
            stream.send(data, bulk=bulk)
            return
        circle.waiting.append((data, bulk))
        circle.waiting_bytes += len(data) + MESSAGE_COST_BYTES
        if circle.waiting_bytes > BULK_QUEUE_BYTES_MAX:
            self._trace.mark("net.drop.queue")
            self._give_up(peer, circle, "too much to send before it answers")
        if not circle.calling:
            circle.calling = True
            self._owner.spawn(self._call(peer, circle))

    def accept(self) -> asyncio.BaseProtocol:
        """A protocol for a connection that somebody made to us."""
        if len(self._strangers) >= STRANGERS_MAX:
            self._make_room()
        if self._closing or len(self._strangers) >= STRANGERS_MAX or len(self._all) >= LINKS_MAX + STRANGERS_MAX:
            self._trace.mark("net.drop.crowded")
            return _TurnedAway()
        stream = PeerStream(self._terms, expected=None)
        self._strangers[stream] = self._loop.time()
        self._all.add(stream)
        return stream

    async def close(self) -> None:
        """Say goodbye on all links and wait until their sockets are gone, which takes about `CLOSE_S` at most."""
        self._closing = True
        leaving = list(self._all)
        for stream in leaving:
            stream.close("we are leaving")
        if leaving:
            await asyncio.wait([stream.finished for stream in leaving], timeout=2 * CLOSE_S)

    # --- told by the streams -----------------------------------------------------------------------------------------

    def stream_opened(self, stream: PeerStream) -> None:
        """A handshake is complete."""
        self._strangers.pop(stream, None)
        circle = self._circle(stream.peer)
        circle.streams.append(stream)
        if stream.peer == self._me or len(self.streams()) > LINKS_MAX:
            self._trace.mark("net.drop.crowded")
            stream.close("too many links")
            return
        if len(circle.streams) > LINKS_PER_PEER_MAX:
            self._trace.mark("net.drop.crowded")
            next(other for other in circle.streams if other is not self._preferred(circle)).close("too many links")
        elif len(circle.streams) > 1:
            self._loop.call_later(STEADY_S, self._part_with_duplicates, circle)
        while circle.waiting and stream.closed is None:
            data, bulk = circle.waiting.popleft()
            stream.send(data, bulk=bulk)
        circle.waiting_bytes = 0

    def stream_received(self, stream: PeerStream, data: bytearray) -> None:
        """A message arrived."""
        self._owner.received(stream, data)

    def stream_closed(self, stream: PeerStream, reason: str) -> None:
        """A link is over, or never was."""
        self._all.discard(stream)
        self._strangers.pop(stream, None)
        self.past_bytes_sent += stream.bytes_sent
        self.past_bytes_received += stream.bytes_received
        if stream.proven is None:
            return
        circle = self._circle(stream.peer)
        circle.streams.remove(stream)
        if self._terms.now() - stream.opened_at >= STEADY_S:
            circle.backoff.succeeded()
        elif stream.initiated:
            circle.backoff.failed(self._loop.time(), self._random)
        if not circle.streams:
            self._lose(stream.peer, reason)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _make_room(self) -> None:
        """Send the oldest stranger away, if it has had its time."""
        oldest, since = next(iter(self._strangers.items()))
        if self._loop.time() - since >= STRANGER_S:
            self._trace.mark("net.drop.slow")
            oldest.abort("made way for others")

    def _circle(self, peer: PeerId) -> _Circle:
        if peer not in self._circles and len(self._circles) >= CIRCLES_MAX:
            self._prune()
        return self._circles.setdefault(peer, _Circle())

    def _preferred(self, circle: _Circle) -> PeerStream | None:
        """The link to send on: one that is alive, called by the smaller id, newest."""
        if not circle.streams:
            return None
        if len(circle.streams) == 1:
            return circle.streams[0]
        alive = [stream for stream in circle.streams if stream.quiet_s < HEARTBEAT_S * 1.6] or circle.streams
        return max(alive, key=lambda stream: (stream.initiated == (self._me < stream.peer), stream.opened_at))

    def _part_with_duplicates(self, circle: _Circle) -> None:
        """The smaller id closes links that neither side uses; only one side may, or each might close another."""
        if len(circle.streams) < 2 or self._closing:
            return
        if self._me < circle.streams[0].peer:
            preferred = self._preferred(circle)
            for stream in list(circle.streams):
                if stream is not preferred and stream.idle_s >= STEADY_S:
                    stream.close("one link is enough")
        self._loop.call_later(STEADY_S, self._part_with_duplicates, circle)

    async def _call(self, peer: PeerId, circle: _Circle) -> None:
        """Make a link, after the rest that earlier failures demand, as long as something waits for one."""
        try:
            while circle.waiting and not circle.streams:
                await asyncio.sleep(circle.backoff.wait_s(self._loop.time()))
                reason = None if circle.streams else await self._try_addresses(peer)
                if reason is not None and not circle.streams:
                    circle.backoff.failed(self._loop.time(), self._random)
                    self._trace.mark("net.call.failed")
                    self._give_up(peer, circle, reason)
        finally:
            circle.calling = False

    async def _try_addresses(self, peer: PeerId) -> str | None:
        """Try each known address; why none worked, or None."""
        reason = "no address is known"
        for address in self._book.addresses(peer):
            stream = PeerStream(self._terms, expected=peer)
            self._all.add(stream)
            try:
                await self._connect(stream, address)
            except TimeoutError:
                stream.abort("no answer")
            except OSError as error:
                stream.abort(error.strerror or "cannot be reached")
            except ValueError:  # a host that is no name at all
                stream.abort("has no address")
            if await stream.settled:
                return None
            reason = stream.closed or reason
        return reason

    async def _connect(self, stream: PeerStream, address: Address) -> None:
        async with asyncio.timeout(CALL_S):
            await self._loop.create_connection(lambda: stream, *address)

    def _give_up(self, peer: PeerId, circle: _Circle, reason: str) -> None:
        circle.waiting.clear()
        circle.waiting_bytes = 0
        self._lose(peer, reason)

    def _lose(self, peer: PeerId, reason: str) -> None:
        """Tell the owner in a callback of its own: it may be in the middle of something."""
        if not self._closing:
            self._loop.call_soon(self._owner.lost, peer, reason)

    def _prune(self) -> None:
        """Forget peers with whom there is nothing."""
        now = self._loop.time()
        self._circles = {
            peer: circle
            for peer, circle in self._circles.items()
            if circle.streams or circle.waiting or circle.calling or circle.backoff.wait_s(now)
        }


class _TurnedAway(asyncio.Protocol):
    """For a connection that is one too many."""

    def connection_made(self, transport: Any) -> None:
        transport.abort()
