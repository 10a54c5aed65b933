"""The links with one peer, called and accepted, and the messages that wait for one."""

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from core.base.back_off import BackOff
from core.base.budget import Budget
from core.base.ids import PeerId
from core.base.machine import Lost, Transfer
from core.net.links.link_maker import RANKS
from core.net.links.liveness import HEARTBEAT_S, SILENCE_S
from core.net.links.outbox import BULK_QUEUE_BYTES_MAX, MESSAGE_COST_BYTES
from core.net.links.stream_terms import StreamTerms
from core.net.links.streams import PeerStream, Way

LINKS_PER_PEER_MAX = 4
STEADY_S = 5.0
"""A link that lived this long was a success; a duplicate unused for this long is closed."""
DIRECT_FIRST_S = 0.3
"""Seconds of calls to known addresses before the owner is asked for other ways."""
OTHER_WAYS_S = 10.0
SUSPECT_S = SILENCE_S + STEADY_S
"""Messages sent within this time before a link broke may not have arrived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOwner:
    """Callbacks of the links' owner.  `received` runs inside the loop's callbacks, `lost` in a callback of its own."""

    received: Callable[[PeerStream, bytearray], None]
    lost: Callable[[Lost], None]
    spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any] | None]
    """Runs a coroutine in the owner's task group; None: the owner is about to end."""
    opened: Callable[[PeerStream], None] | None = None
    """Told of each new link, in a callback of its own."""
    wanted: Callable[[PeerId], None] | None = None
    """Told that a peer does not answer at its addresses, if there are any: relays and punches are wanted."""


class PeerLinks:
    """Sends to one peer on the best link, and makes one when messages wait.

    When both sides call each other at once, both links live; both sides send on the one that the smaller id called.

    Args:
        peer: The peer.
        terms: Shared by all links of the host.
        owner: Callbacks to the owner.
        call: Calls the known addresses of a peer; returns why none answered, or None.
        failed: The back-off of calls to all peers.
    """

    def __init__(
        self,
        peer: PeerId,
        *,
        terms: StreamTerms,
        owner: LinkOwner,
        call: Callable[[PeerId], Coroutine[Any, Any, str | None]],
        failed: BackOff[PeerId],
    ) -> None:
        self.peer = peer
        self.streams: list[PeerStream] = []
        """The links that are open."""
        self._terms = terms
        self._owner = owner
        self._call_addresses = call
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._is_smaller = terms.credentials.peer_id < peer
        self._waiting: deque[tuple[bytes, bool, bool]] = deque()
        self._waiting_bytes = 0
        self._opened = asyncio.Event()
        """Set while a link is open."""
        self._calling: asyncio.Task[Any] | None = None
        self._closing: asyncio.TimerHandle | None = None
        """The next look at unused duplicates, while there are any."""
        self._budget: Budget | None = None
        """What the present round sends to the peer."""

    def send(self, data: bytes, *, bulk: bool, beside: bool = False) -> None:
        """Send on the preferred link, or call the peer and send then."""
        stream = self.preferred
        if stream is not None:
            stream.send(data, bulk=bulk, beside=beside)
            return
        self._waiting.append((data, bulk, beside))
        self._waiting_bytes += len(data) + MESSAGE_COST_BYTES
        if self._waiting_bytes > BULK_QUEUE_BYTES_MAX:
            self._terms.trace.mark("net.drop.queue")
            self._give_up("too much to send before it answers")
        self._begin(self._call)

    def carry(self, transfer: Transfer | None) -> None:
        """Let bulk leave as its transfer has it, on whatever link it goes; other bulk ends the transfer."""
        if transfer is (None if self._budget is None else self._budget.transfer):
            return
        self._budget = None if transfer is None else Budget(transfer, self._loop.time())
        for stream in self.streams:
            stream.sender.budget = self._budget

    @property
    def preferred(self) -> PeerStream | None:
        """The link to send on: one that is alive, travels the best way, was called by the smaller id, newest."""
        if len(self.streams) < 2:
            return self.streams[0] if self.streams else None
        heard_after = self._loop.time() - HEARTBEAT_S * 1.6
        alive = [stream for stream in self.streams if stream.liveness.heard_at > heard_after] or self.streams
        return max(alive, key=lambda one: (RANKS[one.route.way], one.initiated == self._is_smaller, one.opened_at))

    @property
    def best(self) -> Way | None:
        """The best way of the links; None: there is no link."""
        return max((stream.route.way for stream in self.streams), key=RANKS.__getitem__, default=None)

    @property
    def idle(self) -> bool:
        """Whether there is neither a link nor a message that waits for one."""
        return not (self.streams or self._waiting)

    def add(self, stream: PeerStream, *, room: bool) -> None:
        """Use a link that has opened.

        Args:
            stream: The link.
            room: Whether the host may have one link more.
        """
        self.streams.append(stream)
        self._opened.set()
        stream.sender.budget = self._budget
        if not room:
            self._terms.trace.mark("net.drop.crowded")
            stream.close("too many links")
            return
        if len(self.streams) > LINKS_PER_PEER_MAX:
            self._terms.trace.mark("net.drop.crowded")
            next(other for other in self.streams if other is not self.preferred).close("too many links")
        elif len(self.streams) > 1 and self._closing is None:
            self._closing = self._loop.call_later(STEADY_S, self._close_duplicates)
        while self._waiting and stream.closed is None:
            data, bulk, beside = self._waiting.popleft()
            stream.send(data, bulk=bulk, beside=beside)
        self._waiting_bytes = 0

    def remove(self, stream: PeerStream, reason: str) -> None:
        """Forget a link that has ended.

        Args:
            stream: The link.
            reason: Why it ended.
        """
        now = self._loop.time()
        self.streams.remove(stream)
        if self._terms.now() - stream.opened_at >= STEADY_S:
            self._failed.clear(self.peer)
        elif stream.initiated:
            self._failed.fail(self.peer, now)
        if not self.streams:
            self._opened.clear()
            suspect_s = math.inf
        else:  # messages in flight may be gone, whatever other links there are
            suspect_s = SUSPECT_S if stream.broken else STEADY_S / 2 if stream.receiver.goodbye else 0.0
        if now - stream.liveness.used_at < suspect_s:
            self._loop.call_soon(self._owner.lost, Lost(self.peer, reason))

    def improve(self) -> None:
        """Call the known addresses of the peer to replace its worse link, if there is one."""
        if self.streams and self.best != "tcp":
            self._begin(lambda: self._call_addresses(self.peer))

    def _begin(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Begin to call, unless a call is in progress."""
        if self._calling is None or self._calling.done():
            self._calling = self._owner.spawn(work())

    async def _call(self) -> None:
        """Make a link, after the back-off of earlier failures, as long as messages wait for one."""
        while self._waiting and not self.streams:
            await asyncio.sleep(self._failed.wait(self.peer, self._loop.time()))
            reason = None if self.streams else await self._try_all_ways()
            if reason is not None and not self.streams:
                self._failed.fail(self.peer, self._loop.time())
                self._terms.trace.mark("net.call.failed")
                self._give_up(reason)

    async def _try_all_ways(self) -> str | None:
        """Try the known addresses, and after a moment the owner's other ways; returns why nothing worked, or None."""
        asking = self._loop.call_later(DIRECT_FIRST_S, self._ask_for_ways)
        reason = await self._call_addresses(self.peer)
        if self._loop.time() < asking.when():
            asking.cancel()
            self._ask_for_ways()
        if reason is not None and self._owner.wanted is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(OTHER_WAYS_S):
                    await self._opened.wait()
        return reason

    def _ask_for_ways(self) -> None:
        if not self.streams and self._owner.wanted is not None:
            self._owner.wanted(self.peer)

    def _give_up(self, reason: str) -> None:
        self._waiting.clear()
        self._waiting_bytes = 0
        self._loop.call_soon(self._owner.lost, Lost(self.peer, reason))

    def _close_duplicates(self) -> None:
        """Close links that neither side uses; only the smaller id does, or each side might close another."""
        self._closing = None
        if len(self.streams) < 2:
            return
        preferred, used_after = self.preferred, self._loop.time() - STEADY_S
        for stream in list(self.streams) if self._is_smaller else ():
            if stream is not preferred and stream.liveness.used_at <= used_after and not stream.sender.outbox:
                stream.close("one link is enough")
        self._closing = self._loop.call_later(STEADY_S, self._close_duplicates)
