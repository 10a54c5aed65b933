"""All links of a host: called and accepted, one or two per peer, with what waits for a link that is being made."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any

from core.base.back_off import BackOff
from core.base.ids import PeerId
from core.base.trace import Trace
from core.net.address_book import Address, AddressBook
from core.net.link_maker import RANKS, Ways
from core.net.liveness import HEARTBEAT_S, SILENCE_S
from core.net.outbox import BULK_QUEUE_BYTES_MAX, MESSAGE_COST_BYTES
from core.net.pace import Pace
from core.net.passes import Pass
from core.net.ports import has_address
from core.net.punch import Meeting, Put
from core.net.stream_terms import StreamTerms
from core.net.streams import CLOSE_S, PeerStream, Way
from core.net.tls import Credentials

STRANGERS_MAX = 64
"""Accepted connections at a time whose handshake is not complete."""
STRANGER_S = 1.0
"""A handshake that takes longer makes way when others wait: nobody can hold all places by doing nothing."""
LINKS_MAX = 1024
LINKS_PER_PEER_MAX = 4
STEADY_S = 5.0
"""A link that lived this long was a success; a duplicate that nobody used for this long is closed."""
CIRCLES_MAX = 4096
CALL_AGAIN_S = 0.25
"""A peer that could not be called is called again after so long, then after twice as long each time."""
CALL_AGAIN_MAX_S = 30.0
DIRECT_FIRST_S = 0.3
"""Known addresses have so long before the owner is asked for other ways."""
OTHER_WAYS_S = 10.0
SUSPECT_S = SILENCE_S + STEADY_S
"""What was said within this time before a link broke may not have arrived."""


@dataclass(slots=True)
class _Circle:
    """What there is with one peer."""

    streams: list[PeerStream] = field(default_factory=list)
    waiting: deque[tuple[bytes, bool, bool]] = field(default_factory=deque)
    waiting_bytes: int = 0
    calling: bool = False
    parting: bool = False
    """A look at links that nobody uses is planned."""
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while a link is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOwner:
    """Who owns the links.  `received` runs inside the loop's callbacks, `lost` in a callback of its own."""

    received: Callable[[PeerStream, bytearray], None]
    lost: Callable[[PeerId, str], None]
    spawn: Callable[[Coroutine[Any, Any, None]], Any]
    """Runs a coroutine in the owner's task group."""
    opened: Callable[[PeerStream], None] | None = None
    """Told of each link that stands, in a callback of its own."""
    wanted: Callable[[PeerId], None] | None = None
    """Told that a peer does not answer at its addresses, if there are any: relays and punches are wanted."""


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
        pace: The volunteer's limits.
        own: From where to call an address: where we listen in its family; None for any port.
        put: Sends from the UDP port.
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
        pace: Pace,
        own: Callable[[str], Address | None],
        put: Put,
    ) -> None:
        self._me = me
        self.ways = Ways(me=me, own=own, links=self, put=put, trace=trace, random=random)
        self._owner = owner
        self._book = book
        self._trace = trace
        self._random = random
        self._loop = asyncio.get_running_loop()
        self._terms = StreamTerms(owner=self, credentials=credentials, verify=verify, now=now, trace=trace, pace=pace)
        self._circles: dict[PeerId, _Circle] = {}
        self._failed: BackOff[PeerId] = BackOff(
            first=CALL_AGAIN_S, longest=CALL_AGAIN_MAX_S, random=random, things_max=CIRCLES_MAX
        )
        self._all: set[PeerStream] = set()
        self._strangers: dict[PeerStream, float] = {}
        """Oldest first, with the time of their arrival."""
        self._closing = False
        self.past_bytes_sent = 0
        self.past_bytes_received = 0

    def streams(self) -> list[PeerStream]:
        """All links that are open."""
        return [stream for circle in self._circles.values() for stream in circle.streams]

    def send(self, peer: PeerId, data: bytes, *, bulk: bool, ahead: bool = False) -> None:
        """Send on the link to `peer`, or call it and send then."""
        if self._closing:
            return
        circle = self._circle(peer)
        stream = self._preferred(circle)
        if stream is not None:
            stream.send(data, bulk=bulk, ahead=ahead)
            return
        circle.waiting.append((data, bulk, ahead))
        circle.waiting_bytes += len(data) + MESSAGE_COST_BYTES
        if circle.waiting_bytes > BULK_QUEUE_BYTES_MAX:
            self._trace.mark("net.drop.queue")
            self._give_up(peer, circle, "too much to send before it answers")
        if not circle.calling:
            circle.calling = True
            self._owner.spawn(self._call(peer, circle))

    def join(self) -> None:
        """What is sent now is one of many messages that everybody sends at once."""
        self._terms.uplink.join(asyncio.get_running_loop().time())

    def new(self, expected: PeerId) -> PeerStream:
        """A link that we make."""
        stream = PeerStream(self._terms, expected=expected)
        self._all.add(stream)
        return stream

    def best(self, peer: PeerId) -> Way | None:
        """The best way of the links with a peer; None: there is none."""
        streams = self._circles[peer].streams if peer in self._circles else []
        return max((stream.way for stream in streams), key=RANKS.__getitem__, default=None)

    def meet(self, meeting: Meeting) -> None:
        """Try to reach a peer through both routers, at the moment that was agreed with it."""
        if not self._closing and self.best(meeting.peer) != "tcp":
            self._owner.spawn(self.ways.meet(meeting))

    def improve(self, peer: PeerId) -> None:
        """Call the known addresses of a peer with whom there is only a worse link."""
        circle = self._circle(peer)
        if not self._closing and not circle.calling and self.best(peer) != "tcp":
            circle.calling = True
            self._owner.spawn(self._improve(peer, circle))

    def moved(self) -> None:
        """The computer has another network: links from addresses that are gone are over, and nobody rests longer."""
        for peer, circle in self._circles.items():
            self._failed.clear(peer)
            for stream in list(circle.streams):
                if stream.own_host is not None and not has_address(stream.own_host):
                    stream.abort("has another address now")

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
        self.ways.close()

    # --- told by the streams -----------------------------------------------------------------------------------------

    def stream_opened(self, stream: PeerStream) -> None:
        """A handshake is complete."""
        self._strangers.pop(stream, None)
        circle = self._circle(stream.peer)
        circle.streams.append(stream)
        circle.opened.set()
        if self._owner.opened is not None:
            self._loop.call_soon(self._tell_opened, stream)
        if stream.peer == self._me or len(self.streams()) > LINKS_MAX:
            self._trace.mark("net.drop.crowded")
            stream.close("too many links")
            return
        if len(circle.streams) > LINKS_PER_PEER_MAX:
            self._trace.mark("net.drop.crowded")
            next(other for other in circle.streams if other is not self._preferred(circle)).close("too many links")
        elif len(circle.streams) > 1:
            self._part_later(circle)
        while circle.waiting and stream.closed is None:
            data, bulk, ahead = circle.waiting.popleft()
            stream.send(data, bulk=bulk, ahead=ahead)
        circle.waiting_bytes = 0

    def _tell_opened(self, stream: PeerStream) -> None:
        if self._owner.opened is not None and stream.closed is None:
            self._owner.opened(stream)

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
            self._failed.clear(stream.peer)
        elif stream.initiated:
            self._failed.fail(stream.peer, self._loop.time())
        if not circle.streams:
            circle.opened.clear()
            self._lose(stream.peer, reason)
        elif stream.idle_s < (SUSPECT_S if stream.broken else STEADY_S / 2 if stream.left else 0.0):
            self._lose(stream.peer, reason)  # what was under way is gone, whatever other links there are

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
        circle = self._circles.get(peer)
        if circle is None:
            circle = self._circles[peer] = _Circle()
        return circle

    def _preferred(self, circle: _Circle) -> PeerStream | None:
        """The link to send on: one that is alive, travels the best way, was called by the smaller id, newest."""
        if not circle.streams:
            return None
        if len(circle.streams) == 1:
            return circle.streams[0]
        alive = [stream for stream in circle.streams if stream.quiet_s < HEARTBEAT_S * 1.6] or circle.streams
        return max(alive, key=self._worth)

    def _worth(self, stream: PeerStream) -> tuple[int, bool, float]:
        return RANKS[stream.way], stream.initiated == (self._me < stream.peer), stream.opened_at

    def _part_later(self, circle: _Circle) -> None:
        if not circle.parting:
            circle.parting = True
            self._loop.call_later(STEADY_S, self._part_with_duplicates, circle)

    def _part_with_duplicates(self, circle: _Circle) -> None:
        """The smaller id closes links that neither side uses; only one side may, or each might close another."""
        circle.parting = False
        if len(circle.streams) < 2 or self._closing:
            return
        if self._me < circle.streams[0].peer:
            preferred = self._preferred(circle)
            for stream in list(circle.streams):
                if stream is not preferred and stream.idle_s >= STEADY_S and not stream.queued_bytes:
                    stream.close("one link is enough")
        self._part_later(circle)

    async def _call(self, peer: PeerId, circle: _Circle) -> None:
        """Make a link, after the rest that earlier failures demand, as long as something waits for one."""
        try:
            while circle.waiting and not circle.streams:
                await asyncio.sleep(self._failed.wait(peer, self._loop.time()))
                reason = None if circle.streams else await self._try_addresses(peer, circle)
                if reason is not None and not circle.streams:
                    self._failed.fail(peer, self._loop.time())
                    self._trace.mark("net.call.failed")
                    self._give_up(peer, circle, reason)
        finally:
            circle.calling = False

    async def _try_addresses(self, peer: PeerId, circle: _Circle) -> str | None:
        """Try the known addresses, and after a moment whatever else the owner knows; why nothing worked, or None."""
        addresses = self._book.addresses(peer)
        asking = None
        if self._owner.wanted is not None:
            asking = self._loop.call_later(DIRECT_FIRST_S if addresses else 0.0, self._ask_for_ways, peer, circle)
        reason = await self.ways.call(peer, addresses)
        if reason is not None and asking is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(OTHER_WAYS_S):
                    await circle.opened.wait()
        if asking is not None:
            asking.cancel()
        return None if circle.streams else reason

    def _ask_for_ways(self, peer: PeerId, circle: _Circle) -> None:
        if not circle.streams and self._owner.wanted is not None:
            self._owner.wanted(peer)

    async def _improve(self, peer: PeerId, circle: _Circle) -> None:
        try:
            await self.ways.call(peer, self._book.addresses(peer))
        finally:
            circle.calling = False

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
        self._circles = {
            peer: circle for peer, circle in self._circles.items() if circle.streams or circle.waiting or circle.calling
        }


class _TurnedAway(asyncio.Protocol):
    """For a connection that is one too many."""

    def connection_made(self, transport: Any) -> None:
        transport.abort()
