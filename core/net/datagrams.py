"""The UDP side of a host: envelopes in and out of one port."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from core.base.ids import PeerId
from core.base.problems import ProofProblem, WireProblem
from core.base.trace import Trace
from core.net.address_book import Address, AddressBook
from core.net.envelope import Envelopes, PassRequested, UnknownPass, VerifiedDatagram, remember
from core.net.name_resolver import is_literal
from core.net.udp import UdpSockets, source_of

SOURCES_MAX = 4096
FIRST_OTHER = 0x20
"""Smallest first byte of packets that are not envelopes."""


class DatagramPort(asyncio.DatagramProtocol):
    """Sends and receives enveloped datagrams over the sockets of both families.

    Args:
        envelopes: Seals and opens.
        book: Addresses of peers; a verified datagram updates its sender's.
        now: Unix seconds.
        trace: Counts what is dropped.
        deliver: Takes each verified datagram, and the address for an answer (None: the book's); called inside the
            loop's callback.
        other: Takes packets that are not envelopes: QUIC and punches, told apart by the first byte.
        counted: Told the bytes of envelopes sent and received.
        observed: Told just before the first datagram of each sender, and again when its address has changed.
        stray: Whether a datagram says nothing about its sender's address: it was sent from another port on purpose.
    """

    def __init__(  # noqa: PLR0913 - a port's owner tells each thing once
        self,
        *,
        envelopes: Envelopes,
        book: AddressBook,
        now: Callable[[], float],
        trace: Trace,
        deliver: Callable[[VerifiedDatagram, Address | None], None],
        observed: Callable[[PeerId, Address], None],
        other: Callable[[bytes, Address], None] | None = None,
        counted: Callable[[int, int], None] | None = None,
        stray: Callable[[VerifiedDatagram], bool] = lambda _: False,
    ) -> None:
        self._envelopes = envelopes
        self._book = book
        self._now = now
        self._trace = trace
        self._deliver = deliver
        self._observed = observed
        self._other = other
        self._counted = counted
        self._stray = stray
        self._sources: OrderedDict[PeerId, Address] = OrderedDict()
        self._sockets = UdpSockets()
        self.bytes_sent = 0
        self.bytes_received = 0

    def send(self, to: PeerId, body: bytes, *, reply_to: bytes = b"", at: Address | None = None) -> None:
        """Send a datagram.

        Args:
            to: The recipient.
            body: The encoded message.
            reply_to: Nonce of the request that it answers.
            at: The address; None: where `to` was last seen, if that is known.
        """
        address = at or next(iter(self._book.addresses(to)), None)
        if address is None or not is_literal(address[0]):
            self._trace.mark("net.drop.no_address")
            return
        for datagram in self._envelopes.seal(to, body, now=self._now(), reply_to=reply_to):
            self._count_and_put(datagram, address)

    def sealed(self, to: PeerId, body: bytes) -> list[bytes]:
        """Seal a datagram into packets to be sent by another socket.

        Args:
            to: The recipient.
            body: The encoded message.
        """
        return self._envelopes.seal(to, body, now=self._now())

    def close(self) -> None:
        """Close the sockets of both families."""
        self._sockets.close()

    def connection_made(self, transport: Any) -> None:
        """Adopt a socket that asyncio has opened."""
        self._sockets.made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a socket that asyncio has closed."""
        del exc
        self._sockets.lost()

    def error_received(self, exc: Exception) -> None:
        """Count a datagram that the system could not deliver; UDP promises nothing."""
        del exc
        self._trace.mark("net.datagram.undelivered")

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """Open a datagram, and those that wait behind it; invalid ones are dropped and counted."""
        self._take(data, addr)
        for more, source in self._sockets.waiting(addr):
            self._take(more, source)

    def _take(self, data: bytes, addr: tuple[Any, ...]) -> None:
        self.bytes_received += len(data)
        source = source_of(addr)
        if source is None:
            self._trace.mark("net.drop.scope")
        elif self._other is not None and data and data[0] >= FIRST_OTHER:
            self._other(data, source)
        else:
            self._envelope(data, source)

    def _envelope(self, data: bytes, source: Address) -> None:
        if self._counted is not None:
            self._counted(0, len(data))
        try:
            found = self._envelopes.open(data, now=self._now())
        except WireProblem:
            self._trace.mark("net.drop.garbage")
            return
        except ProofProblem:
            self._trace.mark("net.drop.proof")
            return
        self._opened(found, source)

    def _opened(self, found: VerifiedDatagram | UnknownPass | PassRequested | None, source: Address) -> None:
        match found:
            case VerifiedDatagram():
                self._letter(found, source)
            case UnknownPass(answer=answer):
                self._count_and_put(answer, source)
            case PassRequested(peer=peer, datagrams=datagrams):
                for address in self._book.addresses(peer)[:1]:
                    if is_literal(address[0]):
                        for datagram in datagrams:
                            self._count_and_put(datagram, address)
            case None:
                self._trace.mark("net.drop.unasked")

    def _letter(self, letter: VerifiedDatagram, source: Address) -> None:
        known = self._sources.get(letter.sender) == source
        if not known and not self._stray(letter):
            known = True
            remember(self._sources, letter.sender, source, SOURCES_MAX)
            self._book.saw(letter.sender, source)
            self._observed(letter.sender, source)
        if letter.body:
            self._deliver(letter, source if known else None)

    def _count_and_put(self, datagram: bytes, address: Address) -> None:
        if self._counted is not None:
            self._counted(len(datagram), 0)
        self.put(datagram, address)

    def put(self, datagram: bytes, address: Address) -> None:
        """Send a packet as it is.

        Args:
            datagram: The packet.
            address: Where to.
        """
        if self._sockets.put(datagram, address):
            self.bytes_sent += len(datagram)
        else:
            self._trace.mark("net.datagram.undelivered")
