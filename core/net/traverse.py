"""Performs the outputs of the traversal machine (core.nat) with sockets, and reports the results to it."""

import asyncio
from collections.abc import Callable, Coroutine
from ipaddress import ip_address
from typing import Any

from core.base.ids import PeerId
from core.nat.circuit_endpoint import CircuitEndpoint, EndpointOutput
from core.nat.events import (
    AddAddress,
    AttemptFailed,
    CancelAttempt,
    CircuitBytes,
    CircuitEnded,
    CircuitOpened,
    CircuitRoom,
    Dial,
    DialBackTried,
    LinkUp,
    Punch,
    SendDatagramTo,
    TryDialBack,
    Way,
)
from core.nat.messages import Address
from core.nat.traversal import Traversal
from core.net.addresses.hosts import is_literal
from core.net.addresses.ports import call
from core.net.carriers.carrier_transport import CarriedTransport
from core.net.carriers.punch import Rendezvous
from core.net.host import Host
from core.net.links.streams import PeerStream

DIAL_BACK_S = 3.0


class _Circuit:
    """One circuit, as a transport drives it."""

    def __init__(self, host: Host, machine: Traversal, circuit: bytes, now: Callable[[], float]) -> None:
        self._host, self._machine, self._circuit, self._now = host, machine, circuit, now

    def carry(self, data: bytes) -> None:
        self._use(lambda endpoint, now: endpoint.write(data, now))

    def room(self) -> bool:
        opened = self._machine.circuits.opened.get(self._circuit)
        return opened is not None and opened.endpoint.sending.room > 0

    def unsent_bytes(self) -> int:
        return 0

    def consumed(self, count: int) -> None:
        self._use(lambda endpoint, now: endpoint.consumed(count, now))

    def end(self, *, at_once: bool) -> None:
        self._use(lambda endpoint, now: endpoint.end("given up") if at_once else endpoint.close(now))

    def _use(self, act: Callable[[CircuitEndpoint, float], list[EndpointOutput]]) -> None:
        now = self._now()
        self._host.perform(self._machine.circuits.use(self._circuit, lambda endpoint: act(endpoint, now), now))


class Traverser:
    """Shell of the traversal machine.

    The owner of the host passes on the machine's reports (`perform`) and new links (`opened`).

    Args:
        host: Runs the machine, perhaps among others.
        machine: Decides.
        now: Unix seconds.
    """

    def __init__(self, host: Host, machine: Traversal, *, now: Callable[[], float]) -> None:
        self._host = host
        self._machine = machine
        self._now = now
        self._circuits: dict[bytes, CarriedTransport] = {}
        self._attempts: dict[int, asyncio.Task[None]] = {}

    def opened(self, stream: PeerStream) -> None:
        """Tell the machine of a new link."""
        name = stream.route.other_address
        address = None if name is None or stream.route.way == "relay" else Address(*name)
        way = Way(stream.attempt[1]) if stream.attempt is not None else _way_of(stream)
        if stream.route.way == "quic" and way is not Way.BIRTHDAY:
            way = Way.QUIC_PUNCH
        attempt = stream.attempt[0] if stream.attempt is not None else 0
        self._host.deliver(LinkUp(stream.peer, way, address, stream.initiated, attempt))

    def perform(self, event: Any) -> bool:
        """Perform an output; False if it concerns the owner, who keeps peer records and shows the reachability."""
        match event:
            case AddAddress(peer=peer, address=address, hearsay=hearsay):
                self._host.learn(peer, address.host, address.port, hearsay=hearsay)
            case SendDatagramTo():
                self._host.send_at(event)
            case TryDialBack(nonce=nonce, address=address):
                self._host.tasks.spawn(self._dial_back(nonce, address))
            case Dial(attempt=attempt):
                self._begin(attempt, self._dial(event))
            case Punch(attempt=attempt):
                self._begin(attempt, self._punch(event))
            case CancelAttempt(attempt=attempt):
                task = self._attempts.pop(attempt, None)
                if task is not None:
                    task.cancel()
            case _:
                return self._about_a_circuit(event)
        return True

    # --- inside ------------------------------------------------------------------------------------------------------

    def _about_a_circuit(self, event: Any) -> bool:
        match event:
            case CircuitOpened(circuit=circuit, peer=peer, called=called, attempt=attempt):
                self._open(circuit, peer if called else None, attempt)
            case CircuitBytes(circuit=circuit, data=data):
                if circuit in self._circuits:
                    self._circuits[circuit].arrived(data)
            case CircuitRoom(circuit=circuit):
                if circuit in self._circuits:
                    self._circuits[circuit].resume_if_room()
            case CircuitEnded(circuit=circuit, reason=reason, clean=clean):
                transport = self._circuits.pop(circuit, None)
                if transport is not None and clean:
                    transport.arrived(b"", ended=True)
                elif transport is not None:
                    transport.lost(ConnectionError(reason))
            case _:
                return False
        return True

    def _open(self, circuit: bytes, called: PeerId | None, attempt: int) -> None:
        links = self._host.links
        protocol = links.accept() if called is None else links.new(called)
        if isinstance(protocol, PeerStream):
            protocol.attempt = (attempt, Way.RELAY)
        carrier = _Circuit(self._host, self._machine, circuit, self._now)
        transport = self._circuits[circuit] = CarriedTransport(carrier, protocol, way="relay")
        transport.made()

    def _begin(self, attempt: int, work: Coroutine[Any, Any, str | None]) -> None:
        task = self._host.tasks.spawn(self._attempt(attempt, work))
        if task is None:
            work.close()
            return
        self._attempts[attempt] = task
        task.add_done_callback(lambda _: work.close())  # if it was abandoned before it began

    async def _attempt(self, attempt: int, work: Coroutine[Any, Any, str | None]) -> None:
        reason = await work
        if self._attempts.pop(attempt, None) is not None and reason is not None:
            self._host.deliver(AttemptFailed(attempt, reason))

    async def _dial(self, event: Dial) -> str | None:
        address = (event.address.host, event.address.port)
        return await self._host.links.maker.attempt(event.peer, address, attempt=(event.attempt, event.way))

    async def _punch(self, event: Punch) -> str | None:
        birthday = event.birthday
        way = Way.TCP_PUNCH if birthday is None else Way.BIRTHDAY
        rendezvous = Rendezvous(
            peer=event.peer,
            nonce=event.nonce,
            tcp=tuple((address.host, address.port) for address in event.tcp),
            udp=tuple((address.host, address.port) for address in event.udp),
            wait_s=max(0.0, event.at - self._now()),
            lasts_s=event.until - event.at,
            sockets=0 if birthday is None else birthday.local_ports,
            ports=() if birthday is None else birthday.remote_ports,
            packets_per_s=0 if birthday is None else birthday.packets_per_s,
            attempt=(event.attempt, way),
        )
        await self._host.links.maker.punch(rendezvous)
        return None if self._host.links.best(event.peer) in {"tcp", "quic"} else "no way through the routers"

    async def _dial_back(self, nonce: bytes, address: Address) -> None:
        answered = False
        try:
            async with asyncio.timeout(DIAL_BACK_S):
                (await call((address.host, address.port), own=None)).close()
            answered = True
        except (OSError, ValueError):  # TimeoutError is an OSError
            pass
        self._host.deliver(DialBackTried(nonce, answered))


def _way_of(stream: PeerStream) -> Way:
    """The way of a link that the machine did not ask for."""
    if stream.route.way != "tcp":
        return Way.RELAY if stream.route.way == "relay" else Way.QUIC_PUNCH
    name = stream.route.other_address
    if name is None or not is_literal(name[0]):
        return Way.PUBLIC
    host = ip_address(name[0])
    if host.is_private:
        return Way.LAN
    return Way.IPV6 if host.version == 6 else Way.PUBLIC
