"""A simulated computer's disk: checkpoints, and pieces of those being fetched."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.averaging.residuals import MemoryStore
from core.base.content import CHUNK_BYTES, chunk_digests, root_digest
from core.base.ids import PeerId
from core.base.state_header import MARK_BYTES
from core.swarm.orders import Keep, RoundRecord
from core.swarm.states import LINEAGE_BYTES, State, StateName

KEPT = 2
_EPOCH_BYTES = 8


@dataclass(frozen=True, slots=True)
class ModelState:
    """Parameters and optimiser statistics, shape (parameters,) each."""

    name: StateName
    parameters: NDArray[np.float32]
    momentum: NDArray[np.float32]
    parent: bytes = bytes(LINEAGE_BYTES)
    """Lineage of the state that it came from; zeros: it is the first."""

    def to_bytes(self, padding_bytes: int) -> bytes:
        """As a checkpoint file, made longer by `padding_bytes`."""
        head = self.name.epoch.to_bytes(_EPOCH_BYTES, "big") + self.name.lineage + self.parent
        return b"".join((head, self.parameters.tobytes(), self.momentum.tobytes(), bytes(padding_bytes)))

    @classmethod
    def from_bytes(cls, data: bytes, parameters: int) -> "ModelState":
        """Decode a checkpoint file with `parameters` parameters."""
        named, head = _EPOCH_BYTES + LINEAGE_BYTES, _EPOCH_BYTES + 2 * LINEAGE_BYTES
        name = StateName(int.from_bytes(data[:_EPOCH_BYTES], "big"), data[_EPOCH_BYTES:named])
        numbers = np.frombuffer(data, dtype=np.float32, count=2 * parameters, offset=head).copy()
        return cls(name, numbers[:parameters], numbers[parameters:], data[named:head])


class MemoryFile:
    """A checkpoint that others may have (core.swarm.donor.StateFile)."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        pieces = [memoryview(data)[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
        self.chunks: Sequence[bytes] = tuple(chunk_digests(pieces))
        self.digest = root_digest(self.chunks)
        self.size_bytes = len(data)

    def read(self, index: int) -> bytes:
        """Read one chunk of the file."""
        return self.data[index * CHUNK_BYTES : (index + 1) * CHUNK_BYTES]


class Disk:
    """The newest checkpoints, and the one that is being fetched (core.swarm.fetch.StateSink)."""

    def __init__(self) -> None:
        self.checkpoints: list[tuple[State, MemoryFile]] = []
        """Oldest first, at most `KEPT`."""
        self.residuals = MemoryStore()
        """Residuals of the codec, for contributions and means."""
        self.met: dict[PeerId, None] = {}
        """Whom its owner has met in rounds, as the journal knows."""
        self._root = b""
        self._pieces: dict[int, bytes] = {}
        self._fetched: dict[str, bytes] = {}

    def journal(self, event: Any) -> None:
        """Note who was in a committed round; other events are nothing to remember."""
        if isinstance(event, RoundRecord):
            self.met |= dict.fromkeys(peer for peer, _ in event.members)

    def keep(self, model: ModelState, padding_bytes: int) -> State:
        """Write a checkpoint; the oldest goes."""
        file = MemoryFile(model.to_bytes(padding_bytes))
        ancestors = (model.parent[:MARK_BYTES],) if model.name.epoch else ()
        state = State(model.name, file.digest, file.digest.hex(), ancestors)
        self.checkpoints = [*self.checkpoints[1 - KEPT :], (state, file)]
        return state

    def keep_copy(self, copy: Keep, *, like: ModelState) -> MemoryFile | None:
        """Keep what a backbone has fetched in place of its last copy; None: it is another state than it was called.

        Args:
            copy: What was fetched.
            like: A state of the same model.
        """
        data = self._fetched[copy.location]
        if len(data) < len(like.to_bytes(0)) or ModelState.from_bytes(data, like.parameters.size).name != copy.name:
            return None
        file = MemoryFile(data)
        self.checkpoints = [(State(copy.name, copy.digest, copy.location), file)]
        return file

    def fetched(self, location: str) -> bytes:
        """A state that was fetched whole."""
        return self._fetched[location]

    def begin(self, root: bytes, size_bytes: int, chunks: Sequence[bytes]) -> set[int]:
        """Make room for a state to be fetched."""
        del size_bytes, chunks
        if root != self._root:
            self._root, self._pieces = root, {}
        return set(self._pieces)

    def write(self, index: int, data: memoryview) -> None:
        """Keep one chunk of the state."""
        self._pieces[index] = bytes(data)

    def finish(self) -> str:
        """Put the chunks together to a checkpoint."""
        location = self._root.hex()
        self._fetched = {location: b"".join(piece for _, piece in sorted(self._pieces.items()))}
        return location
