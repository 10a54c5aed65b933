import contextlib
from random import Random
from typing import Annotated, ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from core.base.problems import WireProblem
from core.base.wire import (
    BULK_BYTES_MAX,
    CONTROL_BYTES_MAX,
    FLAG_BESIDE,
    FLAG_BULK,
    FLAG_LAST,
    FRAGMENT_BYTES_MAX,
    FrameDecoder,
    Message,
    MessageCodec,
    fragment_header,
)


class Small(Message, frozen=True, tag="test.small"):
    number: Annotated[int, Meta(ge=0, le=1000)]
    name: Annotated[str, Meta(max_length=20)]


class Large(Message, frozen=True, tag="test.large"):
    bulk: ClassVar[bool] = True

    numbers: Annotated[tuple[int, ...], Meta(max_length=8)]
    payload: memoryview


CODEC = MessageCodec([Small, Large])

messages = st.lists(st.tuples(st.binary(max_size=3000), st.booleans()), max_size=8)
small = st.builds(Small, number=st.integers(0, 1000), name=st.text(max_size=20))


def fragments(data: bytes, *, bulk: bool, fragment_bytes: int) -> list[tuple[bytes, bytes]]:
    """A message in pieces, each with its header."""
    pieces = [data[start : start + fragment_bytes] for start in range(0, max(len(data), 1), fragment_bytes)]
    flags = [FLAG_BULK if bulk else 0] * len(pieces)
    flags[-1] |= FLAG_LAST
    return [(fragment_header(len(piece), flag), piece) for piece, flag in zip(pieces, flags, strict=True)]


def as_stream(items: list[tuple[bytes, bool]], fragment_bytes: int) -> bytes:
    stream = b""
    for data, bulk in items:
        for header, payload in fragments(data, bulk=bulk, fragment_bytes=fragment_bytes):
            stream += header + payload
    return stream


def feed_in_pieces(decoder: FrameDecoder, stream: bytes, random: Random) -> list[bytearray]:
    found, position = [], 0
    while position < len(stream):
        step = random.choice([1, 2, 3, 5, 100, 5000])
        found += decoder.feed(stream[position : position + step])
        position += step
    return found


@given(messages, st.integers(1, 4000), st.integers(0, 2**32))
def test_messages_survive_any_cutting(items, fragment_bytes, seed):
    decoder = FrameDecoder()
    found = feed_in_pieces(decoder, as_stream(items, fragment_bytes), Random(seed))
    assert found == [data for data, _ in items]
    assert decoder.pending_bytes == 0


@given(st.binary(min_size=1, max_size=2000), st.lists(st.binary(max_size=200), min_size=1, max_size=10))
def test_control_may_overtake_bulk_between_fragments(bulk, controls):
    stream = b""
    pieces = fragments(bulk, bulk=True, fragment_bytes=max(1, len(bulk) // len(controls)))
    for index, (header, payload) in enumerate(pieces):
        if index < len(controls):
            stream += as_stream([(controls[index], False)], 64)
        stream += header + payload
    decoded = FrameDecoder().feed(stream)
    assert decoded[-1] == bulk
    assert decoded[:-1] == controls[: len(pieces)]


@given(st.binary(max_size=5000), st.integers(0, 2**32))
def test_arbitrary_bytes_raise_nothing_but_wire_problems_and_grow_nothing(data, seed):
    decoder = FrameDecoder()
    with contextlib.suppress(WireProblem):
        feed_in_pieces(decoder, data, Random(seed))
    assert decoder.pending_bytes <= len(data)


@given(
    st.lists(st.binary(max_size=300), max_size=20),
    st.lists(st.sampled_from([0, 1, 2, 3, 4, 5, 6, 7, 8, 255]), max_size=20),
)
def test_arbitrary_fragments_are_messages_or_wire_problems(payloads, flags):
    decoder = FrameDecoder()
    stream = b"".join(fragment_header(len(data), flag) + data for data, flag in zip(payloads, flags, strict=False))
    known = all(flag in {0, 1, 2, 3, 4, 6} for flag, _ in zip(flags, payloads, strict=False))
    if known:
        lasts = sum(1 for flag, _ in zip(flags, payloads, strict=False) if flag & FLAG_LAST)
        assert len(decoder.feed(stream)) == lasts
    else:
        with pytest.raises(WireProblem):
            decoder.feed(stream)


@pytest.mark.parametrize(
    ("flags", "limit"), [(0, CONTROL_BYTES_MAX), (FLAG_BULK, BULK_BYTES_MAX), (FLAG_BESIDE, BULK_BYTES_MAX)]
)
def test_oversized_message_is_refused_before_it_is_buffered(flags, limit):
    decoder = FrameDecoder()
    piece = bytes(min(limit, 32 * 1024))
    for _ in range(limit // len(piece)):
        assert decoder.feed(fragment_header(len(piece), flags) + piece) == []
    with pytest.raises(WireProblem):
        decoder.feed(fragment_header(1, flags))
    assert decoder.pending_bytes <= limit + 8


def test_a_fragment_beyond_the_limit_is_refused_by_its_header():
    with pytest.raises(WireProblem):
        FrameDecoder().feed(fragment_header(FRAGMENT_BYTES_MAX + 1, FLAG_BULK))


def test_an_empty_message_is_one_fragment():
    assert FrameDecoder().feed(fragment_header(0, FLAG_LAST)) == [bytearray()]


@given(small)
def test_messages_come_back_as_they_were(message):
    assert CODEC.decode(CODEC.encode(message)) == message


@given(st.binary(max_size=2000), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=8))
def test_a_payload_is_a_view_of_what_arrived(payload, numbers):
    data = bytearray(CODEC.encode(Large(tuple(numbers), memoryview(payload))))
    message = CODEC.decode(data)
    assert isinstance(message, Large)
    assert bytes(message.payload) == payload
    assert message.payload.obj is data


@given(st.binary(max_size=500))
def test_arbitrary_bytes_are_a_message_or_a_wire_problem(data):
    with contextlib.suppress(WireProblem):
        assert isinstance(CODEC.decode(data), Small | Large)


json_like = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.binary(max_size=30)
    | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=10), inner, max_size=5),
    max_leaves=20,
)


@given(st.lists(json_like, max_size=4) | json_like)
def test_wrong_fields_are_wire_problems(fields):
    if isinstance(fields, list):
        fields = ["test.small", *fields]
    try:
        message = CODEC.decode(msgspec.msgpack.encode(fields))
    except WireProblem:
        return
    assert isinstance(message, Small)
    assert 0 <= message.number <= 1000
    assert len(message.name) <= 20


@given(small, st.integers(0, 100), st.integers(1, 255))
def test_a_flipped_byte_is_a_message_or_a_wire_problem(message, place, change):
    data = bytearray(CODEC.encode(message))
    data[place % len(data)] ^= change
    with contextlib.suppress(WireProblem):
        assert isinstance(CODEC.decode(data), Small | Large)


def test_deep_nesting_is_a_wire_problem():
    with pytest.raises(WireProblem):
        CODEC.decode(b"\x91" * 100_000 + b"\xc0")
    fields = msgspec.msgpack.encode(Small(5, "x"))
    unknown = bytes([fields[0] + 1]) + fields[1:] + b"\x91" * 50_000 + b"\xc0"
    with pytest.raises(WireProblem):
        CODEC.decode(unknown)


def test_an_unknown_message_is_a_wire_problem():
    with pytest.raises(WireProblem):
        MessageCodec([Small]).decode(CODEC.encode(Large((), memoryview(b""))))
