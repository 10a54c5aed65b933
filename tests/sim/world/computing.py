"""Slow computers: each message that arrives costs them time, and those that come meanwhile wait."""

from collections.abc import Callable
from typing import Any, Final

from core.base.machine import Received
from tests.sim.world.agenda import Agenda
from tests.sim.world.node import Node

INBOX_MAX: Final = 256
"""Number of events that wait for a slow computer before it loses datagrams: about a socket's buffer."""


class Computing:
    """The inboxes of slow computers.

    The effects of a message happen once it has been computed.  A machine's own wake, when it is due, comes between two
    messages; requests of its owner do not wait.

    Args:
        take: Called with a node and an event that it has computed.
    """

    def __init__(self, agenda: Agenda, *, take: Callable[[Node, Any], None]) -> None:
        self._agenda = agenda
        self._take = take

    def put(self, node: Node, event: Any) -> None:
        """An event has arrived; only messages cost time, but none overtakes another."""
        node.inbox.append(event)
        self._begin(node)

    def full(self, node: Node) -> bool:
        """Whether the inbox has no room for another datagram."""
        return len(node.inbox) >= INBOX_MAX

    def _begin(self, node: Node) -> None:
        if node.inbox and not node.computing:
            node.computing = True
            cost_s = node.place.compute_s if isinstance(node.inbox[0], Received) else 0.0
            self._agenda.after(cost_s, self._end, node)

    def _end(self, node: Node) -> None:
        if not node.up:
            return
        if node.frozen_until > self._agenda.now:
            self._agenda.at(node.frozen_until, self._end, node)
            return
        node.computing = False
        self._take(node, node.inbox.popleft())
        self._agenda.after(0.0, self._begin, node)  # after a wake that is due
