"""Facts that a participant's owner tells it, as events for `Participant.handle`.

Others are `core.swarm.words.answers` (its trainer's) and `core.nat.events.ReachChanged` (how others reach this
computer).
"""

from dataclasses import dataclass

from core.base.ids import Contact, PeerId
from core.swarm.words.states import StateFile, StateName


@dataclass(frozen=True, slots=True)
class Help:
    """Average for the others without a trainer.

    Attributes:
        room_bytes: Memory for that; 0: no longer.
    """

    room_bytes: int


@dataclass(frozen=True, slots=True)
class Revoked:
    """The authority has taken back these peers' passes.

    Attributes:
        peers: All whose passes hold no longer.
        held: Those that a single moderator keeps out for some days; the backbone that let this peer in is not.
    """

    peers: frozenset[PeerId]
    held: frozenset[PeerId] = frozenset()


@dataclass(frozen=True, slots=True)
class WayBack:
    """Everybody goes back to a copy of the model: states with another origin than its count for nothing any more.

    Attributes:
        root: The state to which they go; None: nobody goes back, all states count.
        digest: Root digest of its file.
    """

    root: StateName | None = None
    digest: bytes = b""

    def undoes(self, state: StateName) -> bool:
        """Whether a state is one of those that count for nothing."""
        return self.root is not None and state.origin != self.root.origin


@dataclass(frozen=True, slots=True)
class Seeds:
    """Further peers through which the swarm may be found.

    Attributes:
        contacts: The peers.
    """

    contacts: tuple[Contact, ...]


@dataclass(frozen=True, slots=True, eq=False)
class StateKept:
    """A copy of the model lies on disk (`orders.Keep`, or that of an earlier run), and others may have it.

    Attributes:
        name: Its state.
        file: The copy.
        credited: Peers that have contributed to it, as its ledger says; those last that gave most.
    """

    name: StateName
    file: StateFile
    credited: tuple[PeerId, ...] = ()


@dataclass(frozen=True, slots=True)
class CopyEvery:
    """How often the owner wants a copy of the model.

    Attributes:
        seconds: From one to the next; None: a rest in proportion to the time that a copy takes.
    """

    seconds: float | None


@dataclass(frozen=True, slots=True)
class StateNotKept:
    """A copy that was fetched is not kept.

    Attributes:
        lied: Whether it calls itself otherwise than it was called; else the disk has no room, or does not work.
    """

    lied: bool
