"""What peers say to each other to bring a latecomer up to date (S000 3.3)."""

from typing import Annotated, ClassVar

from msgspec import Meta

from core.base.content import CHUNK_BYTES, DIGEST_BYTES
from core.base.wire import Message

Digest = Annotated[bytes, Meta(min_length=DIGEST_BYTES, max_length=DIGEST_BYTES)]
CHUNKS_MAX = 60_000
"""60,000 chunks of 256 KiB: a state of 14 GiB."""


class StateAsk(Message, frozen=True, tag="state.ask"):
    """May I have the state file with this digest?"""

    digest: Digest


class StateOffer(Message, frozen=True, tag="state.offer"):
    """The donor agrees, and lists the chunks of the state file that was asked for."""

    bulk: ClassVar[bool] = True
    digest: Digest
    size_bytes: Annotated[int, Meta(gt=0, le=CHUNKS_MAX * CHUNK_BYTES)]
    chunks: Annotated[list[Digest], Meta(min_length=1, max_length=CHUNKS_MAX)]
    """Digest of each chunk of 256 KiB; their root is `digest`."""


class StateDenied(Message, frozen=True, tag="state.denied"):
    """The donor refuses, for some seconds or because it does not have the state."""

    digest: Digest
    retry_after_s: Annotated[float, Meta(ge=0, le=600)]
    """0: this peer does not have it."""


class ChunkAsk(Message, frozen=True, tag="state.chunk_ask"):
    """The downloader asks for one chunk of a state file that was offered to it."""

    digest: Digest
    index: Annotated[int, Meta(ge=0, lt=CHUNKS_MAX)]


class ChunkGive(Message, frozen=True, tag="state.chunk"):
    """One chunk, at most 256 KiB."""

    bulk: ClassVar[bool] = True
    digest: Digest
    index: Annotated[int, Meta(ge=0, lt=CHUNKS_MAX)]
    data: memoryview


class StateDone(Message, frozen=True, tag="state.done"):
    """I need nothing more of it: somebody else may have my place."""

    digest: Digest


CATCH_UP_MESSAGES = (StateAsk, StateOffer, StateDenied, ChunkAsk, ChunkGive, StateDone)
