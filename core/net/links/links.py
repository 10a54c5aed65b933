"""All links of a host: called and accepted, one or two per peer."""

import asyncio
from collections.abc import Callable
from random import Random

from core.base.back_off import BackOff
from core.base.connection_limit import ConnectionLimit
from core.base.ids import PeerId
from core.net.addresses.address_book import Address, AddressBook
from core.net.addresses.ports import has_address
from core.net.carriers.punch import Put, Rendezvous
from core.net.links.link_maker import LinkMaker
from core.net.links.peer_links import LinkOwner, PeerLinks
from core.net.links.stream_terms import StreamTerms
from core.net.links.streams import CLOSE_S, PeerStream, Way

HANDSHAKES_MAX = 256
HANDSHAKES_OF_ONE_MAX = 32
"""Number of connections at a time whose handshake is not complete, of all and of one address."""
LINKS_MAX = 1024
PEERS_MAX = 4096
CALL_AGAIN_S = 0.25
"""First back-off after a failed call, seconds; then doubled."""
CALL_AGAIN_MAX_S = 30.0


class Links:
    """Keeps the links of a host, and admits connections.

    Args:
        terms: Shared by all links.
        owner: Callbacks to the owner.
        book: Addresses of peers.
        random: Draws jitter.
        own: Returns the address to call from: where the host listens in that family; None for any port.
        put: Sends from the UDP port.
    """

    def __init__(
        self,
        terms: StreamTerms,
        *,
        owner: LinkOwner,
        book: AddressBook,
        random: Random,
        own: Callable[[str], Address | None],
        put: Put,
    ) -> None:
        self._terms = terms
        self._me = terms.credentials.peer_id
        self._owner = owner
        self._book = book
        self._loop = asyncio.get_running_loop()
        self.maker = LinkMaker(me=self._me, own=own, links=self, put=put, trace=terms.trace, random=random)
        self._by_peer: dict[PeerId, PeerLinks] = {}
        self._failed: BackOff[PeerId] = BackOff(
            first=CALL_AGAIN_S, longest=CALL_AGAIN_MAX_S, random=random, things_max=PEERS_MAX
        )
        self.connections: set[PeerStream] = set()
        """Streams of all connections, also of those whose handshake is not complete."""
        self.handshaking: ConnectionLimit[PeerStream] = ConnectionLimit(
            most=HANDSHAKES_MAX, most_of_one=HANDSHAKES_OF_ONE_MAX
        )
        """Incoming connections without a complete handshake."""
        self.stream_heard = self.handshaking.spoke
        """Told of a connection on which something has arrived: silent ones make way before it."""
        self._closing = False
        self.past_bytes_sent = 0
        self.past_bytes_received = 0

    def streams(self) -> list[PeerStream]:
        """The streams of all links that are open."""
        return [stream for links in self._by_peer.values() for stream in links.streams]

    def to(self, peer: PeerId) -> PeerLinks:
        """The links with a peer, of which there may be none yet."""
        links = self._by_peer.get(peer)
        if links is None:
            if len(self._by_peer) >= PEERS_MAX:
                self._by_peer = {peer: links for peer, links in self._by_peer.items() if not links.idle}
            links = self._by_peer[peer] = PeerLinks(
                peer,
                terms=self._terms,
                owner=self._owner,
                call=lambda whom: self.maker.call(whom, self._book.addresses(whom)),
                failed=self._failed,
            )
        return links

    def best(self, peer: PeerId) -> Way | None:
        """The best way of the links with a peer; None: there is no link."""
        return self._by_peer[peer].best if peer in self._by_peer else None

    def new(self, expected: PeerId) -> PeerStream:
        """Make the stream of a link that this peer calls."""
        stream = PeerStream(self._terms, self, expected=expected)
        self.connections.add(stream)
        return stream

    def punch(self, rendezvous: Rendezvous) -> None:
        """Try to reach a peer through both routers, at the moment that was agreed with it."""
        if self.best(rendezvous.peer) != "tcp":
            self._owner.spawn(self.maker.punch(rendezvous))

    def moved(self) -> None:
        """After a change of network or a wake-up, end links from addresses that are gone, and end all back-off."""
        for peer in self._by_peer:
            self._failed.clear(peer)
        for stream in self.streams():
            if stream.route.own_host is not None and not has_address(stream.route.own_host):
                stream.abort("has another address now")

    def accept(self) -> PeerStream:
        """Make the stream of an incoming connection."""
        stream = PeerStream(self._terms, self, expected=None)
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

    def stream_connected(self, stream: PeerStream) -> None:
        """Count an incoming connection, for which another one may have to make way."""
        if self._closing:
            stream.abort("we are leaving")
        elif not stream.initiated:
            victim = self.handshaking.enter(stream, stream.route.household)
            if victim is not None:
                self._terms.trace.mark("net.drop.crowded")
                victim.abort("made way for others")

    def stream_opened(self, stream: PeerStream) -> None:
        """Register a link whose handshake is complete."""
        self.handshaking.leave(stream)
        if self._owner.opened is not None:
            self._loop.call_soon(self._tell_opened, stream)
        self.to(stream.peer).add(stream, room=stream.peer != self._me and len(self.streams()) < LINKS_MAX)

    def stream_received(self, stream: PeerStream, data: bytearray) -> None:
        """Pass a message on to the owner."""
        self._owner.received(stream, data)

    def stream_closed(self, stream: PeerStream, reason: str) -> None:
        """Forget a link that has ended or was never made."""
        self.connections.discard(stream)
        self.handshaking.leave(stream)
        self.past_bytes_sent += stream.sender.bytes_sent
        self.past_bytes_received += stream.receiver.bytes_received
        if stream.proven is not None:
            self.to(stream.peer).remove(stream, reason)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _tell_opened(self, stream: PeerStream) -> None:
        if self._owner.opened is not None and stream.closed is None:
            self._owner.opened(stream)
