"""A file in the chunks by which its content is named (`core.base.content`), whatever its size."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from core.base.content import CHUNK_BYTES, DIGEST_BYTES


def file_chunks(path: Path) -> Iterator[bytes]:
    """The file's content in chunks of `CHUNK_BYTES`; the last may be shorter."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def file_digest(path: Path) -> bytes:
    """The digest of the file's bytes, as `core.base.content.digest` would name them; one chunk at a time is in memory.

    Raises:
        OSError: it cannot be read.
    """
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for chunk in file_chunks(path):
        found.update(chunk)
    return found.digest()
