"""Content addresses: a thing is named by the digest of its bytes, so each receiver can check it."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

DIGEST_BYTES = 32
CHUNK_BYTES = 256 * 1024


def digest(data: bytes | bytearray | memoryview) -> bytes:
    """The BLAKE2b-256 digest of `data`, 32 bytes."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


def chunk_digests(chunks: Iterable[bytes | memoryview]) -> list[bytes]:
    """The digest of each chunk, in order."""
    return [digest(chunk) for chunk in chunks]


def root_digest(digests: Iterable[bytes]) -> bytes:
    """One digest for a whole file: that of its chunks' digests, so each chunk can be checked as it arrives."""
    return digest(b"".join(digests))


def file_chunks(path: Path) -> Iterator[bytes]:
    """The file's content in chunks of `CHUNK_BYTES`; the last may be shorter."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
