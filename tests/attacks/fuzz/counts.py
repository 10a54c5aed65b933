"""What is counted of an attack."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from core.swarm.words.orders import RoundRecord
from tests.sim.checkers import Checker
from tests.sim.world.node import Node


@dataclass(slots=True)
class Failure:
    """An exception, and what led to it."""

    text: str
    count: int = 0


@dataclass(slots=True)
class Counts:
    """What was said, and what came of it."""

    messages: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    ways: Counter[str] = field(default_factory=Counter)
    phases: Counter[str] = field(default_factory=Counter)
    marks: Counter[str] = field(default_factory=Counter)
    seen: set[tuple[object, ...]] = field(default_factory=set)
    """Kinds of behaviour: type, phase, marks, outputs."""
    new_at: tuple[int, float] = (0, 0.0)
    """Message at which the last new behaviour was seen, and when, seconds of a steady clock."""
    failures: dict[str, Failure] = field(default_factory=dict)
    rounds: int = 0
    """Rounds that peers committed meanwhile."""
    simulated_s: float = 0.0
    spent_s: float = 0.0
    """Time in the peers, at hostile messages alone."""
    held: list[tuple[int, int]] = field(default_factory=list)
    """Greatest memory of a peer's machine after half of a world's messages, and at its end, bytes."""


class RoundsCounter(Checker):
    """Counts the rounds that peers commit."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def said(self, node: Node, output: Any, now: float) -> None:
        """Count a record of a round."""
        del node, now
        self._counts.rounds += isinstance(output, RoundRecord)
