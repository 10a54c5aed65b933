"""What engine and worker say of training, and participant and trainer with them: one class for each thing.

The engine hands these on as they are; what only its own worker has to know, such as paths, is in `core.workers.frames`,
what only the participant knows in `core.swarm.words`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

import msgspec

from core.api.score import Filled, Score
from core.base.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the frames of both directions."""


# --- orders --------------------------------------------------------------------------------------------------------


class Go(Frame, frozen=True, kw_only=True, tag="go"):
    """Begin to train, or continue after Hold."""


class Hold(Frame, frozen=True, kw_only=True, tag="hold"):
    """Stand still after the step in hand, keeping what was accumulated."""


class Collect(Frame, frozen=True, kw_only=True, tag="collect"):
    """Finish the step in hand, write the contribution to its slot, answer `Collected`, stand still.

    With delayed parameter updates compute on, for the step after; the slot is the engine's all the same.
    """

    round: bytes


class Release(Frame, frozen=True, kw_only=True, tag="release"):
    """The round was aborted: go on accumulating, with all that was accumulated."""

    round: bytes


class Evaluate(Frame, frozen=True, kw_only=True, tag="evaluate"):
    """Measure the shared state on what it never learns from; answer Evaluated."""


class Untaken(msgspec.Struct, frozen=True, array_like=True):
    """Chunks of a contribution that are in no mean, because the round's plan did not ask for them."""

    chunk_numel: int
    """Numbers in each chunk; the last one may be shorter."""
    chunks: bytes
    """A bit for each chunk, eight in a byte, the first in the highest place: 1 where it was not taken."""

    @classmethod
    def of(cls, untaken: Sequence[bool], *, chunk_numel: int) -> "Untaken":
        """The chunks for which `untaken` is true."""
        return cls(chunk_numel, np.packbits(np.array(untaken, dtype=np.bool_)).tobytes())

    def mask(self, numel: int) -> "NDArray[np.bool_]":
        """Whether each number of the vector was not taken; shape (numel,)."""
        chunks = np.unpackbits(np.frombuffer(self.chunks, dtype=np.uint8)).astype(np.bool_)
        return np.repeat(chunks, self.chunk_numel)[:numel]


# --- answers -------------------------------------------------------------------------------------------------------


class StateFrame(Frame, frozen=True, kw_only=True):
    """Where a state is and what it is called."""

    epoch: int
    lineage: bytes
    ancestors: bytes = b""
    """Marks of the states that led to it, the nearest first."""
    means: bytes = b""
    """Root digests of the files of the means that led to it, one after the other, the nearest first."""
    digest: bytes
    """core.base.content.root_digest over the checkpoint file's chunks: equal on peers that hold equal states."""
    chunks: bytes = b""
    """The digests of these chunks, one after the other; empty: the engine reads the file to know them."""
    checkpoint: str
    """Path of the checkpoint file; it stays for at least one more epoch."""
    ledger: bytes = b""
    """Ledger that the file holds."""


class StateFields(TypedDict):
    """The fields of a `StateFrame`."""

    epoch: int
    lineage: bytes
    ancestors: bytes
    means: bytes
    digest: bytes
    chunks: bytes
    checkpoint: str
    ledger: bytes


class Progress(Frame, frozen=True, kw_only=True, tag="progress"):
    """Samples accumulated; at most 4 a second, and at once after the first."""

    epoch: int
    samples: int
    """All that are not averaged yet."""
    samples_per_s: float
    """Smoothed speed while training, rests of a Throttle included."""
    loss: float
    """Mean training loss of these samples."""
    ahead: int = 0
    """Those of the samples that came after a contribution that is out: they are for the step after."""


class Collected(Frame, frozen=True, kw_only=True, tag="collected"):
    """The contribution is in its slot."""

    round: bytes
    epoch: int
    samples: int
    loss: float


class Stepped(StateFrame, frozen=True, kw_only=True, tag="stepped"):
    """The optimiser took its step with the mean."""

    samples: int = 0
    """Samples accumulated while the round was averaged, which count for the next step already."""
    loss: float = 0.0
    """Their mean training loss."""


class Loaded(StateFrame, frozen=True, kw_only=True, tag="loaded"):
    """The worker holds this state now."""


class Evaluated(Frame, frozen=True, kw_only=True, tag="evaluated"):
    """How well the shared state does on the held-out text."""

    epoch: int
    score: Score
    baselines: dict[str, Score]
    """What models reach that know only one thing, by its name."""
    filled: tuple[Filled, ...] = ()
    """Pieces of that text as the model fills them."""
