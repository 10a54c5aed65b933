"""Calls of the stream plane: how a stream between two nodes comes to be, or is refused."""

from collections.abc import Callable

from core.base.ids import PeerId
from core.base.machine import Lost
from tests.sim.world.agenda import Agenda
from tests.sim.world.links import SimulatedLinks
from tests.sim.world.node import Node, Stream


class Calls:
    """All calls of a world that are under way.  A call that fails is reported as Lost, and further ones back off.

    Args:
        agenda: The world's time.
        links: Delays, and partitions.
        current: The newest node of a peer, up or not.
        opened: Called with a stream that is open, its caller and its callee.
        lost: Called with each node whose call was refused.
    """

    def __init__(
        self,
        agenda: Agenda,
        links: SimulatedLinks,
        *,
        current: Callable[[PeerId], Node | None],
        opened: Callable[[Stream, Node, Node], None],
        lost: Callable[[Node, Lost], None],
    ) -> None:
        self._agenda = agenda
        self._links = links
        self._current = current
        self._opened = opened
        self._lost = lost

    def dial(self, node: Node, to: PeerId) -> Stream:
        """Begin a call once the back-off is over; returns the stream, which is not open yet."""
        stream = node.streams[to] = Stream(node, None)
        ready_at, _ = node.redials.get(to, (0.0, 0.0))
        self._agenda.at(ready_at, self._call, stream, node, to)
        return stream

    def _call(self, stream: Stream, node: Node, to: PeerId) -> None:
        """The back-off is over, the call begins; it ends two round trips later: TCP's and TLS's."""
        if not self._calling(stream, node, to):
            return
        callee = self._current(to)
        if to not in node.known:
            self._refuse(stream, node, to, "no address is known")
        elif callee is None or not self._answers(callee) or self._links.cut(node.peer, to):
            self._agenda.after(self._links.settings.dial_timeout_s, self._refuse, stream, node, to, "no answer")
        else:
            delay_s = self._links.stream_delay_s(node.place, callee.place)
            if callee.up:
                self._agenda.after(4 * delay_s, self._open, stream, node, callee)
            else:
                self._agenda.after(2 * delay_s, self._refuse, stream, node, to, "refused")

    def _answers(self, node: Node) -> bool:
        return node.powered and node.frozen_until <= self._agenda.now

    def _calling(self, stream: Stream, node: Node, to: PeerId) -> bool:
        return node.up and not stream.opened and node.streams.get(to) is stream

    def _refuse(self, stream: Stream, node: Node, to: PeerId, reason: str) -> None:
        if not self._calling(stream, node, to):
            return
        first_s, longest_s = self._links.settings.redial_s
        _, last_s = node.redials.get(to, (0.0, 0.0))
        rest_s = min(2 * last_s or first_s, longest_s)
        node.redials[to] = (self._agenda.now + rest_s, rest_s)
        del node.streams[to]
        self._lost(node, Lost(to, reason))

    def _open(self, stream: Stream, node: Node, callee: Node) -> None:
        if not self._calling(stream, node, callee.peer):
            return
        if not callee.up or self._links.cut(node.peer, callee.peer):
            self._refuse(stream, node, callee.peer, "handshake took too long")
            return
        stream.ends = (node, callee)
        stream.opened = True
        callee.known.add(node.peer)
        for end, other in ((node, callee), (callee, node)):
            end.redials.pop(other.peer, None)
        self._opened(stream, node, callee)
