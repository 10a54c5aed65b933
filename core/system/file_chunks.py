"""A file in the chunks by which its content is named (`core.base.content`)."""

from collections.abc import Iterator
from pathlib import Path

from core.base.content import CHUNK_BYTES


def file_chunks(path: Path) -> Iterator[bytes]:
    """The file's content in chunks of `CHUNK_BYTES`; the last may be shorter."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
