"""Arbitrary bytes on a stream, against another way to read them."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.problems import WireProblem
from core.base.wire import BULK_BYTES_MAX, CONTROL_BYTES_MAX, FRAGMENT_BYTES_MAX, FrameDecoder

LENGTHS = st.one_of(
    st.integers(0, 40),
    st.sampled_from([30_000, CONTROL_BYTES_MAX, CONTROL_BYTES_MAX + 1, FRAGMENT_BYTES_MAX, FRAGMENT_BYTES_MAX + 1]),
)
FRAGMENTS = st.lists(st.tuples(st.sampled_from([0, 1, 2, 3, 3, 2, 4, 6, 5, 8, 255]), LENGTHS), max_size=12)


def messages(data: bytes) -> tuple[list[bytes], bool]:
    """The whole stream at once: its messages, and whether it breaks a rule after them."""
    parts, found, at = {0: b"", 1: b"", 4: b""}, [], 0
    while len(data) >= at + 4:
        flags, length = data[at], int.from_bytes(data[at + 1 : at + 4])
        channel, at = flags & 253, at + 4
        limit = BULK_BYTES_MAX if channel else CONTROL_BYTES_MAX
        if channel not in parts or length > FRAGMENT_BYTES_MAX or len(parts[channel]) + length > limit:
            return found, True
        if len(data) < at + length:
            break
        parts[channel], at = parts[channel] + data[at : at + length], at + length
        if flags & 2:
            found.append(parts[channel])
            parts[channel] = b""
    return found, False


@settings(max_examples=200, deadline=None)
@given(FRAGMENTS, st.integers(0, 2**32), st.sampled_from([1, 3, 7, 1000, 70_000, 10**7]), st.integers(0, 9))
def test_any_stream_in_any_pieces_gives_the_same_messages(
    fragments: list[tuple[int, int]], seed: int, piece_bytes: int, cut: int
) -> None:
    random = Random(seed)
    stream = b"".join(bytes((flags,)) + n.to_bytes(3) + random.randbytes(n) for flags, n in fragments)
    stream = stream[: len(stream) - cut] if cut else stream
    piece_bytes = piece_bytes if len(stream) < 5000 else max(1000, piece_bytes)
    expected, broken = messages(stream)
    decoder, found, failed, at = FrameDecoder(), list[bytes](), False, 0
    while at < len(stream) and not failed:
        count = random.randint(1, piece_bytes)
        try:
            for message in decoder.feed(stream[at : at + count]):
                found.append(bytes(message))
                message.clear()  # the receiver may change it
        except WireProblem:
            failed = True
        at += count
    assert failed == broken
    assert found == (expected[: len(found)] if broken else expected)
    assert decoder.pending_bytes <= 2 * BULK_BYTES_MAX + CONTROL_BYTES_MAX + 4
