"""The datagram plane: single messages that may be lost, doubled or late, through the routers of homes."""

from collections.abc import Callable
from typing import Final

from core.base.ids import Observed, PeerId
from tests.sim.world.agenda import Agenda
from tests.sim.world.links import Router, SimulatedLinks
from tests.sim.world.node import Node
from tests.sim.world.streams import Arrived

PORT: Final = 31337
"""Port at which every simulated peer is observed."""


class Datagrams:
    """All datagrams of a world.

    Args:
        agenda: The world's time.
        links: Lose, double and delay them.
        current: The newest node of a peer, up or not.
        full: Whether a node's computer has no room for another datagram.
        observed: Called with a node and where it sees a sender for the first time.
        arrived: Called with each datagram that arrives.
    """

    def __init__(
        self,
        agenda: Agenda,
        links: SimulatedLinks,
        *,
        current: Callable[[PeerId], Node | None],
        full: Callable[[Node], bool],
        observed: Callable[[Node, Observed], None],
        arrived: Arrived,
    ) -> None:
        self._agenda = agenda
        self._links = links
        self._current = current
        self._full = full
        self._observed = observed
        self._arrived = arrived

    def send(self, node: Node, to: PeerId, data: bytes) -> None:
        """Send one datagram, if the node knows an address of the peer."""
        if to not in node.known:
            return
        if node.router is not Router.OPEN:
            node.sent_to[to] = self._agenda.now
        receiver = self._current(to)
        if receiver is None or self._links.cut(node.peer, to):
            return
        queued_s = self._links.queued_s(node.place, len(data), self._agenda.now)
        for _ in range(1 + self._links.duplicated()):
            if not self._links.lost():
                delay_s = self._links.delay_s(node.place, receiver.place)
                self._agenda.after(queued_s + delay_s, self._arrive, node, to, data)

    def _arrive(self, sender: Node, to: PeerId, data: bytes) -> None:
        node = self._current(to)
        if node is None or not node.up or self._links.cut(sender.peer, to):
            return
        if not node.lets_in(sender, self._agenda.now) or self._full(node):
            return
        if sender.peer not in node.met:
            node.met.add(sender.peer)
            node.known.add(sender.peer)
            self._observed(node, Observed(sender.peer, sender.host, PORT))
        self._arrived(node, sender, data)
