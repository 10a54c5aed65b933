"""All links of a host: called and accepted, one or two per peer, with the messages that wait for a link."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any

from core.base.back_off import BackOff
from core.base.budget import Budget
from core.base.ids import PeerId
from core.base.machine import Transfer
from core.base.trace import Trace
from core.net.address_book import Address, AddressBook
from core.net.link_maker import RANKS, LinkMaker
from core.net.liveness import HEARTBEAT_S, SILENCE_S
from core.net.outbox import BULK_QUEUE_BYTES_MAX, MESSAGE_COST_BYTES
from core.net.pace import Pace
from core.net.passes import Pass
from core.net.ports import has_address
from core.net.punch import Put, Rendezvous
from core.net.stream_terms import StreamTerms
from core.net.streams import CLOSE_S, PeerStream, Way
from core.net.tls import Credentials

HANDSHAKES_MAX = 64
"""Number of accepted connections at a time whose handshake is not complete."""
HANDSHAKE_PLACE_S = 1.0
"""A handshake that takes longer makes way when others wait: nobody can hold all places by doing nothing."""
LINKS_MAX = 1024
LINKS_PER_PEER_MAX = 4
STEADY_S = 5.0
"""A link that lived this long was a success; a duplicate unused for this long is closed."""
PEERS_MAX = 4096
CALL_AGAIN_S = 0.25
"""First back-off after a failed call, seconds; then doubled."""
CALL_AGAIN_MAX_S = 30.0
DIRECT_FIRST_S = 0.3
"""Seconds of calls to known addresses before the owner is asked for other ways."""
OTHER_WAYS_S = 10.0
SUSPECT_S = SILENCE_S + STEADY_S
"""Messages sent within this time before a link broke may not have arrived."""


@dataclass(slots=True)
class _PeerLinks:
    """Links with one peer, and messages that wait for one."""

    streams: list[PeerStream] = field(default_factory=list)
    waiting: deque[tuple[bytes, bool]] = field(default_factory=deque)
    waiting_bytes: int = 0
    calling: bool = False
    closing_planned: bool = False
    """A look at unused duplicates is planned."""
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while a link is open."""
    budget: Budget | None = None
    """What the present round sends to the peer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOwner:
    """Callbacks of the links' owner.  `received` runs inside the loop's callbacks, `lost` in a callback of its own."""

    received: Callable[[PeerStream, bytearray], None]
    lost: Callable[[PeerId, str], None]
    spawn: Callable[[Coroutine[Any, Any, None]], Any]
    """Runs a coroutine in the owner's task group."""
    opened: Callable[[PeerStream], None] | None = None
    """Told of each new link, in a callback of its own."""
    wanted: Callable[[PeerId], None] | None = None
    """Told that a peer does not answer at its addresses, if there are any: relays and punches are wanted."""


class Links:
    """Keeps the links of a host.

    When both sides call each other at once, both links live; both sides send on the one that the smaller id called.

    Args:
        me: This peer's id.
        owner: Callbacks to the owner.
        credentials: This peer's key and pass.
        verify: Reads the pass in a certificate; raises ProofProblem.
        book: Addresses of peers.
        now: Unix seconds.
        pace: The volunteer's limits.
        own: Returns the address to call from: where the host listens in that family; None for any port.
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
        self.maker = LinkMaker(me=me, own=own, links=self, put=put, trace=trace, random=random)
        self._owner = owner
        self._book = book
        self._trace = trace
        self._random = random
        self._loop = asyncio.get_running_loop()
        self._terms = StreamTerms(credentials=credentials, verify=verify, now=now, trace=trace, pace=pace)
        self._by_peer: dict[PeerId, _PeerLinks] = {}
        self._failed: BackOff[PeerId] = BackOff(
            first=CALL_AGAIN_S, longest=CALL_AGAIN_MAX_S, random=random, things_max=PEERS_MAX
        )
        self.connections: set[PeerStream] = set()
        """Streams of all connections, also of those whose handshake is not complete."""
        self.handshaking: dict[PeerStream, float] = {}
        """Time of arrival of each connection without a complete handshake, oldest first."""
        self._closing = False
        self.past_bytes_sent = 0
        self.past_bytes_received = 0

    def streams(self) -> list[PeerStream]:
        """The streams of all links that are open."""
        return [stream for links in self._by_peer.values() for stream in links.streams]

    def send(self, peer: PeerId, data: bytes, *, bulk: bool) -> None:
        """Send on the link to `peer`, or call it and send then."""
        if self._closing:
            return
        links = self._links(peer)
        stream = self._preferred(links)
        if stream is not None:
            stream.send(data, bulk=bulk)
            return
        links.waiting.append((data, bulk))
        links.waiting_bytes += len(data) + MESSAGE_COST_BYTES
        if links.waiting_bytes > BULK_QUEUE_BYTES_MAX:
            self._trace.mark("net.drop.queue")
            self._give_up(peer, links, "too much to send before it answers")
        if not links.calling:
            links.calling = True
            self._owner.spawn(self._call(peer, links))

    def carry(self, peer: PeerId, transfer: Transfer | None) -> None:
        """Let bulk to a peer leave as its transfer has it, on whatever link it goes; other bulk ends the transfer."""
        links = self._links(peer)
        if transfer is (None if links.budget is None else links.budget.transfer):
            return
        links.budget = None if transfer is None else Budget(transfer, self._loop.time())
        for stream in links.streams:
            stream.sender.budget = links.budget

    def new(self, expected: PeerId) -> PeerStream:
        """Make the stream of a link that this peer calls."""
        stream = PeerStream(self._terms, self, expected=expected)
        self.connections.add(stream)
        return stream

    def best(self, peer: PeerId) -> Way | None:
        """The best way of the links with a peer; None: there is no link."""
        streams = self._by_peer[peer].streams if peer in self._by_peer else []
        return max((stream.route.way for stream in streams), key=RANKS.__getitem__, default=None)

    def preferred(self, peer: PeerId) -> PeerStream | None:
        """The link on which messages to a peer are sent; None: there is no link."""
        return self._preferred(self._by_peer[peer]) if peer in self._by_peer else None

    def punch(self, rendezvous: Rendezvous) -> None:
        """Try to reach a peer through both routers, at the moment that was agreed with it."""
        if not self._closing and self.best(rendezvous.peer) != "tcp":
            self._owner.spawn(self.maker.punch(rendezvous))

    def improve(self, peer: PeerId) -> None:
        """Call the known addresses of a peer to replace its worse link."""
        links = self._links(peer)
        if not self._closing and not links.calling and self.best(peer) != "tcp":
            links.calling = True
            self._owner.spawn(self._improve(peer, links))

    def moved(self) -> None:
        """After a change of network, end links from addresses that are gone, and end all back-off."""
        for peer, links in self._by_peer.items():
            self._failed.clear(peer)
            for stream in list(links.streams):
                if stream.route.own_host is not None and not has_address(stream.route.own_host):
                    stream.abort("has another address now")

    def accept(self) -> asyncio.BaseProtocol:
        """Make a protocol for an incoming connection."""
        if len(self.handshaking) >= HANDSHAKES_MAX:
            self._make_room()
        if (
            self._closing
            or len(self.handshaking) >= HANDSHAKES_MAX
            or len(self.connections) >= LINKS_MAX + HANDSHAKES_MAX
        ):
            self._trace.mark("net.drop.crowded")
            return _TurnedAway()
        stream = PeerStream(self._terms, self, expected=None)
        self.handshaking[stream] = self._loop.time()
        self.connections.add(stream)
        return stream

    async def close(self) -> None:
        """Say goodbye on all links and wait until their sockets are gone, which takes about `CLOSE_S` at most."""
        self._closing = True
        leaving = list(self.connections)
        for stream in leaving:
            stream.close("we are leaving")
        if leaving:
            await asyncio.wait([stream.finished for stream in leaving], timeout=2 * CLOSE_S)
        self.maker.close()

    # --- told by the streams -----------------------------------------------------------------------------------------

    def stream_opened(self, stream: PeerStream) -> None:
        """Register a link whose handshake is complete."""
        self.handshaking.pop(stream, None)
        links = self._links(stream.peer)
        links.streams.append(stream)
        if links.budget is not None:
            stream.sender.budget = links.budget
        links.opened.set()
        if self._owner.opened is not None:
            self._loop.call_soon(self._tell_opened, stream)
        if stream.peer == self._me or len(self.streams()) > LINKS_MAX:
            self._trace.mark("net.drop.crowded")
            stream.close("too many links")
            return
        if len(links.streams) > LINKS_PER_PEER_MAX:
            self._trace.mark("net.drop.crowded")
            next(other for other in links.streams if other is not self._preferred(links)).close("too many links")
        elif len(links.streams) > 1:
            self._plan_closing(links)
        while links.waiting and stream.closed is None:
            data, bulk = links.waiting.popleft()
            stream.send(data, bulk=bulk)
        links.waiting_bytes = 0

    def _tell_opened(self, stream: PeerStream) -> None:
        if self._owner.opened is not None and stream.closed is None:
            self._owner.opened(stream)

    def stream_received(self, stream: PeerStream, data: bytearray) -> None:
        """Pass a message on to the owner."""
        self._owner.received(stream, data)

    def stream_closed(self, stream: PeerStream, reason: str) -> None:
        """Forget a link that has ended or was never made."""
        self.connections.discard(stream)
        self.handshaking.pop(stream, None)
        self.past_bytes_sent += stream.sender.bytes_sent
        self.past_bytes_received += stream.receiver.bytes_received
        if stream.proven is None:
            return
        links = self._links(stream.peer)
        links.streams.remove(stream)
        if self._terms.now() - stream.opened_at >= STEADY_S:
            self._failed.clear(stream.peer)
        elif stream.initiated:
            self._failed.fail(stream.peer, self._loop.time())
        if not links.streams:
            links.opened.clear()
            self._lose(stream.peer, reason)
        elif self._loop.time() - stream.liveness.used_at < (
            SUSPECT_S if stream.broken else STEADY_S / 2 if stream.receiver.goodbye else 0.0
        ):
            self._lose(stream.peer, reason)  # messages in flight are gone, whatever other links there are

    # --- inside ------------------------------------------------------------------------------------------------------

    def _make_room(self) -> None:
        """End the oldest incomplete handshake, if it has had its time."""
        oldest, since = next(iter(self.handshaking.items()))
        if self._loop.time() - since >= HANDSHAKE_PLACE_S:
            self._trace.mark("net.drop.slow")
            oldest.abort("made way for others")

    def _links(self, peer: PeerId) -> _PeerLinks:
        if peer not in self._by_peer and len(self._by_peer) >= PEERS_MAX:
            self._prune()
        links = self._by_peer.get(peer)
        if links is None:
            links = self._by_peer[peer] = _PeerLinks()
        return links

    def _preferred(self, links: _PeerLinks) -> PeerStream | None:
        """The link to send on: one that is alive, travels the best way, was called by the smaller id, newest."""
        if not links.streams:
            return None
        if len(links.streams) == 1:
            return links.streams[0]
        alive = [
            stream for stream in links.streams if self._loop.time() - stream.liveness.heard_at < HEARTBEAT_S * 1.6
        ] or links.streams
        return max(alive, key=self._worth)

    def _worth(self, stream: PeerStream) -> tuple[int, bool, float]:
        return RANKS[stream.route.way], stream.initiated == (self._me < stream.peer), stream.opened_at

    def _plan_closing(self, links: _PeerLinks) -> None:
        if not links.closing_planned:
            links.closing_planned = True
            self._loop.call_later(STEADY_S, self._close_duplicates, links)

    def _close_duplicates(self, links: _PeerLinks) -> None:
        """Close links that neither side uses; only the smaller id does, or each side might close another."""
        links.closing_planned = False
        if len(links.streams) < 2 or self._closing:
            return
        if self._me < links.streams[0].peer:
            preferred = self._preferred(links)
            for stream in list(links.streams):
                if (
                    stream is not preferred
                    and self._loop.time() - stream.liveness.used_at >= STEADY_S
                    and not stream.sender.outbox
                ):
                    stream.close("one link is enough")
        self._plan_closing(links)

    async def _call(self, peer: PeerId, links: _PeerLinks) -> None:
        """Make a link, after the back-off of earlier failures, as long as messages wait for one."""
        try:
            while links.waiting and not links.streams:
                await asyncio.sleep(self._failed.wait(peer, self._loop.time()))
                reason = None if links.streams else await self._try_addresses(peer, links)
                if reason is not None and not links.streams:
                    self._failed.fail(peer, self._loop.time())
                    self._trace.mark("net.call.failed")
                    self._give_up(peer, links, reason)
        finally:
            links.calling = False

    async def _try_addresses(self, peer: PeerId, links: _PeerLinks) -> str | None:
        """Try the known addresses, and after a moment the owner's other ways; returns why nothing worked, or None."""
        addresses = self._book.addresses(peer)
        asking = None
        if self._owner.wanted is not None:
            asking = self._loop.call_later(DIRECT_FIRST_S if addresses else 0.0, self._ask_for_ways, peer, links)
        reason = await self.maker.call(peer, addresses)
        if reason is not None and asking is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(OTHER_WAYS_S):
                    await links.opened.wait()
        if asking is not None:
            asking.cancel()
        return None if links.streams else reason

    def _ask_for_ways(self, peer: PeerId, links: _PeerLinks) -> None:
        if not links.streams and self._owner.wanted is not None:
            self._owner.wanted(peer)

    async def _improve(self, peer: PeerId, links: _PeerLinks) -> None:
        try:
            await self.maker.call(peer, self._book.addresses(peer))
        finally:
            links.calling = False

    def _give_up(self, peer: PeerId, links: _PeerLinks, reason: str) -> None:
        links.waiting.clear()
        links.waiting_bytes = 0
        self._lose(peer, reason)

    def _lose(self, peer: PeerId, reason: str) -> None:
        """Tell the owner in a callback of its own: it may be in the middle of something."""
        if not self._closing:
            self._loop.call_soon(self._owner.lost, peer, reason)

    def _prune(self) -> None:
        """Forget peers without links and waiting messages."""
        self._by_peer = {
            peer: links for peer, links in self._by_peer.items() if links.streams or links.waiting or links.calling
        }


class _TurnedAway(asyncio.Protocol):
    """Protocol of a surplus connection, which it ends."""

    def connection_made(self, transport: Any) -> None:
        transport.abort()
