"""Names of states: which parameters and optimiser statistics a peer holds, and which of two states the swarm follows.

Every optimiser step gives the state a new name.  Names are ordered the same for everyone, whatever they see of the
swarm, so peers that were parted converge: each moves to the greatest name it meets and never back (taking the maximum
is associative, commutative and idempotent).
"""

from dataclasses import dataclass

from core.base.ids import hashed_key

LINEAGE_BYTES = 32
_WEIGHT_BYTES = 8
_HASH_BYTES = LINEAGE_BYTES - _WEIGHT_BYTES


@dataclass(frozen=True, slots=True, order=True)
class StateName:
    """A state's place in the history: later epochs first, then the round with more samples, then a hash."""

    epoch: int
    lineage: bytes
    """32 bytes: samples of the round that made it (big-endian, 8 bytes), then a hash of its parents and its round."""

    def next(self, *, round_id: bytes, samples: int, outcome: bytes) -> "StateName":
        """The state after a round with this outcome: equal for all members of the round."""
        weight = min(samples, 2 ** (8 * _WEIGHT_BYTES) - 1).to_bytes(_WEIGHT_BYTES, "big")
        return StateName(self.epoch + 1, weight + hashed_key(b"lineage", self.lineage, round_id, outcome)[:_HASH_BYTES])


@dataclass(frozen=True, slots=True)
class State:
    """A state that this peer holds as a checkpoint file."""

    name: StateName
    digest: bytes
    """Root digest of the file (core.base.content)."""
    location: str
    """Path of the file, or whatever the trainer calls it."""


def first_state(manifest_id: bytes) -> StateName:
    """The state everybody starts from: parameters drawn from the manifest's own seed."""
    return StateName(0, manifest_id)
