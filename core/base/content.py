"""Content addresses: a thing is named by the digest of its bytes, so each receiver can check it."""

import hashlib
from collections.abc import Iterable

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
