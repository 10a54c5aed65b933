"""What trainers and hosts of experts say to each other.

A trainer asks the host of an expert for its answer to some rows (forward), or for the gradient of these rows (backward,
by which the expert learns, too).  The host answers each call once: with the answer, or with a reason why there is none.

What the worst sender gains: a message that is too long, or has a number out of bounds, is dropped with its stream
before any machine sees it (`core.base.wire`).  A trainer's well-formed nonsense takes as much of a host's room as it
leaves free, and its own turn among the trainers (`core.experts.queue`); a payload of another length than its rows have
is refused and computed by nobody.  A host's answer to a call that nobody waits for is dropped; one of the wrong length
counts as a failure of that host.  What true lengths with false numbers do is bounded where they are used: at the host
by `core.training.experts.bounds`, at the trainer by the caller.
"""

from bisect import bisect_right
from functools import partial
from typing import Annotated, ClassVar, Final

from msgspec import Meta

from core.api.numbers import volume
from core.base.mixture import ExpertNumbers
from core.base.problems import BadInput
from core.base.wire import BULK_BYTES_MAX, Message
from core.codecs.codec import Codec
from core.codecs.registry import codec_of
from core.experts.grid import DIMENSIONS_MAX, SIZE_MAX
from core.experts.queue import CallKind, CallRefusal

LAYERS_MAX: Final = 64
ROWS_MAX: Final = 4_096
"""Number of rows of one call."""
BATCH_ROWS: Final = 256
"""Number of rows that one batch may have at a host in any case: more together are hardly faster on a processor."""
WITHIN_MS_MAX: Final = 120_000
"""Time that a trainer waits for an answer, milliseconds."""
RETRY_S_MAX: Final = 60
VERSION_BITS: Final = 48
"""Size of an expert's version, its number of updates: a thousand a second for 8,900 years."""
PAYLOAD_BYTES_MAX: Final = BULK_BYTES_MAX - 4096

CallNumber = Annotated[int, Meta(ge=0, lt=1 << 62)]
"""Drawn by its trainer at random; it tells a trainer's calls apart, and fits a signed 64-bit integer."""
Layer = Annotated[int, Meta(ge=0, lt=LAYERS_MAX)]
Coordinate = Annotated[int, Meta(ge=0, lt=SIZE_MAX)]
Coordinates = Annotated[tuple[Coordinate, ...], Meta(min_length=1, max_length=DIMENSIONS_MAX)]
Rows = Annotated[int, Meta(ge=1, le=ROWS_MAX)]
Version = Annotated[int, Meta(ge=0, lt=1 << VERSION_BITS)]
Payload = Annotated[memoryview, Meta(max_length=PAYLOAD_BYTES_MAX)]
"""Numbers of rows, one row after the other, in the collaboration's codec."""


class ExpertCall(Message, frozen=True, tag="experts.call"):
    """The trainer asks the expert of a place for its answer to rows, or for their gradient."""

    bulk: ClassVar[bool] = True
    beside: ClassVar[bool] = True
    call: CallNumber
    layer: Layer
    place: Coordinates
    kind: CallKind
    rows: Rows
    seen: Version
    """Version that answered forward, for a backward call; 0 for a forward one."""
    within_ms: Annotated[int, Meta(ge=1, le=WITHIN_MS_MAX)]
    """The trainer waits for so long; a host that cannot answer in that time refuses at once."""
    payload: Payload
    """Forward: the rows.  Backward: the rows, then the gradient of their answers, each encoded alone; the gradient is
    that of the sum of the samples' losses, so that trainers with batches of other sizes weigh alike."""


class ExpertReply(Message, frozen=True, tag="experts.reply"):
    """The host answers a call with what its expert has computed."""

    bulk: ClassVar[bool] = True
    beside: ClassVar[bool] = True
    call: CallNumber
    rows: Rows
    version: Version
    """Version of the expert that has computed it."""
    payload: Payload
    """Forward: the expert's answers.  Backward: the gradient of the rows."""


class ExpertRefused(Message, frozen=True, tag="experts.refused"):
    """The host has not answered a call, and will not."""

    call: CallNumber
    why: CallRefusal
    retry_after_s: Annotated[float, Meta(ge=0, le=RETRY_S_MAX)]
    """Time after which asking again may help; 0: it is not known."""


class ExpertDrop(Message, frozen=True, tag="experts.drop"):
    """The trainer waits no longer for a call; the host answers it no more, unless its expert computes it already."""

    call: CallNumber


CALL_MESSAGES: Final = (ExpertCall, ExpertDrop)
"""What a host takes."""
ANSWER_MESSAGES: Final = (ExpertReply, ExpertRefused)
"""What a trainer takes."""
EXPERT_MESSAGES: Final = (*CALL_MESSAGES, *ANSWER_MESSAGES)


def call_bytes(codec: Codec, *, kind: CallKind, rows: int, numbers: int) -> int:
    """Length of a call's payload.

    Args:
        codec: The collaboration's, whose payloads all have one length.
        kind: A backward call carries the rows and the gradient of their answers.
        rows: Number of rows.
        numbers: Numbers of a row.
    """
    return (2 if kind is CallKind.BACKWARD else 1) * codec.max_bytes(rows * numbers)


def rows_that_fit(codec: Codec, *, numbers: int) -> int:
    """Number of rows that one call carries at most, forward as backward; 0: not even one row fits."""
    sizes = range(ROWS_MAX + 1)
    return bisect_right(sizes, PAYLOAD_BYTES_MAX, key=partial(_backward_bytes, codec, numbers)) - 1


def batch_rows(codec: Codec, *, numbers: int, rows: int) -> int:
    """Number of rows that a host computes at once: what nobody can interrupt is not to be long.

    Args:
        codec: The collaboration's.
        numbers: Numbers of a row.
        rows: Rows of a trainer's batch, all of which may choose one expert.
    """
    return min(rows_that_fit(codec, numbers=numbers), max(BATCH_ROWS, rows))


def check_micro_batch(numbers: ExpertNumbers, *, micro_batch: int, rows: int = 1) -> None:
    """Refuse batches of which one call cannot carry all rows: they may all choose one expert.

    Args:
        numbers: The mixture's.
        micro_batch: Number of samples of a batch, by the task's number of this name.
        rows: Number of rows of a sample.

    Raises:
        BadInput: the batches are larger.
    """
    most = rows_that_fit(codec_of(numbers.codec), numbers=numbers.width) // rows
    if not most:
        size = call_bytes(codec_of(numbers.codec), kind=CallKind.BACKWARD, rows=rows, numbers=numbers.width)
        message = "A sample is too large: the call that learns from it has {size}, and carries at most {most}."
        advice = "Choose a smaller width or length of samples, or the codec u8."
        raise BadInput(message, volume(size), volume(PAYLOAD_BYTES_MAX), hint=advice)
    if micro_batch > most:
        message = "With this width and codec micro_batch must be at most {most}, so that a call carries it, not {size}."
        raise BadInput(message, most, micro_batch)


def _backward_bytes(codec: Codec, numbers: int, rows: int) -> int:
    return call_bytes(codec, kind=CallKind.BACKWARD, rows=rows, numbers=numbers)
