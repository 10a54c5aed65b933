"""What peers say to each other to bring a latecomer up to date (S000 3.3), and to share shards (S000, appendix H).

Both are files that are known by their root digest and travel in checked chunks, so the words are the same; those of
shards have tags of their own, and places of their own at a donor: a shard keeps nobody from catching up.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

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


class ShardAsk(StateAsk, frozen=True, tag="shard.ask"):
    """May I have the shard with this root digest?"""


class ShardOffer(StateOffer, frozen=True, tag="shard.offer"):
    """The holder agrees, and lists the chunks of the shard."""

    bulk: ClassVar[bool] = True


class ShardDenied(StateDenied, frozen=True, tag="shard.denied"):
    """The holder refuses, for some seconds or because it does not have the shard."""


class ShardChunkAsk(ChunkAsk, frozen=True, tag="shard.chunk_ask"):
    """The downloader asks for one chunk of a shard that was offered to it."""


class ShardChunkGive(ChunkGive, frozen=True, tag="shard.chunk"):
    """One chunk of a shard, at most 256 KiB."""

    bulk: ClassVar[bool] = True


class ShardDone(StateDone, frozen=True, tag="shard.done"):
    """I need nothing more of it: somebody else may have my place."""


class ExpertFileAsk(StateAsk, frozen=True, tag="expert.ask"):
    """May I have the state of an expert that has this root digest?"""


class ExpertFileOffer(StateOffer, frozen=True, tag="expert.offer"):
    """The keeper agrees, and lists the chunks."""

    bulk: ClassVar[bool] = True
    beside: ClassVar[bool] = True


class ExpertFileDenied(StateDenied, frozen=True, tag="expert.denied"):
    """The keeper refuses, for some seconds or because it has another state by now."""


class ExpertChunkAsk(ChunkAsk, frozen=True, tag="expert.chunk_ask"):
    """The downloader asks for one chunk of an expert's state that was offered to it."""


class ExpertChunkGive(ChunkGive, frozen=True, tag="expert.chunk"):
    """One chunk of an expert's state, at most 256 KiB."""

    bulk: ClassVar[bool] = True
    beside: ClassVar[bool] = True


class ExpertFileDone(StateDone, frozen=True, tag="expert.done"):
    """I need nothing more of it: somebody else may have my place."""


@dataclass(frozen=True, slots=True)
class FileMessages:
    """The words with which files of one kind are asked for and given."""

    ask: type[StateAsk]
    offer: type[StateOffer]
    denied: type[StateDenied]
    chunk_ask: type[ChunkAsk]
    chunk_give: type[ChunkGive]
    done: type[StateDone]
    donors: int = 3
    """Number of peers that one file is asked of at a time."""

    @property
    def asks(self) -> tuple[type[Message], ...]:
        """The messages that a donor takes."""
        return self.ask, self.chunk_ask, self.done

    @property
    def answers(self) -> tuple[type[Message], ...]:
        """The messages that a downloader takes."""
        return self.offer, self.denied, self.chunk_give


STATE_FILES: Final = FileMessages(StateAsk, StateOffer, StateDenied, ChunkAsk, ChunkGive, StateDone)
SHARD_FILES: Final = FileMessages(ShardAsk, ShardOffer, ShardDenied, ShardChunkAsk, ShardChunkGive, ShardDone, donors=6)
SHARD_MESSAGES: Final = (*SHARD_FILES.asks, *SHARD_FILES.answers)
EXPERT_FILES: Final = FileMessages(
    ExpertFileAsk, ExpertFileOffer, ExpertFileDenied, ExpertChunkAsk, ExpertChunkGive, ExpertFileDone
)
EXPERT_FILE_MESSAGES: Final = (*EXPERT_FILES.asks, *EXPERT_FILES.answers)
STATE_MESSAGES: Final = (*STATE_FILES.asks, *STATE_FILES.answers)
