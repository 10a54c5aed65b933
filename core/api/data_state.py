"""What can be said of a collaboration's data: codes, whose sentences window and command line make."""

from enum import StrEnum


class DataCode(StrEnum):
    """Why data do not flow, or what of it was left out."""

    NO_ANSWER = "no-answer"
    """The server does not answer, or breaks off: host, retry_s."""
    REFUSED = "refused"
    """The server wants other rights: host, status."""
    MISSING = "missing"
    """A file or a shard is not there any more: name."""
    DAMAGED = "damaged"
    """A file breaks off or holds something else than its name says: name."""
    NO_COLUMN = "no-column"
    """Rows have no such column: name, column."""
    WRONG_BYTES = "wrong-bytes"
    """A shard is not what the index says: name."""
    NETWORK_RESTS = "network-rests"
    """The person's rules forbid the network now."""
    NO_SPACE = "no-space"
    """The disk is full, or the limit of the disk too small for a block: bytes."""
    TOO_MANY = "too-many"
    """A folder has more files than are read; this is the first that is not: name."""
    CHANGED = "changed"
    """The list of shards is another one than before, so a new pass has begun: shards."""
    LOST_PLACE = "lost-place"
    """It cannot be told any more what was read, so a new pass has begun: name, of the file that was set aside."""
