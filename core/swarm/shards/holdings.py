"""Which shards a peer holds, as it says in the DHT: a bitmap for each range of a source (S000, appendix H).

A range of 2,048 shards is one key, and a record under it 300 bytes, so that a data set of several thousand shards is
read in a few reads.

What the worst sender gains: who claims all shards is asked for them.  A peer that asked it loses one of six donors
for 12 s, then leaves it alone, for twice as long each time.  It raises the number of holders of all shards alike, so
which of them are rarest stays as it is.  Who claims a rare shard has others keep it less, and read it from the origin.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.data_source import SHARDS_MAX, SOURCES_MAX
from core.base.ids import Key
from core.base.wire import Schema
from core.dht.key_classes import Validator, classed_key, own_records

RANGE: Final = 2048
"""Number of shards whose holders stand under one key."""
RANGES_MAX: Final = SHARDS_MAX // RANGE
HOLDINGS: Final = "shards"
"""The class of the keys."""


class Holdings(msgspec.Struct, frozen=True, array_like=True):
    """The shards of one range that a peer holds."""

    bits: Annotated[bytes, Meta(max_length=RANGE // 8)]
    """Bit i of byte i // 8, the lowest first, is shard i of the range; zeros at the end are left out."""


_SCHEMA: Final = Schema(Holdings, named="a list of held shards", bytes_max=RANGE // 8 + 8)


def holdings_key(run: bytes, source: int, place: int) -> Key:
    """Where the holders of a range of shards stand in the DHT.

    Args:
        run: The manifest's id.
        source: The source's place in the manifest.
        place: The range's number: it begins with shard `place * RANGE`.
    """
    assert 0 <= source < SOURCES_MAX
    assert 0 <= place < RANGES_MAX
    return classed_key(HOLDINGS, run, bytes((source, place)))


def encode_holdings(numbers: Iterable[int], place: int) -> bytes:
    """The held shards of a range, as the value of a DHT record.

    Args:
        numbers: Numbers of shards, of any range.
        place: The range's number.
    """
    bits = 0
    for number in numbers:
        if number // RANGE == place:
            bits |= 1 << number % RANGE
    return _SCHEMA.encode(Holdings(bits.to_bytes((bits.bit_length() + 7) // 8, "little")))


def decode_holdings(value: bytes) -> int:
    """The bitmap in a record's value, as a number: bit i is shard i of the range.

    Raises:
        WireProblem: it is not valid.
    """
    return int.from_bytes(_SCHEMA.decode(value).bits, "little")


is_holdings: Validator = own_records(decode_holdings)
SCHEMAS: Mapping[str, Validator] = MappingProxyType({HOLDINGS: is_holdings})
"""What may stand under the keys of shards."""
