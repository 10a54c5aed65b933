"""Which experts a peer hosts, as it says in the DHT: a bitmap for each row of a layer's grid (Learning@home, 3.3).

All rows of a layer that differ in their last coordinates only lie at the same peers (`core.dht.key_classes`), so a
trainer reads them together.  A record lasts 30 s and is written every 10 s.

What the worst sender gains: it counts for no more places than one volunteer may (`core.experts.table`);
a trainer that asks it in vain lets it rest.  Room is limited by owner and by class, so it displaces no other records.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.ids import Key, PeerId
from core.base.mixture import EXPERT_BYTES_MAX, ExpertNumbers
from core.base.problems import WireProblem
from core.base.wire import Schema
from core.codecs.registry import codec_of
from core.dht.events import Found
from core.dht.key_classes import Validator, grouped_key, own_records
from core.dht.messages import Record
from core.dht.settings import Quota
from core.experts.grid import SIZE_MAX, ExpertGrid, Place
from core.experts.messages import ROWS_MAX, Version
from core.experts.table import RowNews
from core.swarm.words.messages import Digest

ROWS: Final = "expert rows"
"""The class of the keys of rows."""
COPIES: Final = "expert copies"
"""The class of the keys of copies."""
COPIES_MAX: Final = 8
"""Number of copies in one record."""
COPIES_LIFETIME_S: Final = 600.0
LIFETIME_S: Final = 30.0
AGAIN_S: Final = 10.0
"""Time after which a row that has not changed is written again."""
AGE_MAX: Final = 255
WAIT_UNIT_S: Final = 0.01
ROWS_OF_ONE: Final = 400
"""Number of rows that one peer can write."""

HEADER_BYTES_MAX: Final = 64 * 1024
"""What a file has beside the parameters of an expert."""

Bits = Annotated[bytes, Meta(max_length=SIZE_MAX // 8)]
"""Bit i of byte i // 8, the lowest first, is coordinate i; zeros at the end are left out."""


class ExpertRow(msgspec.Struct, frozen=True, array_like=True):
    """The experts of one row, or the coordinates under a shorter prefix, that a peer hosts."""

    hosted: Bits
    claimed: Bits = b""
    """Those that it is about to host, and that others should leave to it."""
    wait: Annotated[int, Meta(ge=0, le=255)] = 0
    """Time that a call waits there, in hundredths of a second."""
    relayed: bool = False
    """Whether the peer is reached through others only."""
    ages: Annotated[bytes, Meta(max_length=SIZE_MAX)] = b""
    """Seconds since each of its coordinates was claimed, in their order, at most `AGE_MAX`; `AGE_MAX` where it ends."""


_SCHEMA: Final = Schema(ExpertRow, named="a row of experts", bytes_max=2 * SIZE_MAX // 8 + SIZE_MAX + 16)


@dataclass(frozen=True, slots=True)
class Mixture:
    """The layers of experts of a collaboration, as all peers know them from its manifest.

    Attributes:
        run: The manifest's id.
        layers: Number of layers.
        grid: The places of each layer.
        owner_most: Number of places of a layer at which one host counts.
        patience_s: Time within which an answer is of use to a trainer.
        file_bytes: Upper bound on the bytes of an expert's file.
        sample_rows: Upper bound on the rows that experts answer for one sample, forward and backward.
        row_bytes: What one row takes on the wire.
    """

    run: bytes
    layers: int
    grid: ExpertGrid
    owner_most: int
    patience_s: float = 30.0
    file_bytes: int = EXPERT_BYTES_MAX
    sample_rows: int = 1
    row_bytes: int = 1

    @staticmethod
    def of(run: bytes, numbers: ExpertNumbers, *, rows: int = 1) -> "Mixture":
        """The mixture that a manifest describes.

        Args:
            run: Its id.
            numbers: Its table `[experts]`.
            rows: Number of rows of a sample.
        """
        grid = ExpertGrid(numbers.grid, numbers.live)
        return Mixture(
            run,
            numbers.layers,
            grid,
            numbers.owner_most,
            patience_s=numbers.patience_s,
            file_bytes=numbers.expert_bytes + HEADER_BYTES_MAX,
            sample_rows=2 * rows * numbers.layers * (numbers.top + numbers.spare),
            row_bytes=codec_of(numbers.codec).max_bytes(ROWS_MAX * numbers.width) // ROWS_MAX,
        )


def row_key(run: bytes, layer: int, prefix: Place) -> Key:
    """Where the hosts of a row stand.

    Args:
        run: The manifest's id.
        layer: Number of the layer.
        prefix: All coordinates of the row's places but the last, or fewer.
    """
    shared = bytes((layer, len(prefix), *prefix[:-1]))
    return grouped_key(ROWS, (run, shared), bytes(prefix))


def encode_row(row: ExpertRow) -> bytes:
    """The row as the value of a DHT record."""
    return _SCHEMA.encode(row)


def decode_row(data: bytes) -> ExpertRow:
    """The row in a DHT record's value.

    Raises:
        WireProblem: it is not valid.
    """
    return _SCHEMA.decode(data)


def bits_of(coordinates: Iterable[int]) -> bytes:
    """The bitmap that names these coordinates."""
    bits = sum(1 << coordinate for coordinate in set(coordinates))
    return bits.to_bytes(-(-bits.bit_length() // 8), "little")


def from_bits(bits: bytes) -> int:
    """The number of which bit i is set where a bitmap names coordinate i."""
    return int.from_bytes(bits, "little")


def coordinates_in(bits: bytes) -> Iterator[int]:
    """Coordinates that a bitmap names, in their order."""
    return (8 * byte + bit for byte, eight in enumerate(bits) for bit in range(8) if eight >> bit & 1)


def rows_in(found: Found) -> Iterator[tuple[PeerId, ExpertRow, float]]:
    """What hosts say of a row that was read: the host, its word, and when it ends, Unix seconds."""
    for record in found.records:
        try:
            row = decode_row(record.value)
        except WireProblem:
            continue  # holders check the form: this one was stored before a newer form
        if record.subkey == record.owner:
            yield record.owner, row, record.expiration


def claims_in(row: ExpertRow, until: float) -> dict[int, int]:
    """When each coordinate that a host names was claimed, Unix seconds; 0: `AGE_MAX` before it was told, or earlier.

    Args:
        row: The word.
        until: When it ends, Unix seconds.
    """
    told = int(until - LIFETIME_S + 0.0005)  # it came in milliseconds
    named = sorted({*coordinates_in(row.hosted), *coordinates_in(row.claimed)})
    ages = row.ages[: len(named)].ljust(len(named), bytes((AGE_MAX,)))
    return {last: told - age if age < AGE_MAX else 0 for last, age in zip(named, ages, strict=True)}


def row_news(row: ExpertRow, until: float, counts: int) -> RowNews:
    """A host's word as a trainer keeps it, with a bit for each coordinate at which it counts."""
    return RowNews(from_bits(row.hosted) & counts, until, row.wait * WAIT_UNIT_S, row.relayed)


class ExpertCopy(msgspec.Struct, frozen=True, array_like=True):
    """A state of an expert that a peer has in a file."""

    last: Annotated[int, Meta(ge=0, lt=SIZE_MAX)]
    """The last coordinate of its place."""
    version: Version
    digest: Digest
    size: Annotated[int, Meta(gt=0, lt=1 << 40)]
    """Bytes of the file."""
    saved: Annotated[int, Meta(ge=0, lt=1 << 32)] = 0
    """When it was written, or came to this peer, Unix seconds; 0: not told."""

    @property
    def file(self) -> tuple[int, bytes, int]:
        """What is the same of all peers that have the same file."""
        return self.version, self.digest, self.size


class ExpertCopies(msgspec.Struct, frozen=True, array_like=True):
    """States of experts of one row that a peer gives to others."""

    copies: Annotated[tuple[ExpertCopy, ...], Meta(max_length=COPIES_MAX)]


_COPIES: Final = Schema(ExpertCopies, named="copies of experts", bytes_max=512)


def copies_key(run: bytes, layer: int, prefix: Place) -> Key:
    """Where the copies of the experts of a row stand; see `row_key`."""
    return grouped_key(COPIES, (run, bytes((layer, len(prefix), *prefix[:-1]))), bytes(prefix))


def encode_copies(copies: Sequence[ExpertCopy]) -> bytes:
    """At most `COPIES_MAX` copies as the value of a DHT record."""
    return _COPIES.encode(ExpertCopies(tuple(copies)))


def copies_in(found: Found) -> Iterator[tuple[PeerId, ExpertCopy]]:
    """The copies of a row that were read, and who gives each."""
    for record in found.records:
        try:
            yield from ((record.owner, copy) for copy in _COPIES.decode(record.value).copies)
        except WireProblem:
            continue


def is_copies(key: Key, record: Record) -> bool:
    """Whether a record may stand under a key of copies: a peer has several, numbered."""
    del key
    _COPIES.decode(record.value)
    return len(record.subkey) == len(record.owner) + 1


is_row: Validator = own_records(decode_row)
SCHEMAS: Mapping[str, Validator] = MappingProxyType({ROWS: is_row, COPIES: is_copies})
"""The form of what may stand under the keys of rows."""
QUOTAS: Mapping[str, Quota] = MappingProxyType(
    {
        name: Quota(
            records_max=20_000,
            bytes_max=8 * 1024 * 1024,
            records_per_owner=ROWS_OF_ONE,
            lifetime_max_s=lifetime_s,
        )
        for name, lifetime_s in ((ROWS, LIFETIME_S), (COPIES, COPIES_LIFETIME_S))
    }
)
"""Room of their own: in a small swarm each peer holds the rows of all.  Their words end soon after their owners."""
