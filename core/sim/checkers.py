"""Checkers stand beside a simulation and stop it when something is wrong."""

from collections.abc import Iterable
from typing import Any

from core.sim.node import End, Node


class Violation(Exception):  # noqa: N818 - the checkers' own word
    """A checker's finding.  The world adds seed and time, and raises CheckFailed."""


class CheckFailed(Exception):  # noqa: N818 - see Violation
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
