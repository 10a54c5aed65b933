"""Compressed text, unpacked in stretches of bounded size, however much comes out of it."""

import bz2
import lzma
import sys
import zlib
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Final, Protocol

from core.api.data_state import DataCode
from core.text.sources.source import READ_BYTES, ShardUnreadable

CODECS: Final = (".gz", ".zst", ".xz", ".bz2")
MEMORY_BYTES_MAX: Final = 128 * 1024 * 1024
"""Upper bound on the memory that unpacking xz takes; its own highest preset takes 65 MiB."""


class _Codec(Protocol):
    """One compressed stream of a file, which may have several behind each other."""

    @property
    def eof(self) -> bool:
        """Whether the stream has come to its end."""

    @property
    def unused_data(self) -> bytes:
        """The bytes that stood behind its end."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """At most a number of bytes; with no more data, what is still within."""


class _Gzip:
    """`zlib` with the interface that Python's other codecs have."""

    def __init__(self) -> None:
        self._within = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._within.eof

    @property
    def unused_data(self) -> bytes:
        return self._within.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._within.decompress(self._within.unconsumed_tail + data, max_length)


def _open(codec: str) -> _Codec:
    if codec == ".gz":
        return _Gzip()
    if codec == ".xz":
        return lzma.LZMADecompressor(memlimit=MEMORY_BYTES_MAX)
    if codec == ".bz2":
        return bz2.BZ2Decompressor()
    own = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    decompressor: _Codec = import_module(own).ZstdDecompressor()
    return decompressor


def unpacked(chunks: Iterable[bytes], codec: str, name: str) -> Iterator[bytes]:
    """What is packed in a file, at most `READ_BYTES` at a time.

    Args:
        chunks: The file's bytes.
        codec: One of `CODECS`; "": they are not packed.
        name: Name of the file, for people.

    Raises:
        ShardUnreadable: it breaks off, or is packed in another way.
    """
    if not codec:
        yield from chunks
        return
    stream: _Codec | None = None
    try:
        for chunk in chunks:
            data = chunk
            while data or (stream is not None and not stream.eof):
                stream = stream or _open(codec)
                out = stream.decompress(data, READ_BYTES)
                data = b""
                if out:
                    yield out
                if stream.eof:
                    data, stream = stream.unused_data.lstrip(b"\0"), None  # tapes fill up with zeros
                elif not out:
                    break
    except Exception as error:
        if _is_of_codec(error):
            raise ShardUnreadable(DataCode.DAMAGED, name=name) from error
        raise
    if stream is not None:
        raise ShardUnreadable(DataCode.DAMAGED, name=name)


def _is_of_codec(error: Exception) -> bool:
    known = zlib.error | lzma.LZMAError | EOFError | OSError  # bz2 has only OSError for what is not its own
    return isinstance(error, known) or type(error).__name__ == "ZstdError"
