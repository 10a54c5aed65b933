"""The port through which a collaboration's text is read, wherever it lies (S000, section 3.3).

    place   where files are: a folder, a web address, a bucket, a data set of the hub
    form    what files hold: plain text, JSON lines, CSV, Parquet
    shard   what can be read on its own: a range of bytes, a row group, a compressed file, several small files
    block   a shard's text in stretches of about 4 MiB
    piece   what a source gives at a time: some texts of one block, small enough to begin with at once

Shards, blocks and pieces follow from names, sizes and bytes of the files alone, so they are the same for everybody.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from core.api.data_state import DataCode
from core.base.content import DIGEST_BYTES
from core.base.data_source import PYTHON_DOCS, DataSource

BLOCK_BYTES: Final = 4 * 1024 * 1024
"""Text of a block, give or take a piece, as UTF-8."""
PIECE_BYTES: Final = 64 * 1024
"""Text of a piece, give or take a text of a table."""
READ_BYTES: Final = 256 * 1024
"""Bytes of one read, which are asked of the person's line limit at a time."""


class Shard(NamedTuple):
    """A piece of a source that can be read on its own."""

    name: str
    """For people: a path within the source, and which part of it."""
    size: int
    """Bytes as they lie there; 0 where nobody says."""


REST: Final = "the rest"
"""What is not read of a file that breaks off."""


class LeftOut(NamedTuple):
    """A file of a source that is not read, or some records of it, which people are told."""

    name: str
    code: DataCode
    records: int = 0
    """Number of records that could not be read; 0: the file, or the rest of it."""
    first: str = ""
    """Which was the first of them, and what is wrong with it; of a file that breaks off, `REST`; else why, or empty."""

    @property
    def words(self) -> str:
        """What people are told: "a.jsonl: 3 records, the first: row 101, not JSON", "the rest of a.jsonl.gz"."""
        count = f"{self.records:,} record{'' if self.records == 1 else 's'}"
        if self.records:
            return f"{self.name}: {count}, the first: {self.first}"
        return f"{self.first} of {self.name}" if self.first == REST else self.name


@dataclass(frozen=True, slots=True)
class Listing:
    """The shards that a source has."""

    shards: tuple[Shard, ...]
    digest: bytes
    """Digest of names and sizes of all that is read: under another digest, numbers of shards mean other shards."""
    left_out: tuple[LeftOut, ...] = ()


def listing_digest(files: Iterable[tuple[str, int]]) -> bytes:
    """The digest of names and sizes, in order (`Listing.digest`)."""
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for name, size in files:
        encoded = name.encode("utf-8", "surrogatepass")
        found.update(len(encoded).to_bytes(8, "big") + encoded + size.to_bytes(8, "big"))
    return found.digest()


class Piece(NamedTuple):
    """Some texts that stand together in a shard."""

    block: int
    """Number of the block that they belong to; it never falls within a shard."""
    texts: tuple[str, ...]
    """Each stands on its own: a document begins and ends with it."""
    rows: tuple[Mapping[str, object], ...] | None = None
    """What else stands in each text's row of a table, as far as it was asked for; None: there is no table."""


class SourceTrouble(Exception):  # noqa: N818 - what a source says of itself, not a mistake of this program
    """Text of a source cannot be had.

    Args:
        code: Why; its docstring says which arguments it takes.
        arguments: For the sentence that people are shown; never a secret.
    """

    def __init__(self, code: DataCode, **arguments: str | float) -> None:
        super().__init__(code.value, arguments)
        self.code = code
        self.arguments = arguments

    @property
    def why(self) -> str:
        """What was the first thing wrong with a file; empty: its code says all."""
        return str(self.arguments.get("why", ""))


class SourceStalled(SourceTrouble):
    """Text cannot be had now: trying again later is right."""


class ShardUnreadable(SourceTrouble):
    """A shard cannot be read on, now or later; what of it was given holds."""


def _nothing(_: object) -> None:
    """Allows everything, and keeps nothing of it."""


class NoColumn(ShardUnreadable):
    """A table has no column of that name, or no text in it.

    Args:
        name: Name of the file.
        column: Column that was asked for.
        there: The columns that hold text, for people who can name another one.
        holds: Whether there is such a column.
    """

    def __init__(self, name: str, column: str, there: Iterable[str] = (), *, holds: bool = False) -> None:
        super().__init__(DataCode.NO_TEXT if holds else DataCode.NO_COLUMN, name=name, column=column)
        self.there = tuple(there)

    @property
    def why(self) -> str:
        """What of it the table lacks, for people."""
        lacks = "no column" if self.code == DataCode.NO_COLUMN else "no text in the column"
        return f"{lacks} '{self.arguments['column']}'"


class NoSplit(SourceStalled):
    """A data set of the hub has no such configuration, or no such split of it.

    Args:
        source: Source that names it.
        configs: The configurations that there are, for people who can name another one.
        splits: The splits of the configuration.
    """

    def __init__(self, source: DataSource, *, configs: Iterable[str], splits: Iterable[str]) -> None:
        super().__init__(DataCode.MISSING, name=" ".join(filter(None, (source.address, source.config, source.split))))
        self.configs = tuple(configs)
        self.splits = tuple(splits)


@dataclass(frozen=True, slots=True)
class Access:
    """What a source may use on this computer."""

    folder: Path | None = None
    """The folder or file that the person has named; no other one is read."""
    near: bool = True
    """Whether an address that names this computer or its private network is asked: where the person has named it, or
    has joined by a link into that network.  Else any organiser could have all volunteers call their routers."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Credentials, by `secret_name` of the address that they are for."""
    allow: Callable[[int], None] = _nothing
    """Called with a number of bytes before they are asked of the network; returns when the person's limits allow them.

    Raises `SourceStalled` (NETWORK_RESTS) where the person's rules forbid the network.
    """
    count: Callable[[int], None] = _nothing
    """Called with the number of bytes that came from a file or from the network."""
    pass_over: Callable[[LeftOut], None] = _nothing
    """Told of a file that turned out unreadable while its shard was read; the shard's other files are read."""


class TextShards(Protocol):
    """A source of text.  Its methods may be called from several threads."""

    @property
    def network(self) -> bool:
        """Whether reading it takes the network."""

    def listing(self) -> Listing:
        """What the source has: at most `core.base.data_source.SHARDS_MAX` shards.

        Raises:
            SourceStalled: it cannot be listed now, or nothing in it can be read.
        """

    def read(self, shard: int, block: int = 0, *, copy: Path | None = None) -> Iterator[Piece]:
        """The texts of a shard from the beginning of a block on, in order.

        Args:
            shard: Its place in the listing.
            block: Number of the block to begin with.
            copy: A file with the same bytes as the shard, where it is one whole file; the source is not asked then.

        Raises:
            SourceStalled: it cannot be read on now.
            ShardUnreadable: it cannot be read on at all.
        """


Origin = Callable[[str, int, int], Iterator[bytes]]
"""Gives a file's bytes from a server: its name, its size (0: nobody knows), from which byte on."""


class FetchedShards(TextShards, Protocol):
    """A source whose shards are brought to this computer and checked before they are read."""

    def fetch(self, shard: int, path: Path, look: Callable[[], None]) -> None:
        """Bring a shard to a file (`core.text.sources.indexed.IndexedShards.fetch`)."""


def scheme_of(address: str) -> str:
    """What kind of address it is: "python-docs", the scheme of its URL, or "" for a path."""
    if address == PYTHON_DOCS:
        return PYTHON_DOCS
    scheme, mark, _ = address.partition("://")
    return scheme.lower() if mark else ""


def below(address: str, name: str) -> str:
    """The address of a file in a folder of a web server, with the folder's query, which may be a signature.

    Args:
        address: Address of the folder.
        name: Name of the file, quoted.
    """
    parts = urlsplit(address)
    return parts._replace(path=f"{parts.path.rstrip('/')}/{name}", fragment="").geturl()


def secret_name(address: str) -> str:
    """What credentials for an address are called in the keyring: its scheme and host, bucket or hub.

    "https://texts.org/a/b.gz" has "https://texts.org"; every data set of the hub has "hf://datasets".
    """
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.scheme else ""


def authorization(secret: str) -> dict[str, str]:
    """The header for a credential: "USER:PASSWORD", or else a token."""
    if not secret:
        return {}
    if ":" in secret:
        return {"Authorization": "Basic " + base64.b64encode(secret.encode()).decode()}
    return {"Authorization": f"Bearer {secret}"}
