"""Rules of states: which a peer may hold after which."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from core.base.ids import PeerId, short
from core.swarm.words.states import StateName
from tests.sim.checkers import Checker, Violation
from tests.sim.swarm.swarm import Swarm, Volunteer, state_of
from tests.sim.swarm.worker import Absorbed, Holds
from tests.sim.world.node import End, Node

BEHIND_S = 120.0
"""Upper bound on the time for which a peer stays behind a state that others hold, seconds."""


class History(Checker):
    """Which state came from which; other rules ask it."""

    def __init__(self) -> None:
        self._parents: dict[StateName, StateName] = {}

    def said(self, node: Node, output: Any, now: float) -> None:
        """Note each step of a worker."""
        del node, now
        if isinstance(output, Absorbed):
            self._parents[output.name] = output.before

    def leads(self, one: StateName, other: StateName | None) -> bool:
        """Whether a state is another, or led to it."""
        while other is not None and other != one:
            other = self._parents.get(other)
        return other is not None


class NeverBack(Checker):
    """No worker goes back to a state that led to its own; a worker that starts holds what its disk held.

    Args:
        history: Of all states.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._held: dict[PeerId, StateName] = {}
        self._ever: dict[PeerId, set[StateName]] = {}

    def said(self, node: Node, output: Any, now: float) -> None:
        """Check each new state of a worker."""
        del now
        if not isinstance(output, Holds):
            return
        name, before = output.state.name, self._held.get(node.peer)
        if output.how == "ready" and before not in {None, name} and name.epoch:
            raise Violation(f"{node} begins at {state_text(name)}, its disk held {before and state_text(before)}")
        if output.how != "ready" and before not in {None, name} and self._history.leads(name, before):
            raise Violation(f"{node} went from {state_text(before)} back to {state_text(name)} ({output.how})")
        self._held[node.peer] = name
        self._ever.setdefault(node.peer, set()).add(name)

    def looked(self, nodes: Iterable[Node], now: float) -> None:
        """The participant must not be ahead of its worker."""
        for node in nodes:
            held = self._held.get(node.peer)
            participant: Any = node.machine
            state: StateName | None = participant.view(now).state
            if held is not None and state is not None and state not in self._ever[node.peer]:
                raise Violation(f"{node} says it holds {state_text(state)}, its worker holds {state_text(held)}")


class SameNameSameState(Checker):
    """Peers with a state of the same name hold the same bytes."""

    def __init__(self) -> None:
        self._digests: dict[StateName, bytes] = {}

    def said(self, node: Node, output: Any, now: float) -> None:
        """Check each new state of a worker."""
        del now
        if isinstance(output, Holds):
            name = output.state.name
            if self._digests.setdefault(name, output.state.digest) != output.state.digest:
                raise Violation(f"{node} holds other parameters than others at {state_text(name)}")


class CatchesUp(Checker):
    """A peer that stands elsewhere than most knows it, and reaches a state that theirs led to within a bound.

    Args:
        swarm: The simulated collaboration.
        history: Of all states.
    """

    def __init__(self, swarm: Swarm, history: History) -> None:
        self._swarm = swarm
        self._history = history
        self._since: dict[PeerId, float] = {}
        self._bests: deque[tuple[float, StateName]] = deque()
        self.slowest_s = 0.0

    def stopped(self, node: Node, how: End, now: float) -> None:
        """It starts anew when it comes back."""
        del how, now
        self._since.pop(node.peer, None)

    def looked(self, nodes: Iterable[Node], now: float) -> None:
        """Once a second: who has trained for long enough stands where most stood a while ago, or further."""
        del nodes
        swarm = self._swarm
        training = swarm.training()
        here = {volunteer.peer for volunteer in training}
        self._since = {peer: self._since.get(peer, now) for peer in here}
        best = swarm.best()
        if best is None or swarm.world.links.divided:
            self._bests.clear()
            self._since = {}
            return
        self._bests.append((now, best))
        while self._bests[0][0] < now - BEHIND_S:
            self._bests.popleft()
        _, old = self._bests[0]
        if now - self._bests[0][0] < BEHIND_S - 1:
            return
        for volunteer in training:
            name = state_of(volunteer)
            astray = not self._history.leads(old, name)
            if astray and now - self._since[volunteer.peer] >= BEHIND_S and self._still_there(old):
                at = name and state_text(name)
                raise Violation(
                    f"{short(volunteer.peer)} is at {at} while others have been at {state_text(old)} for "
                    f"{BEHIND_S:.0f} s: {phases(training)}"
                )

    def _still_there(self, name: StateName) -> bool:
        return any(self._history.leads(name, state_of(volunteer)) for volunteer in self._swarm.training())


def phases(volunteers: Iterable[Volunteer]) -> str:
    """Where each of them is, for people."""
    parts = []
    for volunteer in volunteers:
        view = volunteer.view()
        phase, name = (None, None) if view is None else (view.phase, view.state)
        parts.append(f"{short(volunteer.peer)} {phase} at {state_text(name) if name is not None else 'nothing'}")
    return "; ".join(parts)


def state_text(name: StateName) -> str:
    """The name of a state, short enough to read."""
    return f"{name.epoch}/{name.lineage[:3].hex()}"
