"""Drives the machines of nodes on simulated time: events in, outputs out, and a wake when a deadline has come."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from core.base.machine import Send, Tick
from core.base.meter import LOOK_S, Meter
from core.dht.events import Learned
from tests.sim.checkers import Checkers, Violation
from tests.sim.world.agenda import Agenda
from tests.sim.world.computing import Computing
from tests.sim.world.gauge import Gauge
from tests.sim.world.node import Node

SPINS_MAX: Final = 1000
"""Number of Ticks in a row that a machine may want without time going on."""


class Driver:
    """What moves the nodes of a world.

    An exception of a machine or of its owner ends the run: nothing from outside may raise.

    Args:
        agenda: The world's time.
        checkers: Are shown every event and output.
        send: Called with a node and each Send of its machine.
    """

    def __init__(self, agenda: Agenda, checkers: Checkers, *, send: Callable[[Node, Send[Any]], None]) -> None:
        self._agenda = agenda
        self._checkers = checkers
        self._send = send
        self._computing = Computing(agenda, take=self._take)

    def when(self, node: Node, delay_s: float, action: Callable[[float], Sequence[Any]]) -> None:
        """In `delay_s` seconds, if the node still lives, call `action` with its time and perform what it returns."""
        self._agenda.after(delay_s, self._act, node, action)

    def perform(self, node: Node, outputs: Sequence[Any]) -> None:
        """Do what a node's machine or its owner has said, and wake the machine when it asks for it."""
        self._follow(node, outputs)
        self._schedule(node)

    def handle(self, node: Node, event: Any) -> None:
        """Have a node's machine handle an event, once its computer has time for it."""
        if not node.up:
            return
        if node.place.compute_s and not isinstance(event, Tick):
            self._computing.put(node, event)
        else:
            self._take(node, event)

    def full(self, node: Node) -> bool:
        """Whether a node's computer has no room for another datagram."""
        return self._computing.full(node)

    def measure(self, node: Node, meter: Meter) -> None:
        """Show a node's meter, from now on, how its bulk moves."""
        node.gauge = Gauge(meter)
        self._agenda.after(LOOK_S, self._measure, node, node.gauge)

    def _measure(self, node: Node, gauge: Gauge) -> None:
        if node.up:
            gauge.look(self._agenda.now)
            self._agenda.after(LOOK_S, self._measure, node, gauge)

    def _act(self, node: Node, action: Callable[[float], Sequence[Any]]) -> None:
        if node.frozen_until > self._agenda.now:
            self._agenda.at(node.frozen_until, self._act, node, action)
        elif node.up:
            self.perform(node, action(node.local(self._agenda.now)))

    def _follow(self, node: Node, outputs: Sequence[Any]) -> None:
        for output in outputs:
            if not node.up:
                return
            if isinstance(output, Send):
                self._send(node, output)
                continue
            if isinstance(output, Learned):
                node.known.add(output.contact.peer_id)
            self._checkers.said(node, output, self._agenda.now)
            self._follow(node, node.on_event(output, node.local(self._agenda.now)))

    def _take(self, node: Node, event: Any) -> None:
        if node.frozen_until > self._agenda.now:
            self._agenda.at(node.frozen_until, self.handle, node, event)
            return
        self._checkers.delivered(node, event, self._agenda.now)
        self.perform(node, node.machine.handle(event, node.local(self._agenda.now)))

    def _schedule(self, node: Node) -> None:
        deadline = node.machine.deadline if node.up else None
        if deadline is None:
            return
        at = max(deadline - node.skew_s, self._agenda.now)
        if node.wake_at is None or at < node.wake_at:
            node.wake_at = at
            self._agenda.at(at, self._wake, node, at)

    def _wake(self, node: Node, planned_at: float) -> None:
        if not node.up or node.wake_at != planned_at:
            return
        node.wake_at = None
        if node.frozen_until > self._agenda.now:
            node.wake_at = node.frozen_until
            self._agenda.at(node.frozen_until, self._wake, node, node.frozen_until)
            return
        if node.computing:
            return  # once it has computed, it is scheduled anew
        deadline = node.machine.deadline
        if deadline is None:
            return
        local = node.local(self._agenda.now)
        if deadline > local + 1e-6:
            self._schedule(node)
            return
        self.handle(node, Tick())
        after = node.machine.deadline
        node.spins = node.spins + 1 if after is not None and after <= local else 0
        if node.spins > SPINS_MAX:
            raise Violation(f"{node} wants to be woken again and again without time going on")
