"""Names of states: which parameters and optimiser statistics a peer holds; and files that peers give to each other.

Every optimiser step gives the state a new name, equal for all members of the round.  Which of several states the swarm
follows does not follow from their names (`core.swarm.presence.branches`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from core.base.ids import hashed_key
from core.base.state_header import MARK_BYTES, ORIGIN_BYTES
from core.base.work import StateFrame

LINEAGE_BYTES = 32


@dataclass(frozen=True, slots=True, order=True)
class StateName:
    """A state's place in the history."""

    epoch: int
    lineage: bytes
    """32 bytes: a hash of its parents and its round, and its origin."""

    @property
    def mark(self) -> bytes:
        """The beginning of its lineage, by which reports name the parent of a state."""
        return self.lineage[:MARK_BYTES]

    @property
    def origin(self) -> bytes:
        """The end of its lineage, which all states have in common that came from one beginning."""
        return self.lineage[-ORIGIN_BYTES:]

    def next(self, *, round_id: bytes, outcome: bytes) -> "StateName":
        """The state after a round with this outcome: equal for all members of the round."""
        hashed = hashed_key(b"lineage", self.lineage, round_id, outcome)
        return StateName(self.epoch + 1, hashed[:-ORIGIN_BYTES] + self.origin)


@dataclass(frozen=True, slots=True)
class State:
    """A state that this peer holds as a checkpoint file."""

    name: StateName
    digest: bytes
    """Root digest of the file (core.base.content)."""
    location: str
    """Path of the file, or whatever the trainer calls it."""
    ancestors: tuple[bytes, ...] = ()
    """Marks of the states that led to it, the nearest first, as far as the file tells."""

    @classmethod
    def of(cls, frame: StateFrame) -> Self:
        """The state that a trainer names."""
        name = StateName(frame.epoch, frame.lineage)
        return cls(name, frame.digest, frame.checkpoint, ancestors=marks_in(frame.ancestors))


class StateFile(Protocol):
    """A checkpoint file that others may have."""

    @property
    def digest(self) -> bytes:
        """Root digest of the file's chunks, by which downloaders ask for the state."""

    @property
    def size_bytes(self) -> int:
        """The file's length in bytes, which an offer tells before any chunk is sent."""

    @property
    def chunks(self) -> Sequence[bytes]:
        """Digest of each chunk of 256 KiB."""

    def read(self, index: int) -> bytes:
        """One chunk.

        Raises:
            Problem: the file is gone or unreadable.
        """


def marks_in(joined: bytes) -> tuple[bytes, ...]:
    """The marks that stand one after the other in a report or a file."""
    return tuple(joined[at : at + MARK_BYTES] for at in range(0, len(joined), MARK_BYTES))


def first_state(manifest_id: bytes) -> StateName:
    """The state everybody starts from: parameters drawn from the manifest's own seed."""
    return StateName(0, manifest_id)
