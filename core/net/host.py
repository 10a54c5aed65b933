"""Runs one machine on the real network: TLS streams and signed datagrams on one port number."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from random import SystemRandom
from secrets import token_bytes
from typing import Any, Self

from core.base.ids import PeerId
from core.base.machine import Machine
from core.base.wire import MessageCodec
from core.nat.events import SendDatagramTo
from core.net.addresses.address_book import Address, AddressBook
from core.net.addresses.hosts import is_literal, is_name
from core.net.addresses.name_resolver import NameResolver
from core.net.admission import ANY_LINE, Admission, HostOwner, LineUse
from core.net.background_tasks import BackgroundTasks
from core.net.clock import Clock
from core.net.datagrams.datagrams import DatagramPort
from core.net.datagrams.envelope import NONCE_BYTES, Envelopes
from core.net.datagrams.mirror_port import MirrorPort
from core.net.failed_peers import FailedPeers
from core.net.identity.passes import pass_end
from core.net.identity.tls import Credentials
from core.net.limits.pace import Pace
from core.net.links.links import Links
from core.net.links.metering import Metering
from core.net.links.peer_links import LinkOwner
from core.net.links.stream_terms import StreamTerms
from core.net.links.streams import PeerStream, Way
from core.net.listening import Listening, listen, listen_beside
from core.net.planes import Planes
from core.net.runner import Runner


@dataclass(frozen=True, slots=True)
class LinkStats:
    """One open link of a host."""

    peer: PeerId
    username: str
    initiated: bool
    """Whether this peer called."""
    since: float
    """Time of opening, Unix seconds."""
    bytes_sent: int
    bytes_received: int
    way: Way = "tcp"

    @classmethod
    def of(cls, stream: PeerStream) -> Self:
        """Return the figures of an open link."""
        assert stream.proven is not None
        return cls(
            stream.peer,
            stream.proven.username,
            stream.initiated,
            stream.opened_at,
            stream.sender.bytes_sent,
            stream.receiver.bytes_received,
            stream.route.way,
        )


@dataclass(frozen=True, slots=True)
class HostStats:
    """Bytes on the wire since the start, and the open links."""

    bytes_sent: int
    bytes_received: int
    links: tuple[LinkStats, ...]

    @property
    def moved_bytes(self) -> int:
        """The sum of what was sent and received."""
        return self.bytes_sent + self.bytes_received


class Host:
    """Sockets, timers and proofs around one machine.

    Outputs of the machine are performed: a `Send` goes out on its message's plane, anything else to the host's owner.
    An exception of the machine or of its owner is a mistake of this program.  If a peer's message led to it, that costs
    the peer its conversation (`core.net.failed_peers`); otherwise the host stops, and `run` raises it.

    Args:
        machine: Handles Received, Tick, Lost and `core.base.ids.Observed`.
        admission: Lets this peer in, and others to it.
        codec: Every message that may arrive.
        clock: The process's clock.
        owner: Takes the machine's reports.
        line: Limits of the line, and the meter of its bulk traffic.
    """

    def __init__(
        self,
        machine: Machine[Any, Any],
        *,
        admission: Admission,
        codec: MessageCodec,
        clock: Clock,
        owner: HostOwner,
        line: LineUse = ANY_LINE,
    ) -> None:
        self._me = admission.keys.peer_id
        self._clock = clock
        self._owner = owner
        self._trace = owner.trace
        self._meter = line.meter
        self._pace = line.pace or Pace(now=clock.now)
        self.passes = admission.verifier()
        """Decides whose pass holds."""
        self._credentials = Credentials(keys=admission.keys, pass_der=admission.pass_der, passes=self.passes)
        self._envelopes = Envelopes(
            signer=admission.keys,
            pass_der=admission.pass_der,
            passes=self.passes,
            nonce=lambda: token_bytes(NONCE_BYTES),
            heard=lambda peer, ahead_s: clock.heard(self.passes.account(peer), ahead_s),
        )
        self.tasks = BackgroundTasks()
        self.address_book = AddressBook()
        self._names = NameResolver(self.tasks.spawn, self._trace)
        self._planes = Planes(self._me, codec=codec, trace=self._trace, deliver=self.deliver)
        self._runner = Runner(
            machine,
            clock=clock,
            planes=self._planes,
            report=owner.event,
            failed=self.tasks.stop,
            failed_peers=FailedPeers(self._trace, self.passes.account),
        )
        self.perform = self._runner.perform
        """Sends messages, reports events, and looks at the machine's deadline again."""
        self._port = DatagramPort(
            envelopes=self._envelopes,
            book=self.address_book,
            now=clock.now,
            trace=self._trace,
            pace=self._pace,
            owner=self._planes,
        )
        self._links: Links | None = None
        self._listening: Listening | None = None
        self.pass_der = admission.pass_der
        """The pass that is shown now."""
        self.pass_ends = pass_end(admission.pass_der)
        """When it ends, Unix seconds: others hear this peer no longer."""
        self._open = AsyncExitStack()
        """What is closed at the end."""
        self._life: asyncio.Task[None] | None = None

    # --- its life ----------------------------------------------------------------------------------------------------

    async def start(self, *, bind: str, port: int = 0) -> int:
        """Open the sockets of both planes on one port number, and return it.

        Args:
            bind: An address of this computer; 0.0.0.0 for all of both families, :: for those of IPv6.
            port: 0 for any that is free.

        Raises:
            Busy: the port is taken.
            BadInput: this computer has no such address.
        """
        self._links = links = Links(
            StreamTerms(
                credentials=self._credentials,
                passes=self.passes,
                now=self._clock.now,
                trace=self._trace,
                pace=self._pace,
            ),
            owner=LinkOwner(
                received=self._planes.arrived,
                lost=self.deliver,
                spawn=self.tasks.spawn,
                wanted=self._owner.wanted,
                opened=self._owner.opened,
            ),
            book=self.address_book,
            random=SystemRandom(),
            own=lambda host: None if self._listening is None else self._listening.towards(host),
            put=self._port.put,
        )
        metering = None
        if self._meter is not None:
            metering = Metering(self._meter, streams=links.streams, pace=self._pace)
            self._open.callback(metering.close)
        self._planes.open(self._port, links, metering)
        self._runner.begin()
        self._listening = await listen(bind, port, stream=links.accept, datagrams=lambda: self._port)
        self._open.push_async_callback(self._listening.wait_closed)
        self._open.push_async_callback(links.close)
        self._open.callback(self._port.close)
        self._open.callback(self._listening.close)
        loop = asyncio.get_running_loop()
        begun = loop.create_future()
        self._life = loop.create_task(self._live(begun))
        await begun
        self._runner.arm()
        return self._listening.port

    async def open_second(self, bind: str) -> int:
        """Open a mirror port.

        Returns:
            That port; 0 if none is free.
        """
        second = MirrorPort(envelopes=self._envelopes, now=self._clock.now, trace=self._trace, pace=self._pace)
        port = await listen_beside(bind, (self.port + 1, 0), datagrams=lambda: second)
        if port is None:
            return 0
        self._open.callback(second.close)
        return port

    async def run(self) -> None:
        """Wait until the host is closed.

        Raises:
            ExceptionGroup: a mistake of this program ended it.
        """
        assert self._life is not None
        await asyncio.shield(self._life)

    async def close(self) -> None:
        """Say goodbye on all links and release the ports.  Nothing of the host is left afterwards."""
        if self._life is not None:
            self._runner.close()
            self.tasks.stop()
            await asyncio.wait([self._life])

    def renew(self, pass_der: bytes) -> None:
        """Show another pass from now on; open links stay.

        Raises:
            OSError: it cannot be shown, such as with a full disk; then the one before is used on.
        """
        self._credentials.renew(pass_der)
        self._envelopes.renew(pass_der)
        self.pass_der, self.pass_ends = pass_der, pass_end(pass_der)

    # --- what its owner does -----------------------------------------------------------------------------------------

    def learn(self, peer: PeerId | bytes, host: str, port: int, *, hearsay: bool = False) -> None:
        """Note an address of a peer, which is dropped if it is neither an IP address nor a name.

        Hearsay is tried on streams too, and datagrams still go to the known address.
        """
        peer = PeerId(peer)
        if peer == self._me:
            return
        if is_literal(host):
            self.address_book.learn(peer, (host, port), hearsay=hearsay)
        elif not is_name(host):
            self._trace.mark("net.drop.address")
        else:
            if not self.address_book.addresses(peer):
                self.address_book.learn(peer, (host, port))
            self._names.find((host, port), lambda address: self.address_book.learn(peer, address))

    def resolve(self, address: Address, found: Callable[[Address], object]) -> None:
        """Call `found` with the address, its name replaced by an IP address; never, if the name has none."""
        if is_literal(address[0]):
            found(address)
        elif is_name(address[0]):
            self._names.find(address, found)

    def send_at(self, output: SendDatagramTo) -> None:
        """Send a datagram to an address that need not be in the address book, perhaps from a fresh socket."""
        if output.to != self._me:
            address = (output.address.host, output.address.port)
            self._port.send(output.to, self._planes.codec.encode(output.message), at=address, fresh=output.fresh)

    def deliver(self, event: Any) -> None:
        """Give the machine an event, and perform its outputs."""
        self._runner.handle(event)

    @property
    def stats(self) -> HostStats:
        """Bytes moved so far, and the open links."""
        streams = self._links.streams() if self._links is not None else []
        past = (self._links.past_bytes_sent, self._links.past_bytes_received) if self._links is not None else (0, 0)
        return HostStats(
            past[0] + self._port.bytes_sent + sum(stream.sender.bytes_sent for stream in streams),
            past[1] + self._port.bytes_received + sum(stream.receiver.bytes_received for stream in streams),
            tuple(LinkStats.of(stream) for stream in streams),
        )

    @property
    def port(self) -> int:
        """The port on which the host listens, once it is started."""
        if self._listening is None:
            raise RuntimeError("a host has no port before it is started")
        return self._listening.port

    @property
    def links(self) -> Links:
        """All links, once the host is started."""
        if self._links is None:
            raise RuntimeError("a host has no links before it is started")
        return self._links

    # --- inside ------------------------------------------------------------------------------------------------------

    async def _live(self, begun: asyncio.Future[None]) -> None:
        """The host's one root task.  A mistake in a call ends it too: the machine hears nothing while others end."""
        async with self._open:
            await self.tasks.run(begun, self._runner.close)
