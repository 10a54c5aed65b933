"""The UDP side of a host: envelopes in and out of one port."""

import contextlib
import socket
from collections import OrderedDict
from collections.abc import Callable
from itertools import chain
from typing import Any, Protocol

from core.base.bounds import remember
from core.base.ids import PeerId
from core.base.machine import Trace
from core.base.problems import ProofProblem, WireProblem
from core.base.rate_limit import household
from core.net.addresses.address_book import Address, AddressBook
from core.net.addresses.hosts import is_literal
from core.net.datagrams.envelope import Envelopes, Opened, PassRequested, UnknownPass, VerifiedDatagram, WrongTime
from core.net.datagrams.udp import UdpPort, source_of
from core.net.limits.pace import Pace

SOURCES_MAX = 4096
FIRST_OTHER = 0x20
"""Smallest first byte of packets that are not envelopes."""
PACKET_COST_BYTES = 40
"""Bytes counted for a packet of QUIC or a punch: links count their content."""


class DatagramOwner(Protocol):
    """Callbacks to the owner of a port, inside the loop's callbacks."""

    def datagram(self, datagram: VerifiedDatagram, source: Address | None) -> None:
        """Take a verified datagram.

        Args:
            datagram: The datagram.
            source: The address for an answer; None: the address book's.
        """

    def observed(self, peer: PeerId, address: Address) -> None:
        """Take the address of a sender, just before its first datagram and when it has changed.

        Args:
            peer: The sender.
            address: Its address.
        """

    def is_stray(self, datagram: VerifiedDatagram) -> bool:
        """Whether a datagram says nothing about its sender's address: it was sent from another port on purpose."""

    def packet(self, data: bytes, source: Address) -> None:
        """Take a packet that is not an envelope: of QUIC or a punch, told apart by the first byte.

        Args:
            data: The packet.
            source: Where it came from.
        """


class DatagramPort(UdpPort):
    """Sends and receives enveloped datagrams over the sockets of both families.

    Args:
        envelopes: Seals and opens.
        book: Addresses of peers; a verified datagram updates its sender's.
        now: Unix seconds.
        trace: Counts what is dropped.
        pace: Counts what is sent and received.
        owner: Takes what arrives.
    """

    def __init__(
        self,
        *,
        envelopes: Envelopes,
        book: AddressBook,
        now: Callable[[], float],
        trace: Trace,
        pace: Pace,
        owner: DatagramOwner,
    ) -> None:
        super().__init__(trace)
        self._envelopes = envelopes
        self._book = book
        self._now = now
        self._pace = pace
        self._owner = owner
        self._sources: OrderedDict[PeerId, Address] = OrderedDict()
        self.bytes_sent = 0
        self.bytes_received = 0

    def send(
        self, to: PeerId, body: bytes, *, reply_to: bytes = b"", at: Address | None = None, fresh: bool = False
    ) -> None:
        """Send a datagram.

        Args:
            to: The recipient.
            body: The encoded message.
            reply_to: Nonce of the request that it answers.
            at: The address; None: where `to` was last seen, if that is known.
            fresh: From a port that is used for nothing else.
        """
        address = at or next(iter(self._book.addresses(to)), None)
        if address is None or not is_literal(address[0]):
            self._trace.mark("net.drop.no_address")
            return
        packets = self._envelopes.seal(to, body, now=self._now(), reply_to=reply_to)
        if not fresh:
            for packet in packets:
                self.put(packet, address, cost=len(packet))
            return
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as own:
            own.setblocking(False)
            for packet in packets:
                own.sendto(packet, address)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """Open a datagram, and those that wait behind it; invalid ones are dropped and counted."""
        counted = sum(self._take(*packet) for packet in chain(((data, addr),), self._sockets.waiting(addr)))
        if counted:
            self._pace.passed(received=counted)

    def _take(self, data: bytes, addr: tuple[Any, ...]) -> int:
        """Take a packet; returns its bytes if it is an envelope, which nobody else counts."""
        self.bytes_received += len(data)
        source = source_of(addr)
        if source is None:
            self._trace.mark("net.drop.scope")
            return 0
        if data and data[0] >= FIRST_OTHER:
            self._owner.packet(data, source)
            return 0
        if self._envelopes.is_beyond_share(data, now=self._now()):
            self._trace.mark("net.drop.share")
        else:
            self._envelope(data, source)
        return len(data)

    def _envelope(self, data: bytes, source: Address) -> None:
        try:
            found = self._envelopes.open(data, now=self._now(), source=household(source[0]))
        except WireProblem:
            self._trace.mark("net.drop.garbage")
            return
        except ProofProblem:
            self._trace.mark("net.drop.proof")
            return
        self._opened(found, source)

    def _opened(self, found: Opened | None, source: Address) -> None:
        match found:
            case VerifiedDatagram():
                with self._envelopes.work_for(found.sender, self._now()):
                    self._letter(found, source)
            case UnknownPass(answer=answer):
                self.put(answer, source, cost=len(answer))
            case PassRequested(peer=peer, datagrams=datagrams):
                for address in self._book.addresses(peer)[:1]:
                    if is_literal(address[0]):
                        for datagram in datagrams:
                            self.put(datagram, address, cost=len(datagram))
            case WrongTime(answer=answer):
                self._trace.mark("net.drop.time")
                self.put(answer, source, cost=len(answer))
            case None:
                self._trace.mark("net.drop.unasked")

    def _letter(self, letter: VerifiedDatagram, source: Address) -> None:
        known = self._sources.get(letter.sender) == source
        if not known and not self._owner.is_stray(letter):
            known = True
            remember(self._sources, letter.sender, source, SOURCES_MAX)
            self._book.saw(letter.sender, source)
            self._owner.observed(letter.sender, source)
        if letter.body:
            self._owner.datagram(letter, source if known else None)

    def put(self, packet: bytes, address: Address, *, cost: int = PACKET_COST_BYTES) -> None:
        """Send a packet as it is.

        Args:
            packet: The packet.
            address: Where to.
            cost: Bytes counted as sent.
        """
        self._pace.passed(sent=cost)
        if self._sockets.put(packet, address):
            self.bytes_sent += len(packet)
        else:
            self._trace.mark("net.datagram.undelivered")
