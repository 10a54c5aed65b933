import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.problems import WireProblem
from core.workers import frames


def test_a_frame_arrives_as_it_was_sent() -> None:
    sent = frames.Absorb(round=b"r", epoch=3, lineage=b"l")
    data = frames.encode_frame(sent)
    assert frames.frame_length(data[: frames.LENGTH_BYTES]) == len(data) - frames.LENGTH_BYTES
    assert frames.frame_decoder(frames.ToWorker).decode(data[frames.LENGTH_BYTES :]) == sent


def test_a_frame_of_the_other_direction_is_refused() -> None:
    data = frames.encode_frame(frames.Go())
    with pytest.raises(msgspec.ValidationError):
        frames.frame_decoder(frames.ToEngine).decode(data[frames.LENGTH_BYTES :])


@given(st.integers(0, 2**32 - 1))
def test_no_frame_is_longer_than_the_limit(length: int) -> None:
    header = length.to_bytes(4, "big")
    if length <= frames.FRAME_BYTES_MAX:
        assert frames.frame_length(header) == length
    else:
        with pytest.raises(WireProblem):
            frames.frame_length(header)
