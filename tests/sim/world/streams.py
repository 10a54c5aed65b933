"""The stream plane: reliable and ordered like TCP, until the link breaks; bulk takes the time that the lines need.

There is one stream between two nodes, called by either.  Control does not wait for bulk.  The real host's behaviour is
modelled: a call that fails is reported as Lost, further calls back off longer and longer; a silent peer is given up
after the heartbeats' patience; a peer that comes back calls anew, and its older stream is silently forgotten.
"""

from collections.abc import Callable
from typing import Any

from core.base.ids import PeerId
from core.base.machine import Lost
from tests.sim.world.agenda import Agenda
from tests.sim.world.calls import Calls
from tests.sim.world.links import SimulatedLinks
from tests.sim.world.node import End, Node, Stream

Arrived = Callable[[Node, Node, Any], None]
"""Receiver, sender, message as bytes."""


class Streams:
    """All streams of a world.

    Args:
        current: The newest node of a peer, up or not.
        arrived: Called with each message that arrives.
        lost: Called with each node that loses its stream to a peer.
    """

    def __init__(
        self,
        agenda: Agenda,
        links: SimulatedLinks,
        *,
        current: Callable[[PeerId], Node | None],
        arrived: Arrived,
        lost: Callable[[Node, Lost], None],
    ) -> None:
        self._agenda = agenda
        self._links = links
        self._current = current
        self._arrived = arrived
        self._lost = lost
        self._calls = Calls(agenda, links, current=current, opened=self._opened, lost=lost)

    def send(self, node: Node, to: PeerId, data: bytes, *, bulk: bool) -> None:
        """Send on the stream to a peer; call it first if there is none."""
        stream = node.streams.get(to)
        if stream is None:
            stream = self._calls.dial(node, to)
        if stream.opened:
            self._carry(stream, node, data, bulk=bulk)
        else:
            stream.waiting.append((data, bulk))

    def node_stopped(self, node: Node, how: End) -> None:
        """A node's life ended: its streams break, at once or silently."""
        for peer, stream in list(node.streams.items()):
            if not stream.opened:
                continue
            other = stream.other(node)
            if how is End.POWER_CUT or self._links.cut(node.peer, peer):
                self._agenda.after(self._silence_s(other), self._break, other, stream, "silent")
            else:
                arrives = self._agenda.now + self._links.delay_s(node.place, other.place)
                last = max((t for (sender, _), t in stream.last.items() if sender == node.number), default=0.0)
                if how is End.LEAVE:
                    arrives = max(arrives, last)
                self._agenda.at(arrives, self._break, other, stream, "ended")
        node.streams.clear()

    def divided(self, nodes: list[Node]) -> None:
        """A partition began: streams across it stand still, and break if it lasts."""
        now = self._agenda.now
        for node in nodes:
            for peer, stream in node.streams.items():
                if stream.opened and stream.stalled_at is None and self._links.cut(node.peer, peer):
                    stream.stalled_at = now
                    for end in (node, stream.other(node)):
                        self._agenda.after(self._silence_s(end), self._give_up_stalled, end, stream, now)

    def healed(self, nodes: list[Node]) -> None:
        """The partition is over: what was on its way goes on."""
        for node in nodes:
            for stream in node.streams.values():
                if stream.stalled_at is None or self._links.cut(node.peer, stream.other(node).peer):
                    continue
                stream.stalled_at = None
                held, stream.held = stream.held, []
                for sender, receiver, data, bulk, left_at in held:
                    delay_s = self._links.stream_delay_s(sender.place, receiver.place)
                    arrives = self._in_order(stream, sender, bulk, delay_s)
                    self._agenda.at(arrives, self._arrive, stream, sender, receiver, data, bulk, left_at)

    def frozen(self, node: Node) -> None:
        """Freeze a node: peers that wait too long for its heartbeats give it up."""
        for stream in node.streams.values():
            if stream.opened:
                other = stream.other(node)
                self._agenda.after(self._silence_s(other), self._give_up_frozen, other, node, stream)

    # --- carrying ----------------------------------------------------------------------------------------------------

    def _opened(self, stream: Stream, caller: Node, callee: Node) -> None:
        """A call was answered: what both sides have said before is carried, and an older stream is forgotten."""
        older = callee.streams.get(caller.peer)
        callee.streams[caller.peer] = stream
        for data, bulk in stream.waiting:
            self._carry(stream, caller, data, bulk=bulk)
        stream.waiting = []
        if older is not None and not older.opened:
            for data, bulk in older.waiting:
                self._carry(stream, callee, data, bulk=bulk)

    def _carry(self, stream: Stream, node: Node, data: bytes, *, bulk: bool) -> None:
        other = stream.other(node)
        now = self._agenda.now
        left_at = now
        if bulk:
            place = node.place
            left_at = max(now, place.uplink_free_at) + len(data) / place.uplink_bytes_per_s
            place.uplink_free_at = left_at
            if node.gauge is not None:
                node.gauge.leaves(other.peer, len(data), left_at)
        delay_s = self._links.stream_delay_s(node.place, other.place)
        arrives = self._in_order(stream, node, bulk, left_at - now + delay_s)
        self._agenda.at(arrives, self._arrive, stream, node, other, data, bulk, left_at)

    def _in_order(self, stream: Stream, sender: Node, bulk: bool, delay_s: float) -> float:  # noqa: FBT001 - a channel
        channel = (sender.number, bulk)
        arrives = max(self._agenda.now + delay_s, stream.last.get(channel, 0.0))
        stream.last[channel] = arrives
        return arrives

    def _arrive(self, stream: Stream, sender: Node, to: Node, data: bytes, bulk: bool, left_at: float) -> None:  # noqa: FBT001 - the agenda calls it
        """The last byte is at the receiver's line; bulk then queues for the downlink."""
        if stream.stalled_at is not None:
            stream.held.append((sender, to, data, bulk, left_at))
        elif not sender.up and left_at > sender.went_at:
            return
        elif bulk:
            free_at = max(self._agenda.now, to.place.downlink_free_at) + len(data) / to.place.downlink_bytes_per_s
            to.place.downlink_free_at = free_at
            if to.gauge is not None:
                self._agenda.at(free_at, to.gauge.came, sender.peer, len(data))
            self._agenda.at(free_at, self._hand_over, stream, sender, to, data)
        else:
            self._hand_over(stream, sender, to, data)

    def _hand_over(self, stream: Stream, sender: Node, to: Node, data: bytes) -> None:
        if to.up and to.streams.get(sender.peer) is stream:
            self._arrived(to, sender, data)
            return
        there = self._current(to.peer)
        if there is not None and there.up and not self._links.cut(sender.peer, to.peer):
            # Its system knows nothing of this connection any more, and says so.
            self._agenda.after(self._links.delay_s(to.place, sender.place), self._break, sender, stream, "reset")

    # --- breaking ----------------------------------------------------------------------------------------------------

    def _silence_s(self, node: Node) -> float:
        """How long until this node gives a silent stream up; all its watches beat together."""
        least_s, most_s = self._links.settings.silence_s
        return least_s + (node.number * 0.618) % 1 * (most_s - least_s)

    def _give_up_stalled(self, node: Node, stream: Stream, stalled_at: float) -> None:
        if stream.stalled_at == stalled_at:
            stream.held = []
            self._break(node, stream, "silent")

    def _give_up_frozen(self, node: Node, frozen: Node, stream: Stream) -> None:
        if frozen.frozen_until > self._agenda.now and node.streams.get(frozen.peer) is stream:
            self._break(node, stream, "silent")
            self._break(frozen, stream, "reset")

    def _break(self, node: Node, stream: Stream, reason: str) -> None:
        peer = stream.other(node).peer
        if node.up and node.streams.get(peer) is stream:
            del node.streams[peer]
            self._lost(node, Lost(peer, reason))
