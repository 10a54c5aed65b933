"""The simulated world: runs the swarm's own machines on simulated time and links, the same way for the same seed."""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from core.base.ids import PeerId
from core.base.machine import Received, Send
from core.base.problems import WireProblem
from core.base.wire import BULK_BYTES_MAX, CONTROL_BYTES_MAX, Message, MessageCodec
from tests.sim.checkers import Checker, Checkers, CheckFailed, Digest, Violation
from tests.sim.world.agenda import Agenda
from tests.sim.world.datagrams import Datagrams
from tests.sim.world.driver import Driver
from tests.sim.world.latency import Latency
from tests.sim.world.links import LinkSettings, Router, SimulatedLinks, chance
from tests.sim.world.node import End, Machinery, Node, OnEvent, ignore
from tests.sim.world.streams import Streams

START = 1_700_000_000.0
"""Unix seconds at which every world begins."""
DATAGRAM_BYTES_MAX = 1200


class World:
    """A simulated network of nodes with machines.

    Messages travel as bytes, so their senders may change their arrays at once, and the wire's limits hold.

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
        self.digest = Digest()
        self.checkers = Checkers([self.digest, *checkers])
        self.messages = 0
        """Messages delivered."""
        self.bytes = 0
        """Their bytes."""
        self.codec = codec
        self.on_the_way: Callable[[Node, Node, bytes], bytes | None] = _unchanged
        """Changes what arrives at a node from a sender, for liars; None: it is lost."""
        self._addresses_known = addresses_known
        self._born = 0
        self._encoded: tuple[Message | None, bytes] = (None, b"")
        self.driver = Driver(self.agenda, self.checkers, send=self._send)
        """Drives the nodes' machines."""
        self._streams = Streams(
            self.agenda, self.links, current=self.nodes.get, arrived=self._arrived, lost=self.driver.handle
        )
        self._datagrams = Datagrams(
            self.agenda,
            self.links,
            current=self.nodes.get,
            full=self.driver.full,
            observed=self.driver.handle,
            arrived=self._arrived,
        )
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
        )
        node.skew_s = skew_s
        node.router = router
        node.known = _Everybody() if self._addresses_known else set()
        node.place.uplink_free_at = node.place.downlink_free_at = 0.0
        self.nodes[peer] = node
        self.checkers.started(node, self.now)
        self.driver.perform(node, ())
        return node

    def stop(self, peer: PeerId, how: End) -> None:
        """End the life of a peer."""
        node = self.nodes[peer]
        if not node.up:
            return
        node.up = False
        node.powered = how is not End.POWER_CUT
        node.went_at = self.now
        self._streams.node_stopped(node, how)
        self.checkers.stopped(node, how, self.now)

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

    # --- inside ------------------------------------------------------------------------------------------------------

    def _send(self, node: Node, send: Send[Any]) -> None:
        message = send.message
        if send.to == node.peer:
            raise Violation(f"{node} sends {type(message).__name__} to itself")
        if message is not self._encoded[0]:
            self._encoded = message, self._encode(message)
        data = self._encoded[1]
        if message.plane == "stream":
            self._streams.send(node, send.to, data, bulk=message.bulk)
        else:
            self._datagrams.send(node, send.to, data)

    def _encode(self, message: Message) -> bytes:
        data = self.codec.encode(message)
        limit = BULK_BYTES_MAX if message.bulk else CONTROL_BYTES_MAX
        limit = limit if message.plane == "stream" else DATAGRAM_BYTES_MAX
        if len(data) > limit:
            raise Violation(f"a {type(message).__name__} of {len(data)} bytes, the limit is {limit}")
        return data

    def _arrived(self, node: Node, sender: Node, sent: bytes) -> None:
        data = self.on_the_way(node, sender, sent)
        if data is None:
            return
        self.messages += 1
        self.bytes += len(data)
        self.digest.arrived(data)
        try:
            message = self.codec.decode(bytearray(data))
        except WireProblem:  # a liar's: the real net drops it too
            self.garbage += 1
            return
        self.driver.handle(node, Received(sender.peer, message))

    def _look(self) -> None:
        self.checkers.looked(self.living(), self.now)
        self.agenda.after(1.0, self._look)


def _unchanged(node: Node, sender: Node, data: bytes) -> bytes:
    del node, sender
    return data


class _Everybody(set[PeerId]):
    """The address book of a world in which an id is enough."""

    def __contains__(self, peer: object) -> bool:
        return True

    def add(self, element: PeerId) -> None:
        """Remember nothing: every peer is in the set."""
