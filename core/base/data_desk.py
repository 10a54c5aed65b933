"""What a reader of data asks its engine, as JSON over HTTP on 127.0.0.1, with the token of the desk as bearer.

The engine's side is `core.engine.text.data_desk`, the reader's `core.reading.desk`.  The reader holds the token, and
parses strangers' bytes, so suppose that it was taken over: then it reads from the network what it likes anyhow, and of
the engine it gains paths in the folder of shards, whose content is public.  What it hands in is checked by digests.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.data_source import SHARDS_MAX, SOURCES_MAX

ASKED_BYTES_MAX: Final = 2 * 1024 * 1024
"""Upper bound on one question, bytes: all shards of a source can be wanted at once."""
ALLOW_BYTES_MAX: Final = 64 * 1024 * 1024
WAIT_S_MAX: Final = 10.0
PATH_LETTERS_MAX: Final = 4096

DeskSource = Annotated[int, Meta(ge=0, lt=SOURCES_MAX)]
DeskShard = Annotated[int, Meta(ge=0, lt=SHARDS_MAX)]
DeskPath = Annotated[str, Meta(max_length=PATH_LETTERS_MAX)]


class AllowAsk(msgspec.Struct, frozen=True):
    """May this number of bytes be read from the network?  `POST /v1/allow`."""

    bytes: Annotated[int, Meta(ge=0, le=ALLOW_BYTES_MAX)]


class AllowAnswer(msgspec.Struct, frozen=True):
    """The engine allows all but `left` bytes, which are counted in the month's use."""

    left: Annotated[int, Meta(ge=0)]
    """Not allowed yet: ask again."""
    rests: str = ""
    """Why the network rests, as `core.net.limits.pace.Hindrance` calls it; empty: it does not."""


class NextAsk(msgspec.Struct, frozen=True):
    """Which of these shards is to be read next?  `POST /v1/next`.  It also tells what will be wanted soon."""

    source: DeskSource
    wanted: Annotated[tuple[DeskShard, ...], Meta(min_length=1, max_length=SHARDS_MAX)]
    """In order of preference."""
    wait_s: Annotated[float, Meta(ge=0, le=WAIT_S_MAX)]
    """How long the reader can wait for one that a peer is just sending."""


class NextAnswer(msgspec.Struct, frozen=True):
    """The shard to read, and where it lies."""

    shard: DeskShard
    path: DeskPath = ""
    """A file with the shard's bytes; empty: at the origin."""


class KeptAsk(msgspec.Struct, frozen=True):
    """The reader has a shard from the origin in a file: others may have it.  `POST /v1/kept`."""

    source: DeskSource
    shard: DeskShard
    path: DeskPath
    """Path of the reader's file, which stays the reader's and may go after the answer."""


class KeptAnswer(msgspec.Struct, frozen=True):
    """Whether the engine keeps a copy; if not, there is no room for it, or it is not the shard of the index."""

    kept: bool
