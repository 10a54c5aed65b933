"""The simulated world: runs the swarm's own machines on simulated time and links, the same way for the same seed."""

import hashlib
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any, Final

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick
from core.base.meter import LOOK_S, Meter
from core.base.problems import WireProblem
from core.base.wire import BULK_BYTES_MAX, CONTROL_BYTES_MAX, Message, MessageCodec
from core.dht.events import Learned
from core.dht.messages import Observed
from core.sim.agenda import Agenda
from core.sim.checkers import Checker, CheckFailed, Violation
from core.sim.computing import Computing
from core.sim.gauge import Gauge
from core.sim.latency import Latency
from core.sim.links import LinkSettings, Router, SimulatedLinks, chance
from core.sim.node import End, Machinery, Node, OnEvent, ignore
from core.sim.streams import Streams

START = 1_700_000_000.0
"""Unix seconds at which every world begins."""
DATAGRAM_BYTES_MAX = 1200
SPINS_MAX = 1000
PORT = 31337
_LOG_ENTRY = struct.Struct("<dIB")
_STARTED, _STOPPED = range(2)
_EVENTS: Final[Mapping[type, int]] = MappingProxyType({Tick: 2, Lost: 3, Observed: 4, Received: 5})


class World:
    """A simulated network of nodes with machines.

    Messages travel as bytes, so their senders may change their arrays at once, and the wire's limits hold.  An
    exception of a machine or of its owner ends the run: nothing from outside may raise.

    Args:
        seed: Decides everything.
        codec: All messages that are spoken.
        links: The network's numbers.
        checkers: Observe everything.
        addresses_known: Whether a node can reach every peer by its id; otherwise only those that called it or whose
            address it has `Learned`.
        latency: Distances between peers; None: on a circle.
    """

    def __init__(
        self,
        seed: int,
        codec: MessageCodec,
        *,
        links: LinkSettings | None = None,
        checkers: Sequence[Checker] = (),
        addresses_known: bool = True,
        latency: Latency | None = None,
    ) -> None:
        self.seed = seed
        self.random = self.chance("world")
        self.agenda = Agenda(START)
        self.links = SimulatedLinks(links or LinkSettings(), seed=seed, random=self.chance("links"), latency=latency)
        self.nodes: dict[PeerId, Node] = {}
        """The newest node of each peer, up or not."""
        self.checkers = list(checkers)
        self.messages = 0
        """Messages delivered."""
        self.bytes = 0
        """Their bytes."""
        self._codec = codec
        self._addresses_known = addresses_known
        self._born = 0
        self._log = hashlib.blake2b(digest_size=16)
        self._streams = Streams(
            self.agenda, self.links, current=self.nodes.get, arrived=self._arrived, lost=self._handle
        )
        self._computing = Computing(self.agenda, take=self._take)
        self.garbage = 0
        """Messages that nobody could read."""
        self.agenda.after(1.0, self._look)

    @property
    def now(self) -> float:
        """The time of the world, Unix seconds."""
        return self.agenda.now

    @property
    def elapsed_s(self) -> float:
        """Seconds since the beginning of the world."""
        return self.agenda.now - START

    @property
    def digest(self) -> str:
        """Of all that has happened: equal for equal runs, 32 hex digits."""
        return self._log.hexdigest()

    def chance(self, name: str) -> Random:
        """The source of chance called `name`; equal names draw equally."""
        return chance(self.seed, name)

    # --- life and death ----------------------------------------------------------------------------------------------

    def add(
        self,
        peer: PeerId,
        machine: Machinery,
        *,
        on_event: OnEvent = ignore,
        skew_s: float = 0.0,
        host: str | None = None,
        router: Router = Router.OPEN,
    ) -> Node:
        """Begin the life of a peer, or a further one.

        Args:
            peer: The peer.
            machine: Its machine.
            on_event: Takes the machine's events.
            skew_s: How far its clock is ahead.
            host: The address that others observe; None: that of its last life, or a new one.
            router: Router between it and the Internet.

        Raises:
            ValueError: it lives already.
        """
        before = self.nodes.get(peer)
        if before is not None and before.up:
            raise ValueError(f"{before} is up already")
        self._born += 1
        node = Node(
            self._born,
            peer,
            machine,
            on_event=on_event,
            place=self.links.place(peer),
            host=host or (f"sim-{self._born}" if before is None else before.host),
            skew_s=skew_s,
        )
        node.router = router
        node.known = _Everybody() if self._addresses_known else set()
        node.place.uplink_free_at = node.place.downlink_free_at = 0.0
        self.nodes[peer] = node
        self._note(node, _STARTED)
        for checker in self.checkers:
            checker.started(node, self.now)
        self._schedule(node)
        return node

    def stop(self, peer: PeerId, how: End) -> None:
        """End the life of a peer."""
        node = self.nodes[peer]
        if not node.up:
            return
        node.up = False
        node.powered = how is not End.POWER_CUT
        node.went_at = self.now
        self._note(node, _STOPPED)
        self._streams.node_stopped(node, how)
        for checker in self.checkers:
            checker.stopped(node, how, self.now)

    def freeze(self, peer: PeerId, seconds: float) -> None:
        """Freeze a computer for a while (its lid is closed, its disk is busy); afterwards everything happens at once.

        Its clock goes on.  Arriving messages wait, and other peers give its streams up when it lasts too long.
        """
        node = self.nodes[peer]
        if node.up:
            node.frozen_until = max(node.frozen_until, self.now + seconds)
            self._streams.frozen(node)

    def living(self) -> list[Node]:
        """All nodes that are up, in the order of their birth."""
        return sorted((node for node in self.nodes.values() if node.up), key=lambda node: node.number)

    def divide(self, peers: Iterable[PeerId]) -> None:
        """Cut these peers off from the others, until `heal`."""
        self.links.divide(frozenset(peers))
        self._streams.divided(self.living())

    def heal(self) -> None:
        """End the partition of the network."""
        self.links.heal()
        self._streams.healed(self.living())

    # --- time --------------------------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let time go on.

        Raises:
            CheckFailed: a checker, a machine or its owner found something wrong.
        """
        try:
            self.agenda.run(self.now + seconds)
        except Violation as violation:
            raise CheckFailed(self.seed, self.elapsed_s, str(violation)) from violation
        except Exception as error:
            text = f"an exception where none may be: {type(error).__name__}: {error}"
            raise CheckFailed(self.seed, self.elapsed_s, text) from error

    def when(self, node: Node, delay_s: float, action: Callable[[float], Sequence[Any]]) -> None:
        """In `delay_s` seconds, if the node still lives, call `action` with its time and perform what it returns."""
        self.agenda.after(delay_s, self._act, node, action)

    def perform(self, node: Node, outputs: Sequence[Any]) -> None:
        """Do what a node's machine or its owner has said."""
        self._perform(node, outputs)
        self._schedule(node)

    def learn(self, node: Node, peer: PeerId) -> None:
        """The node knows a peer's address from now on."""
        node.known.add(peer)

    def measure(self, node: Node, meter: Meter) -> None:
        """Show a node's meter, from now on, how its bulk moves."""
        node.gauge = Gauge(meter)
        self.agenda.after(LOOK_S, self._measure, node, node.gauge)

    def tell(self, node: Node, news: Any) -> None:
        """Tell the checkers something that a node's owner has to say."""
        for checker in self.checkers:
            checker.said(node, news, self.now)

    def local(self, node: Node) -> float:
        """The time on the node's own clock."""
        return self.agenda.now + node.skew_s

    # --- inside ------------------------------------------------------------------------------------------------------

    def _measure(self, node: Node, gauge: Gauge) -> None:
        if node.up:
            gauge.look(self.now)
            self.agenda.after(LOOK_S, self._measure, node, gauge)

    def _act(self, node: Node, action: Callable[[float], Sequence[Any]]) -> None:
        if node.frozen_until > self.agenda.now:
            self.agenda.at(node.frozen_until, self._act, node, action)
        elif node.up:
            self.perform(node, action(self.local(node)))

    def _perform(self, node: Node, outputs: Sequence[Any]) -> None:
        last: Any = None
        data = b""
        for output in outputs:
            if not node.up:
                return
            if isinstance(output, Send):
                if output.message is not last:
                    last, data = output.message, self._encode(output.message)
                self._send(node, output.to, last, data)
                continue
            if isinstance(output, Learned) and not self._addresses_known:
                node.known.add(output.contact.peer_id)
            self.tell(node, output)
            self._perform(node, node.on_event(output, self.local(node)))

    def _encode(self, message: Message) -> bytes:
        data = self._codec.encode(message)
        limit = BULK_BYTES_MAX if message.bulk else CONTROL_BYTES_MAX
        limit = limit if message.plane == "stream" else DATAGRAM_BYTES_MAX
        if len(data) > limit:
            raise Violation(f"a {type(message).__name__} of {len(data)} bytes, the limit is {limit}")
        return data

    def _send(self, node: Node, to: PeerId, message: Message, data: bytes) -> None:
        if to == node.peer:
            raise Violation(f"{node} sends {type(message).__name__} to itself")
        if message.plane == "stream":
            self._streams.send(node, to, data, bulk=message.bulk)
        elif to in node.known:
            self._send_datagram(node, to, data)

    def _send_datagram(self, node: Node, to: PeerId, data: bytes) -> None:
        if node.router is not Router.OPEN:
            node.sent_to[to] = self.now
        receiver = self.nodes.get(to)
        if receiver is None or self.links.cut(node.peer, to):
            return
        queued_s = self.links.queued_s(node.place, len(data), self.now)
        for _ in range(1 + self.links.duplicated()):
            if not self.links.lost():
                delay_s = self.links.delay_s(node.place, receiver.place)
                self.agenda.after(queued_s + delay_s, self._datagram_arrives, node, to, data)

    def _datagram_arrives(self, sender: Node, to: PeerId, data: bytes) -> None:
        node = self.nodes[to]
        if not node.up or self.links.cut(sender.peer, to) or not node.lets_in(sender, self.now):
            return
        if self._computing.full(node):
            return
        if sender.peer not in node.met:
            node.met.add(sender.peer)
            node.known.add(sender.peer)
            self._handle(node, Observed(sender.peer, sender.host, PORT))
        self._arrived(node, sender, data)

    def _arrived(self, node: Node, sender: Node, data: bytes) -> None:
        self.messages += 1
        self.bytes += len(data)
        self._log.update(data)
        try:
            message = self._codec.decode(bytearray(data))
        except WireProblem:  # a liar's: the real net drops it too
            self.garbage += 1
            return
        self._handle(node, Received(sender.peer, message))

    def _handle(self, node: Node, event: Any) -> None:
        if not node.up:
            return
        if node.place.compute_s and not isinstance(event, Tick):
            self._computing.put(node, event)
        else:
            self._take(node, event)

    def _take(self, node: Node, event: Any) -> None:
        if node.frozen_until > self.agenda.now:
            self.agenda.at(node.frozen_until, self._handle, node, event)
            return
        for checker in self.checkers:
            checker.delivered(node, event, self.now)
        self._note(node, _EVENTS[type(event)])
        self.perform(node, node.machine.handle(event, self.local(node)))

    def _note(self, node: Node, kind: int) -> None:
        self._log.update(_LOG_ENTRY.pack(self.agenda.now, node.number, kind))

    def _schedule(self, node: Node) -> None:
        if not node.up:
            return
        deadline = node.machine.deadline
        if deadline is None:
            return
        at = max(deadline - node.skew_s, self.agenda.now)
        if node.wake_at is None or at < node.wake_at:
            node.wake_at = at
            self.agenda.at(at, self._wake, node, at)

    def _wake(self, node: Node, planned_at: float) -> None:
        if not node.up or node.wake_at != planned_at:
            return
        node.wake_at = None
        if node.frozen_until > self.agenda.now:
            node.wake_at = node.frozen_until
            self.agenda.at(node.frozen_until, self._wake, node, node.frozen_until)
            return
        if node.computing:
            return  # once it has computed, it is scheduled anew
        deadline = node.machine.deadline
        if deadline is None:
            return
        local = self.local(node)
        if deadline > local + 1e-6:
            self._schedule(node)
            return
        self._handle(node, Tick())
        after = node.machine.deadline
        node.spins = node.spins + 1 if after is not None and after <= local else 0
        if node.spins > SPINS_MAX:
            raise Violation(f"{node} wants to be woken again and again without time going on")

    def _look(self) -> None:
        lookers = [checker for checker in self.checkers if type(checker).looked is not Checker.looked]
        if lookers:
            living = self.living()
            for checker in lookers:
                checker.looked(living, self.now)
        self.agenda.after(1.0, self._look)


class _Everybody(set[PeerId]):
    """The address book of a world in which an id is enough."""

    def __contains__(self, peer: object) -> bool:
        return True

    def add(self, element: PeerId) -> None:
        """Remember nothing: every peer is in the set."""
