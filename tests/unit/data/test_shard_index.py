import hashlib
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.content import CHUNK_BYTES
from core.base.problems import BadInput
from core.text.order.shard_index import (
    INDEX_BYTES_MAX,
    SHARD_BYTES_MAX,
    ShardHash,
    ShardIndex,
    read_index,
)


def index_of(shards: list[bytes], **fields: object) -> ShardIndex:
    return ShardIndex(
        sizes=tuple(map(len, shards)),
        documents=tuple(1 for _ in shards),
        characters=tuple(map(len, shards)),
        roots=b"".join(_root(shard) for shard in shards),
        **fields,  # type: ignore[arg-type]
    )


def _chunks(data: bytes) -> list[bytes]:
    return [data[at : at + 262_144] for at in range(0, len(data), 262_144)]


def _root(data: bytes) -> bytes:
    """The root as the module's docstring has it, by the standard library alone."""
    one = [hashlib.blake2b(chunk, digest_size=32).digest() for chunk in _chunks(data)]
    return hashlib.blake2b(b"".join(one), digest_size=32).digest()


SHARDS = [Random(1).randbytes(size) for size in (1, CHUNK_BYTES - 1, CHUNK_BYTES, 3 * CHUNK_BYTES + 7)]


def test_an_index_is_read_as_it_was_written() -> None:
    index = index_of(SHARDS, ending="jsonl.gz", mirrors=("https://example.org/shards",))
    assert read_index(index.encode()) == index
    assert [index.shard(n).name for n in range(len(index))] == [f"0000{n}.jsonl.gz" for n in range(4)]
    assert index.size == sum(map(len, SHARDS))
    with pytest.raises(IndexError):
        index.shard(len(SHARDS))
    with pytest.raises(IndexError):
        index.shard(-1)


@pytest.mark.parametrize("number", range(len(SHARDS)))
@given(parts=st.lists(st.integers(1, 3 * CHUNK_BYTES), max_size=8))
def test_a_shard_is_known_however_its_bytes_arrive(number: int, parts: list[int]) -> None:
    data, shard = SHARDS[number], index_of(SHARDS).shard(number)
    hashed, at = ShardHash(), 0
    for length in [*parts, len(data)]:
        hashed.update(data[at : at + length])
        at += length
    assert hashed.is_of(shard)
    assert hashed.digests == [hashlib.blake2b(chunk, digest_size=32).digest() for chunk in _chunks(data)]


@given(place=st.integers(0, len(SHARDS[3]) - 1), bit=st.integers(0, 7))
def test_one_flipped_bit_is_found_in_its_chunk(place: int, bit: int) -> None:
    shard, wrong = index_of(SHARDS).shard(3), bytearray(SHARDS[3])
    wrong[place] ^= 1 << bit
    hashed, right = ShardHash(), ShardHash()
    hashed.update(wrong)
    right.update(SHARDS[3])
    assert right.is_of(shard)
    assert not hashed.is_of(shard)
    differ = [at for at, (one, other) in enumerate(zip(right.digests, hashed.digests, strict=True)) if one != other]
    assert differ == [place // CHUNK_BYTES]


def test_a_shard_that_breaks_off_is_not_the_shard() -> None:
    shard, short = index_of(SHARDS).shard(3), ShardHash()
    short.update(SHARDS[3][:-1])
    assert not short.is_of(shard)
    short.update(SHARDS[3][-1:] + b"more")
    assert not short.is_of(shard)


def test_an_index_of_several_thousand_shards_is_small() -> None:
    chance = Random(2)
    index = ShardIndex(
        sizes=tuple(chance.randrange(3_900_000, 4_100_000) for _ in range(8192)),
        documents=tuple(chance.randrange(2000, 3000) for _ in range(8192)),
        characters=tuple(chance.randrange(10_000_000, 11_000_000) for _ in range(8192)),
        roots=chance.randbytes(8192 * 32),
    )
    assert len(index.encode()) < 400_000
    assert read_index(index.encode()) == index


def test_a_strangers_index_is_bounded() -> None:
    good = msgspec.to_builtins(index_of(SHARDS), builtin_types=(bytes,))
    for name, value in {
        "sizes": (0, 1, 1, 1),
        "documents": (1, 1, 1),
        "characters": (-1, 1, 1, 1),
        "roots": b"x" * 127,
        "ending": "../../etc",
        "format": 2,
        "mirrors": ("",),
        "more": 1,
    }.items():
        with pytest.raises(BadInput):
            read_index(msgspec.msgpack.encode({**good, name: value}))
    with pytest.raises(BadInput):
        read_index(msgspec.msgpack.encode({**good, "sizes": (1, 1, 1, SHARD_BYTES_MAX + 1)}))
    for data in (b"", b"no index", b"\x91" * 5000, b"\0" * (INDEX_BYTES_MAX + 1)):
        with pytest.raises(BadInput):
            read_index(data)
