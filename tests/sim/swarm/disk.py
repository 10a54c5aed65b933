"""A simulated computer's disk: checkpoints, and pieces of those being fetched."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from core.averaging.feedback import MemoryStore
from core.base.content import CHUNK_BYTES, DIGEST_BYTES, chunk_digests, root_digest
from core.base.ids import PeerId
from core.base.problems import WireProblem
from core.base.state_header import ANCESTORS_MAX, LENGTH_BYTES, MARK_BYTES, METADATA, StateHeader, header_of
from core.base.work import StateFields
from core.swarm.catching_up.fetch import Sinks
from core.swarm.words.facts import StateKept
from core.swarm.words.orders import Keep, RoundRecord
from core.swarm.words.states import State, StateName, marks_in

KEPT = 2
HEAD_BYTES = 4096
"""Length of a checkpoint's header with all ancestors and means: all checkpoints are of one length."""
KEY_BYTES = 8
"""Length of what the ledger of a simulated state has of a key."""
LEARNING_RATE = np.float32(0.05)
INERTIA = np.float32(0.9)


@dataclass(frozen=True, slots=True)
class ModelState:
    """Parameters and optimiser statistics, shape (parameters,) each."""

    name: StateName
    parameters: NDArray[np.float32]
    momentum: NDArray[np.float32]
    ancestors: bytes = b""
    """Marks of the states that led to it, the nearest first."""
    means: bytes = b""
    """Digests of the means that led to it from there."""
    credited: frozenset[bytes] = frozenset()
    """The first bytes of the keys of all that have contributed to it."""

    def stepped(
        self, name: StateName, mean: NDArray[np.float32], *, digest: bytes, credited: Iterable[PeerId] = ()
    ) -> "ModelState":
        """The state after an optimiser step.

        Args:
            name: Of that state.
            mean: Shape (parameters,).
            digest: Of the mean's file.
            credited: Peers that have contributed to the mean.
        """
        momentum = INERTIA * self.momentum + mean
        ancestors = (self.name.mark + self.ancestors)[: MARK_BYTES * ANCESTORS_MAX]
        means = (digest + self.means)[: DIGEST_BYTES * ANCESTORS_MAX]
        gave = self.credited | {peer[:KEY_BYTES] for peer in credited}
        return ModelState(name, self.parameters - LEARNING_RATE * momentum, momentum, ancestors, means, gave)

    def to_bytes(self, padding_bytes: int) -> bytes:
        """As a checkpoint file with a header like those of real ones, made longer by `padding_bytes`."""
        header = StateHeader(
            epoch=self.name.epoch,
            lineage=self.name.lineage.hex(),
            manifest="",
            ancestors=self.ancestors.hex(),
            means=self.means.hex(),
            ledger=b"".join(sorted(self.credited)),
        )
        text = msgspec.json.encode({"__metadata__": {METADATA: msgspec.json.encode(header).decode()}})
        head = (HEAD_BYTES - LENGTH_BYTES).to_bytes(LENGTH_BYTES, "little") + text.ljust(HEAD_BYTES - LENGTH_BYTES)
        return b"".join((head, self.parameters.tobytes(), self.momentum.tobytes(), bytes(padding_bytes)))

    @classmethod
    def from_bytes(cls, data: bytes, parameters: int) -> "ModelState":
        """Decode a checkpoint file with `parameters` parameters.

        Raises:
            WireProblem: it is none.
        """
        header = header_of(data)
        if len(data) < HEAD_BYTES + 8 * parameters:
            raise WireProblem("a state of another model")
        numbers = np.frombuffer(data, dtype=np.float32, count=2 * parameters, offset=HEAD_BYTES).copy()
        return cls.named(header, numbers[:parameters], numbers[parameters:])

    @classmethod
    def named(cls, header: StateHeader, parameters: NDArray[np.float32], momentum: NDArray[np.float32]) -> "ModelState":
        """The state that a header names.

        Args:
            header: Of its file.
            parameters: Shape (parameters,).
            momentum: The same.
        """
        name = StateName(header.epoch, bytes.fromhex(header.lineage))
        keys = [header.ledger[at : at + KEY_BYTES] for at in range(0, len(header.ledger), KEY_BYTES)]
        return cls(
            name, parameters, momentum, bytes.fromhex(header.ancestors), bytes.fromhex(header.means), frozenset(keys)
        )


class MemoryFile:
    """A checkpoint that others may have (core.swarm.catching_up.donor.StateFile)."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        pieces = [memoryview(data)[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
        self.chunks: Sequence[bytes] = tuple(chunk_digests(pieces))
        self.digest = root_digest(self.chunks)
        self.size_bytes = len(data)

    def read(self, index: int) -> bytes:
        """Read one chunk of the file."""
        return self.data[index * CHUNK_BYTES : (index + 1) * CHUNK_BYTES]


class Means:
    """Means of rounds, kept or fetched (core.swarm.catching_up.fetch.StateSink)."""

    def __init__(self) -> None:
        self._files: dict[str, MemoryFile] = {}
        self._root = b""
        self._pieces: dict[int, bytes] = {}

    def keep(self, file: MemoryFile) -> None:
        """Keep the file of a round's mean."""
        self._files[file.digest.hex()] = file

    def only(self, digests: bytes, *, bytes_max: int) -> None:
        """Forget all means but these, the nearest first, as many as have room."""
        kept: dict[str, MemoryFile] = {}
        for at in range(0, len(digests), DIGEST_BYTES):
            file = self._files.get(digests[at : at + DIGEST_BYTES].hex())
            bytes_max -= 0 if file is None else file.size_bytes
            if file is not None and bytes_max >= 0:
                kept[file.digest.hex()] = file
        self._files = dict(reversed(kept.items()))

    @property
    def files(self) -> Sequence[MemoryFile]:
        """Files of all means that are here, the oldest first."""
        return list(self._files.values())

    def at(self, location: str) -> bytes:
        """Return the bytes of a mean that is here."""
        return self._files[location].data

    def begin(self, root: bytes, size_bytes: int, chunks: Sequence[bytes]) -> set[int]:
        """Make room for a mean to be fetched; one that is here is not fetched again."""
        del size_bytes
        if root != self._root:
            self._root, self._pieces = root, {}
        here = self._files.get(root.hex())
        if here is not None:
            self._pieces = {index: here.read(index) for index in range(len(chunks))}
        return set(self._pieces)

    def write(self, index: int, data: memoryview) -> None:
        """Keep one chunk of the mean."""
        self._pieces[index] = bytes(data)

    def finish(self) -> str:
        """Put the chunks together to a mean."""
        self.keep(MemoryFile(b"".join(piece for _, piece in sorted(self._pieces.items()))))
        return self._root.hex()


class Disk:
    """The newest checkpoints, and the one that is being fetched (core.swarm.catching_up.fetch.StateSink)."""

    def __init__(self) -> None:
        self.checkpoints: list[tuple[State, MemoryFile]] = []
        """Oldest first, at most `KEPT`."""
        self.means = Means()
        """Means of the last rounds."""
        self.residuals = MemoryStore()
        """Residuals of the codec, for contributions and means."""
        self.met: dict[PeerId, None] = {}
        """Peers that its owner has met in rounds, as the journal knows."""
        self._root = b""
        self._pieces: dict[int, bytes] = {}
        self._fetched: dict[str, bytes] = {}

    @property
    def sinks(self) -> Sinks:
        """Where downloads of states and of means are put together."""
        return Sinks(self, self.means)

    def journal(self, event: Any) -> None:
        """Note who was in a committed round; other events are nothing to remember."""
        if isinstance(event, RoundRecord):
            self.met |= dict.fromkeys(peer for peer, _ in event.members)

    def keep(self, model: ModelState, padding_bytes: int) -> State:
        """Write a checkpoint; the oldest goes."""
        file = MemoryFile(model.to_bytes(padding_bytes))
        state = State(model.name, file.digest, file.digest.hex(), marks_in(model.ancestors))
        self.checkpoints = [*self.checkpoints[1 - KEPT :], (state, file)]
        return state

    def keep_copy(self, copy: Keep, *, like: ModelState) -> bool:
        """Keep what a backbone has fetched in place of its last copy; False: it is another state than it was called.

        Args:
            copy: What was fetched.
            like: A state of the same model.
        """
        data = self._fetched[copy.location]
        try:
            if ModelState.from_bytes(data, like.parameters.size).name != copy.name:
                return False
        except WireProblem:
            return False
        self.checkpoints = [(State(copy.name, copy.digest, copy.location), MemoryFile(data))]
        return True

    def copies(self, peers: Iterable[PeerId]) -> list[StateKept]:
        """A backbone's copies, with those of these peers whom their ledgers name."""
        facts = []
        for state, file in self.checkpoints:
            gave = header_of(file.data).ledger
            keys = {gave[at : at + KEY_BYTES] for at in range(0, len(gave), KEY_BYTES)}
            facts.append(StateKept(state.name, file, tuple(peer for peer in peers if peer[:KEY_BYTES] in keys)))
        return facts

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


def fields_of(state: State) -> StateFields:
    """Fields by which a trainer names a state."""
    return {
        "epoch": state.name.epoch,
        "lineage": state.name.lineage,
        "ancestors": b"".join(state.ancestors),
        "means": b"",
        "digest": state.digest,
        "chunks": b"",
        "checkpoint": state.location,
        "ledger": b"",
    }
