"""Frames between engine and worker on the pipe: 4 bytes of length, then MessagePack."""

import struct
from typing import Annotated, Any, Final, Self, Union

import msgspec
from msgspec import Meta

from core.base.problems import Problem, Sentence, WireProblem
from core.base.state_header import StateHeader
from core.base.work import (
    Collect,
    Collected,
    Evaluate,
    Evaluated,
    Frame,
    Go,
    Hold,
    Loaded,
    Progress,
    Release,
    StateFrame,
    Stepped,
    Untaken,
)
from core.workers.data_frames import Counted, DataAccess, DataNews
from core.workers.flight_frames import FlightNews, FlightsUnmeasured, FlightWish

FRAME_BYTES_MAX = 16 * 1024 * 1024
"""More than a gate's scores for the most rows of a batch in the largest grid, and than the digests of a file."""
CHUNKS_BYTES_MAX = 128 * 1024
"""Digests of more chunks than fit in here (files of 1 GiB) are not sent."""
_LENGTH = struct.Struct(">I")
LENGTH_BYTES = _LENGTH.size


class MetricFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Where a worker writes what its epochs came to; empty: nowhere."""

    lines: str = ""
    """A file to which each epoch appends a line of JSON."""
    prometheus: str = ""
    """A file for the text file collector of Prometheus' node exporter; its name ends in .prom."""
    tensorboard: str = ""
    """A folder."""


NO_METRICS: Final = MetricFiles()


class RoundMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine knows of the round whose mean the worker absorbs."""

    samples: int
    """Samples of all members together."""
    loss: float
    """Median of the members' training losses."""
    peers: int
    """Whose samples are in the mean."""
    seconds: float
    states_alike: int
    """Number of other peers that have reported the same bits for the state before the step."""
    states_heard: int
    """Number of other peers that have reported any for it."""


# --- engine to worker ------------------------------------------------------------------------------------------------


class Start(Frame, frozen=True, kw_only=True, tag="start"):
    """First frame: build the model, load the newest checkpoint in `state_dir` if there is one, and begin to train."""

    manifest_path: str
    blobs_dir: str
    """Files named by the hex digests of the manifest's blobs."""
    state_dir: str
    """Checkpoints live here; the worker alone writes and deletes in it."""
    arena_path: str
    """The worker creates the arena there, once it knows how many parameters there are."""
    seed: int
    """Decides this peer's order of the data; differs from peer to peer."""
    device: str = "cpu"
    """Those that the person wants, with commas between them; "auto" or "all"."""
    threads: int = 1
    compile: bool = False
    """Have the model's layers compiled."""
    memory_bytes: int | None = None
    """Upper bound on the computer's memory, not a graphics card's, bytes; None: half of what is free."""
    hold: bool = False
    """Do not train until Go."""
    hold_at_epoch: int | None = None
    """Do not begin accumulating for this epoch or later."""
    metrics: MetricFiles = NO_METRICS
    data: DataAccess = DataAccess()


class Absorb(Frame, frozen=True, kw_only=True, tag="absorb"):
    """The slot `mean` holds the averaged contribution: take one optimiser step, checkpoint, answer Stepped, go on.

    Gradients accumulated since Collected are kept.
    """

    round: bytes
    epoch: int
    lineage: bytes
    """Name of the new state, stored in the checkpoint."""
    ledger: bytes = b""
    """Ledger of the new state, stored there too; the worker does not look into it."""
    averaged: RoundMetrics | None = None
    """For metrics."""
    untaken: Untaken | None = None
    """Chunks of the contribution that are in no mean; the worker carries them on."""
    mean_digest: bytes = b""
    """Root digest of the file of this mean, stored there too; empty: it is not kept."""


class Load(Frame, frozen=True, kw_only=True, tag="load"):
    """Replace parameters and statistics by this checkpoint, drop what was accumulated, delete it; answer Loaded.

    The file comes from a stranger.  If it is of another name, model or collaboration, nothing changes, and Loaded names
    the state that is held still.
    """

    path: str
    epoch: int
    lineage: bytes
    """Lineage that the file must name as its own."""
    counted: Counted = 0


class Replay(Frame, frozen=True, kw_only=True, tag="replay"):
    """Others have gone on to this state: go back to the own one as it was saved, and take the same steps from there.

    What was accumulated is dropped.  The worker asks for the means one by one (WantsMean), and in the end answers
    Loaded.  They come from strangers.  If they do not lead to the very state, bit for bit, nothing changes, and Loaded
    names the state that is held still.
    """

    header: StateHeader
    """Header of its file."""
    digest: bytes
    """Root digest of its file."""
    counted: Counted = 0


class TakeMean(Frame, frozen=True, kw_only=True, tag="take_mean"):
    """The slot `mean` holds the one that was asked for."""

    there: bool = True
    """False: it cannot be read; go back to the state that was held."""


class Suspend(Frame, frozen=True, kw_only=True, tag="suspend"):
    """Compute nothing and use no device until Resume; answer Suspended.  Frames that come before Resume mean nothing.

    What was accumulated is kept, with a contribution that is out: if its round is committed, a newer state follows,
    with the samples that it counts for this peer.
    """


class Resume(Frame, frozen=True, kw_only=True, tag="resume"):
    """After Suspended: answer WorkerReady, and hold until Go."""

    arena_path: str
    """The worker creates another arena there: a round that it had contributed to may still use the last one."""


class Throttle(Frame, frozen=True, kw_only=True, tag="throttle"):
    """The part of the computer to use from the next pass on; it holds until the next Throttle, also through Suspend.

    Compiled layers keep the threads with which they were compiled.
    """

    share: Annotated[int, Meta(ge=1, le=100)] = 100
    """Percentage of the time in which passes compute; in between the worker rests, and listens."""
    threads: Annotated[int, Meta(ge=1)] = 1
    left_out: Annotated[tuple[Annotated[str, Meta(max_length=100)], ...], Meta(max_length=100)] = ()
    """Devices, as torch calls them, that compute nothing and hold nothing while the others compute."""


class Ping(Frame, frozen=True, kw_only=True, tag="ping"):
    """Answer Pong at once, whatever you are busy with."""


# --- worker to engine ------------------------------------------------------------------------------------------------


class Computes(Frame, frozen=True, kw_only=True, tag="computes"):
    """The devices are chosen, and have computed something; the model is still to be made.  Or one of them has left."""

    device: str
    """As torch calls them, with commas between them."""
    title: str
    """As people call them."""
    notes: tuple[Sentence, ...] = ()
    """Why they are not those that the person wants."""


class WorkerReady(StateFrame, frozen=True, kw_only=True, tag="ready"):
    """The model stands, the arena exists, and it holds: after Start or Resume."""

    numel: int
    parameters: int
    exact: bool = False
    """Whether equal states and means lead to equal bits on every machine."""
    layout: tuple[int, ...] = ()
    """Sizes of the tensors in the vectors, in order: `numel` in all."""
    loss_name: str = ""
    """What the task's loss measures, in words that people are shown."""
    loss_unit: str = ""
    guesses: str = ""
    """What a score's share of right guesses is a share of; empty: the task guesses nothing."""
    set_aside: tuple[str, ...] = ()
    """Names of damaged checkpoints, as they are called now."""


class Suspended(Frame, frozen=True, kw_only=True, tag="suspended"):
    """The worker stands still; only a Stepped may follow before Resume, once the last state is on disk."""


class WantsMean(Frame, frozen=True, kw_only=True, tag="wants_mean"):
    """The slot `mean` is free for the next one of a replay."""


class Failed(Frame, frozen=True, kw_only=True, tag="failed"):
    """The worker ends because of a problem."""

    code: str
    message: Sentence
    hint: Sentence

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """The problem, to be raised by who hears of it."""
        return cls(code=problem.code, message=problem.sentence, hint=problem.advice)


class Pong(Frame, frozen=True, kw_only=True, tag="pong"):
    """The process runs; nothing is said about its work."""


ToWorker = (
    Start | Collect | Absorb | Release | Load | Replay | TakeMean | Evaluate | Hold | Go | Suspend | Resume | Throttle
    | FlightNews
)  # fmt: skip
"""Frames for the training part of the worker; a Ping is answered before it gets there."""
ToEngine = (
    Computes | WorkerReady | Progress | Collected | Stepped | Loaded | WantsMean | Suspended | Evaluated | Failed
    | Pong | DataNews | FlightWish | FlightsUnmeasured
)  # fmt: skip


def frame_decoder(direction: Any) -> msgspec.msgpack.Decoder[Any]:
    """A decoder for one direction: `ToWorker | Ping` or `ToEngine`."""
    return msgspec.msgpack.Decoder(Union[direction])  # noqa: UP007


def encode_frame(frame: Frame) -> bytes:
    """Encode a frame with its length."""
    return framed(frame)


def framed(words: msgspec.Struct) -> bytes:
    """Encode what goes over a pipe between parent and child, with its length."""
    payload = msgspec.msgpack.encode(words)
    return _LENGTH.pack(len(payload)) + payload


def frame_length(header: bytes) -> int:
    """Length of a frame's payload, bytes.

    Raises:
        WireProblem: longer than any valid frame.
    """
    (length,) = _LENGTH.unpack(header)
    if length > FRAME_BYTES_MAX:
        raise WireProblem(f"a frame of {length} bytes, the limit is {FRAME_BYTES_MAX}")
    return int(length)
