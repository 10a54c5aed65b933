"""Histories of states, and peers that stand on them."""

from collections.abc import Sequence
from itertools import pairwise

from core.base.ids import PeerId, hashed_key
from core.swarm.presence.ancestry import Stand
from core.swarm.presence.branches import Branches
from core.swarm.words.states import StateName

FIRST = StateName(0, hashed_key(b"first"))


def peer(number: int) -> PeerId:
    return PeerId(number.to_bytes(32, "big"))


def after(before: StateName, letters: str = "x") -> StateName:
    return before.next(round_id=letters.encode(), outcome=b"o")


def chain(before: StateName, length: int, letters: str = "x") -> list[StateName]:
    names = [before]
    for _ in range(length):
        names.append(after(names[-1], letters))
    return names


def stand(number: int, state: StateName, parent: StateName | None = None, *, trains: bool = True) -> Stand:
    return Stand(peer(number), state, () if parent is None else (parent.mark,), trains)


def member(*steps: StateName, met: Sequence[int] = ()) -> Branches:
    """A peer that has gone this way itself, in rounds with others."""
    branches = Branches(peer(number) for number in met)
    for before, name in pairwise(steps):
        branches.led(before, name)
    return branches


OURS = chain(FIRST, 5)
MINE = OURS[-1]
THEIRS = chain(OURS[2], 9, "y")


def way(number: int, *states: StateName) -> Stand:
    """A report of a peer that has come this way, the last state being where it stands."""
    return Stand(peer(number), states[-1], tuple(name.mark for name in reversed(states[:-1])), trains=True)
