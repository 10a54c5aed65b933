"""Counts what worlds have tried: in how many of the committed rounds each thing happened that a seed may draw."""

from collections import Counter
from collections.abc import Collection
from typing import Any

from core.averaging.plan import WHOLE_PORTION, Plan
from core.base.ids import PeerId
from core.swarm.words.orders import RoundRecord
from core.swarm.words.states import StateName
from tests.sim.checkers import Checker
from tests.sim.swarm.checkers import last_plan
from tests.sim.world.node import Node


class Coverage(Checker):
    """Counts committed rounds, each once, by what was special about their plans and their outcomes.

    Args:
        liars: Peers that lie.
    """

    def __init__(self, liars: Collection[PeerId] = ()) -> None:
        self._liars = frozenset(liars)
        self._seen: set[StateName] = set()
        self.rounds: Counter[str] = Counter()
        """Number of rounds of each kind."""

    def said(self, node: Node, output: Any, now: float) -> None:
        """Note each committed round when the first of its members says so."""
        del now
        if not isinstance(output, RoundRecord) or output.name in self._seen:
            return
        self._seen.add(output.name)
        plan = last_plan(node)
        if plan is not None:
            self.rounds.update(kinds_of(plan, output))
            self.rounds["with liars"] += not self._liars.isdisjoint(plan.peers)
            self.rounds["led by liars"] += plan.leader in self._liars


def kinds_of(plan: Plan, record: RoundRecord) -> list[str]:
    """What a committed round was an example of.

    Args:
        plan: The round's.
        record: What it came to.
    """
    helped = any(count and not member.receives for member, count in zip(plan.members, plan.chunks, strict=True))
    kinds = {
        "committed": True,
        "helped": helped,
        "partial": any(portion < WHOLE_PORTION for portion in plan.portions),
        "grid": plan.stages > 1,
        "truncated": bool(record.missing),
    }
    return [kind for kind, happened in kinds.items() if happened]
