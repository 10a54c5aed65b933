"""Checkers stand beside a simulation and stop it when something is wrong."""

import hashlib
import struct
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from core.base.ids import Observed
from core.base.machine import Lost, Received, Tick
from tests.sim.world.node import End, Node

_LOG_ENTRY = struct.Struct("<dIB")
_STARTED, _STOPPED = range(2)
_EVENTS: Final[Mapping[type, int]] = MappingProxyType({Tick: 2, Lost: 3, Observed: 4, Received: 5})


class Violation(Exception):
    """A checker's finding.  The world adds seed and time, and raises CheckFailed."""


class CheckFailed(Exception):
    """A simulation violated a rule.

    Args:
        seed: Repeats it.
        time: Seconds since the world began.
        text: What is wrong.
    """

    def __init__(self, seed: int, time: float, text: str) -> None:
        super().__init__(f"seed {seed}, {time:.3f} s: {text}")
        self.seed = seed
        self.time = time
        self.text = text


class Checker:
    """Sees everything that happens; raises Violation.  Subclasses override what concerns them."""

    def started(self, node: Node, now: float) -> None:
        """Observe that a node begins to live."""

    def delivered(self, node: Node, event: Any, now: float) -> None:
        """`event` is about to be handled by `node`."""

    def said(self, node: Node, output: Any, now: float) -> None:
        """Observe an output of `node` other than a Send."""

    def stopped(self, node: Node, how: End, now: float) -> None:
        """Observe the end of a node's life."""

    def looked(self, nodes: Iterable[Node], now: float) -> None:
        """Once a simulated second: all nodes that are up, in the order of their birth."""


class Digest(Checker):
    """Digests all that happens: equal for equal runs."""

    def __init__(self) -> None:
        self._log = hashlib.blake2b(digest_size=16)

    def hex(self) -> str:
        """Return the digest of all so far, 32 hex digits."""
        return self._log.hexdigest()

    def arrived(self, data: bytes) -> None:
        """Digest a message on its way in."""
        self._log.update(data)

    def started(self, node: Node, now: float) -> None:
        """Note that a node begins to live."""
        self._note(node, _STARTED, now)

    def stopped(self, node: Node, how: End, now: float) -> None:
        """Note the end of a node's life."""
        del how
        self._note(node, _STOPPED, now)

    def delivered(self, node: Node, event: Any, now: float) -> None:
        """Note that a node handles an event."""
        self._note(node, _EVENTS[type(event)], now)

    def _note(self, node: Node, kind: int, now: float) -> None:
        self._log.update(_LOG_ENTRY.pack(now, node.number, kind))


class Checkers(list[Checker], Checker):
    """Several checkers as one, in order."""

    def started(self, node: Node, now: float) -> None:
        """Tell all that a node begins to live."""
        for checker in self:
            checker.started(node, now)

    def delivered(self, node: Node, event: Any, now: float) -> None:
        """Tell all that a node is about to handle an event."""
        for checker in self:
            checker.delivered(node, event, now)

    def said(self, node: Node, output: Any, now: float) -> None:
        """Tell all what a node has said."""
        for checker in self:
            checker.said(node, output, now)

    def stopped(self, node: Node, how: End, now: float) -> None:
        """Tell all that a node's life ended."""
        for checker in self:
            checker.stopped(node, how, now)

    def looked(self, nodes: Iterable[Node], now: float) -> None:
        """Let the checkers that look see all nodes that are up."""
        lookers = [checker for checker in self if type(checker).looked is not Checker.looked]
        if lookers:
            living = list(nodes)
            for checker in lookers:
                checker.looked(living, now)
