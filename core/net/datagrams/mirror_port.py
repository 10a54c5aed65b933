"""Mirror port: a second UDP port that tells others where it sees them; two ports of a host reveal a router."""

from collections.abc import Callable
from typing import Any, Final

from core.base.ids import PeerId
from core.base.machine import Trace
from core.base.problems import ProofProblem, WireProblem
from core.base.rate_limit import RateLimit, household
from core.base.wire import MessageCodec
from core.nat.messages import NAT_MESSAGES, Address, Mirror, Mirrored
from core.nat.mirror import ANSWERS_BURST, ANSWERS_PER_S
from core.net.addresses.address_book import Address as Place
from core.net.datagrams.envelope import Envelopes, UnknownPass, VerifiedDatagram
from core.net.datagrams.udp import UdpPort, source_of
from core.net.limits.pace import Pace

_CODEC: Final = MessageCodec(NAT_MESSAGES)


class MirrorPort(UdpPort):
    """Answers `Mirror` and nothing else; its datagrams do not update anybody's address.

    Args:
        envelopes: The host's: a nonce that was seen at one port is not taken at the other.
        now: Unix seconds.
        trace: Counts what is dropped.
        pace: Counts the bytes sent and received.
    """

    def __init__(
        self,
        *,
        envelopes: Envelopes,
        now: Callable[[], float],
        trace: Trace,
        pace: Pace,
    ) -> None:
        super().__init__(trace)
        self._envelopes = envelopes
        self._now = now
        self._pace = pace
        self._rate_limit = RateLimit[PeerId](rate_per_s=ANSWERS_PER_S, burst=ANSWERS_BURST)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """Answer a datagram at its source address."""
        now, source = self._now(), source_of(addr)
        self._pace.passed(received=len(data))
        if source is None:
            self._trace.mark("net.drop.scope")
            return
        try:
            found = self._envelopes.open(data, now=now, source=household(source[0]))
        except (WireProblem, ProofProblem):
            self._trace.mark("net.drop.proof")
            return
        match found:
            case UnknownPass(answer=answer):
                self._put([answer], source)
            case VerifiedDatagram() if found.body:
                self._datagram(found, source, now)

    def _datagram(self, datagram: VerifiedDatagram, source: Place, now: float) -> None:
        try:
            message = _CODEC.decode(datagram.body)
        except WireProblem:
            self._trace.mark("net.drop.message")
            return
        sender = datagram.sender
        if not (isinstance(message, Mirror) and message.pad and self._rate_limit.admits(sender, now)):
            self._trace.mark("net.drop.second")
            return
        answer = Mirrored(message.nonce, Address(*source), second_port=0, load=0)
        self._put(self._envelopes.seal(sender, _CODEC.encode(answer), now=now, reply_to=datagram.nonce), source)

    def _put(self, datagrams: list[bytes], address: Place) -> None:
        for datagram in datagrams:
            self._pace.passed(sent=len(datagram))
            self._sockets.put(datagram, address)
