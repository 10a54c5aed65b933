"""Frames between the engine and the worker that hosts experts (`core.workers.frames` has those of all workers).

The numbers of a batch lie in a slot (`core.workers.arena`), one call after the other; a slot passes with its frame: it
is the worker's from `ExpertBatch` on, and the engine's again from `ExpertBatchDone` on.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from core.base.mixture import ExpertNumbers
from core.base.work import Frame
from core.experts.messages import Coordinates, Layer, Version
from core.experts.queue import CallKind
from core.workers.frames import Failed, Pong, Resume, Suspend, Suspended, Throttle

Counted = Annotated[int, Meta(ge=0)]


# --- engine to worker ------------------------------------------------------------------------------------------------


class ExpertStart(Frame, frozen=True, kw_only=True, tag="expert_start"):
    """First frame: choose the device, open the slots, answer ExpertsReady; experts are taken by TakeExpert."""

    run: bytes
    """The manifest's id."""
    numbers: ExpertNumbers
    """The manifest's."""
    folder: str
    """Files of experts live here; the worker alone writes and deletes in it."""
    slots_path: str
    slots: Counted
    """Number of slots in that file."""
    slot_bytes: Counted
    device: str = "cpu"
    """As in `core.workers.frames.Start`; of several the first computes."""
    threads: Annotated[int, Meta(ge=1)] = 1
    memory_bytes: Counted
    """Upper bound on what all experts take."""


class BatchCall(msgspec.Struct, frozen=True, array_like=True):
    """One call of a batch, as far as the worker has to know it."""

    account: bytes
    """The trainer's; all computers of one account share what one may do to an update."""
    counted: bool
    """Whether a round has counted samples of the trainer."""
    rows: int
    seen: Version
    size: int
    """Bytes of its payload."""


class ExpertBatch(Frame, frozen=True, kw_only=True, tag="expert_batch"):
    """Compute these calls, all of one expert and kind, whose payloads lie in the slot one after the other."""

    number: Counted
    slot: Counted
    layer: Layer
    place: Coordinates
    kind: CallKind
    calls: tuple[BatchCall, ...]


class TakeExpert(Frame, frozen=True, kw_only=True, tag="expert_take"):
    """Host the expert of a place from now on, or go on with it; answer ExpertTaken or ExpertLacking."""

    layer: Layer
    place: Coordinates
    path: str = ""
    """A file of its state, which may come from a stranger; empty: it begins anew, unless it is here already."""


class SaveExpert(Frame, frozen=True, kw_only=True, tag="expert_save"):
    """Write the state of the expert of a place to a file; answer ExpertSaved or ExpertNotSaved."""

    layer: Layer
    place: Coordinates


class YieldExpert(Frame, frozen=True, kw_only=True, tag="expert_yield"):
    """Host the expert of a place no longer; what it has learned since its last file is lost."""

    layer: Layer
    place: Coordinates


# --- worker to engine ------------------------------------------------------------------------------------------------


class ExpertsReady(Frame, frozen=True, kw_only=True, tag="experts_ready"):
    """The device is chosen and the slots are open: after ExpertStart or Resume."""

    device: str
    """As torch calls it."""
    title: str
    """As people call it."""
    places_max: Counted
    """Number of experts for which there is memory."""


class ExpertBatchDone(Frame, frozen=True, kw_only=True, tag="expert_batch_done"):
    """The slot holds the answers, each where the payload of its call began."""

    number: Counted
    version: Version
    malformed: tuple[Counted, ...] = ()
    """Places among the batch's calls of those whose numbers were not finite; they have no answer."""


class ExpertTaken(Frame, frozen=True, kw_only=True, tag="expert_taken"):
    """The expert of a place is here and can be asked."""

    layer: Layer
    place: Coordinates
    version: Version


class ExpertLacking(Frame, frozen=True, kw_only=True, tag="expert_lacking"):
    """The expert of a place cannot be had of that file, or there is no memory for it."""

    layer: Layer
    place: Coordinates
    why: str
    damaged: bool = False
    """Whether it is the file."""


class ExpertSaved(Frame, frozen=True, kw_only=True, tag="expert_saved"):
    """The state of an expert lies in a file."""

    layer: Layer
    place: Coordinates
    version: Version
    path: str
    digest: bytes
    """`core.base.content.root_digest` over the file's chunks."""
    size_bytes: Counted


class ExpertNotSaved(Frame, frozen=True, kw_only=True, tag="expert_not_saved"):
    """The expert of a place is not here, or its file cannot be written; one that is here goes on without."""

    layer: Layer
    place: Coordinates


class ExpertsTally(Frame, frozen=True, kw_only=True, tag="experts_tally"):
    """What all experts that are here now have done since they were taken; at most once a second."""

    updates: Counted
    clipped_rows: Counted
    """Rows of gradients that were larger than usual ones, and scaled down."""
    weightless_rows: Counted
    """Rows of gradients that came too late, or beyond their account's share."""
    stale: tuple[Counted, ...]
    """Backward calls that were 0, 1, 2 to 3, 4 to 7, ... updates late."""


ToExperts = ExpertStart | TakeExpert | SaveExpert | YieldExpert | ExpertBatch | Suspend | Resume | Throttle
"""Frames for the worker that hosts experts; a Ping is answered before it gets there."""
FromExperts = (
    ExpertsReady
    | ExpertTaken
    | ExpertLacking
    | ExpertSaved
    | ExpertNotSaved
    | ExpertBatchDone
    | ExpertsTally
    | Suspended
    | Failed
    | Pong
)
