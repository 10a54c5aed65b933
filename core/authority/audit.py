"""What moderators did, as a chain: each line has the digest of the one before, so that no line can be changed alone.

Its keeper can write a whole chain anew.  So each moderator's computer remembers the last line that it
saw (`core.engine.moderation`), and notices another past.
"""

from collections.abc import Iterable
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.content import DIGEST_BYTES, digest

PURPOSE: Final = b"potluck audit 1\n"
ACTOR_LETTERS: Final = 80
WORDS_LETTERS: Final = 500
_Digest = Annotated[bytes, Meta(min_length=DIGEST_BYTES, max_length=DIGEST_BYTES)]


class AuditLine(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that somebody did who looks after a collaboration."""

    n: Annotated[int, Meta(ge=1, lt=2**31)]
    """The first one is 1."""
    at: Annotated[float, Meta(ge=0, le=1e12)]
    """When the backbone learned of it, Unix seconds."""
    actor: Annotated[str, Meta(max_length=ACTOR_LETTERS)]
    act: Annotated[str, Meta(max_length=40)]
    subject: Annotated[str, Meta(max_length=80)]
    """The person or thing that it is about."""
    words: Annotated[str, Meta(max_length=WORDS_LETTERS)]
    before: _Digest
    """Digest of the line before; of the first one, `beginning`."""

    @property
    def digest(self) -> bytes:
        """The digest of this line, 32 bytes."""
        return digest(PURPOSE + msgspec.msgpack.encode(self))


def beginning(manifest_id: bytes) -> bytes:
    """The digest that stands before the first line of a collaboration's chain."""
    return digest(PURPOSE + manifest_id)


def first_broken(lines: Iterable[AuditLine], n: int, before: bytes) -> int | None:
    """The number of the first line that does not follow the one before; None: all do.

    Args:
        lines: In order.
        n: Number of the line before them; 0: there is none.
        before: Its digest.
    """
    for line in lines:
        if (line.n, line.before) != (n + 1, before):
            return n + 1
        n, before = line.n, line.digest
    return None
