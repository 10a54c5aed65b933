import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.data_source import SHARDS_MAX
from core.text.sources.source import BLOCK_BYTES
from core.text.sources.spans import (
    WHOLE,
    WINDOW,
    ByteBuffer,
    File,
    Range,
    cut_after,
    spans_of,
    text_of_range,
    text_pieces,
)


def chunked(data: bytes, seed: int) -> list[bytes]:
    chance = random.Random(seed)
    cuts = sorted({0, len(data), *(chance.randrange(len(data) + 1) for _ in range(9))})
    return [data[a:b] for a, b in pairwise(cuts)]


def text(seed: int, size: int) -> bytes:
    chance = random.Random(seed)
    words = ["word", "naïve", "বাংলা", "\n", "\n\n", "x" * 300]
    return " ".join(chance.choices(words, k=size // 20)).encode()


@given(st.binary(max_size=300))
def test_a_cut_lies_within_its_window(window: bytes) -> None:
    assert 0 <= cut_after(window) <= len(window)


def test_cuts_prefer_paragraphs_then_lines_then_words() -> None:
    assert cut_after(b"a b\nc\n \nd") == len(b"a b\nc\n \n")
    assert cut_after(b"a b\nc d") == len(b"a b\n")
    assert cut_after(b"ab cd") == len(b"ab ")
    assert cut_after("বা".encode()[1:]) == 2
    assert cut_after(b"") == cut_after(b"abc") == 0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("data", [text(1, 900_000), b"y" * 700_000, "বাংলা".encode() * 40_000, b"", b"\n" * 500_000])
def test_ranges_together_are_the_text(data: bytes, seed: int) -> None:
    ends = [*range(150_000, len(data), 150_000), len(data)]
    found = []
    for start, end in zip([0, *ends], ends, strict=False):
        pieces = list(text_of_range(lambda a, b: chunked(data[a:b], seed), start, end, len(data))[1])
        assert all(len(piece) <= 64 * 1024 + 2 * WINDOW for piece in pieces)
        assert pieces == list(text_of_range(lambda a, b: [data[a:b]], start, end, len(data))[1])
        found += pieces
    assert b"".join(found) == data
    for piece in found:
        if data[:1] != b"y":
            piece.decode()


@pytest.mark.parametrize("seed", range(5))
def test_a_stream_gives_the_same_pieces_however_it_comes(seed: int) -> None:
    data = text(2, 500_000)
    pieces = list(text_pieces(ByteBuffer(chunked(data, seed))))
    assert b"".join(pieces) == data
    assert pieces == list(text_pieces(ByteBuffer([data])))


@given(st.lists(st.tuples(st.integers(0, 5 * BLOCK_BYTES), st.booleans()), max_size=30))
def test_every_byte_belongs_to_one_shard(drawn: list[tuple[int, bool]]) -> None:
    files = [File(str(n), size, splits) for n, (size, splits) in enumerate(drawn)]
    seen: dict[int, list[Range]] = {}
    for shard in spans_of(files):
        assert shard
        for span in shard:
            seen.setdefault(span.file, []).append(span)
    assert set(seen) == set(range(len(files)))
    for number, spans in seen.items():
        if spans[0].end == WHOLE:
            assert spans == [Range(number, 0, WHOLE)]
        else:
            assert [spans[0].start, spans[-1].end] == [0, files[number].size]
            assert all(a.end == b.start for a, b in pairwise(spans))


def test_there_are_never_too_many_shards() -> None:
    huge = [File("a", 10 * SHARDS_MAX * BLOCK_BYTES, True), *[File(str(n), 9, False) for n in range(100)]]
    assert SHARDS_MAX // 4 < len(spans_of(huge)) <= SHARDS_MAX
    many = [File(str(n), BLOCK_BYTES, False) for n in range(3 * SHARDS_MAX)]
    assert SHARDS_MAX // 4 < len(spans_of(many)) <= SHARDS_MAX


def test_lines_are_bounded() -> None:
    buffer = ByteBuffer([b"ab", b"c\nd", b"efghij"])
    assert [buffer.line(4) for _ in range(4)] == [b"abc\n", b"defg", b"hij", b""]
