"""What every codec must do.  A new codec: one line in `CODECS`, and one in `BOUNDS` that states its error."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from core.averaging.codecs import CODECS
from core.base.problems import RemoteProblem

Vector = NDArray[np.float32]

BOUNDS: dict[str, Callable[[Vector], NDArray[np.float64]]] = {
    "raw": lambda x: np.zeros(x.shape),
    "fp16": lambda x: np.maximum(np.abs(x).astype(np.float64) * 2.0**-11, 2.0**-25),
}
"""Largest error of each number, for numbers of at most 60,000."""

vectors = hnp.arrays(np.float32, st.integers(1, 300), elements=st.floats(-60_000, 60_000, width=32, allow_nan=False))


def decoded(name: str, payload: memoryview, numel: int) -> Vector:
    out = np.full(numel, np.nan, dtype=np.float32)
    CODECS[name].decode_into(payload, out)
    return out


def test_every_codec_states_its_error() -> None:
    assert BOUNDS.keys() == CODECS.keys()


@pytest.mark.parametrize("name", CODECS)
@settings(max_examples=50, deadline=None)
@given(values=vectors)
def test_error_is_within_the_bound(name: str, values: Vector) -> None:
    before = values.copy()
    result = decoded(name, CODECS[name].encode(values), values.size)
    assert np.all(np.abs(result.astype(np.float64) - values) <= BOUNDS[name](values))
    assert values.tobytes() == before.tobytes()


@pytest.mark.parametrize("name", CODECS)
@settings(max_examples=50, deadline=None)
@given(values=vectors)
def test_what_was_decoded_survives_another_time(name: str, values: Vector) -> None:
    """A member repeats means that it has decoded; the copies must be bit-identical."""
    once = decoded(name, CODECS[name].encode(values), values.size)
    twice = decoded(name, CODECS[name].encode(once), values.size)
    assert once.tobytes() == twice.tobytes()


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("numel", [0, 1, 2, 255, 256, 65_536])
def test_length_is_as_announced(name: str, numel: int) -> None:
    payload = CODECS[name].encode(np.ones(numel, dtype=np.float32))
    assert payload.nbytes == len(payload) == CODECS[name].wire_bytes(numel)
    assert payload.format == "B"


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("change", [-1, 1, 7, None])
def test_another_length_is_refused_and_nothing_written(name: str, change: int | None) -> None:
    length = 0 if change is None else CODECS[name].wire_bytes(64) + change
    out = np.full(64, 7.0, dtype=np.float32)
    with pytest.raises(RemoteProblem):
        CODECS[name].decode_into(memoryview(bytes(length)), out)
    assert np.all(out == 7.0)


@pytest.mark.parametrize("name", CODECS)
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_any_bytes_of_the_right_length_decode(name: str, data: st.DataObject) -> None:
    length = CODECS[name].wire_bytes(16)
    decoded(name, memoryview(data.draw(st.binary(min_size=length, max_size=length))), 16)


@pytest.mark.parametrize("name", CODECS)
def test_payload_may_be_misaligned_and_the_target_a_slice(name: str) -> None:
    values = np.linspace(-1, 1, 33, dtype=np.float32)
    payload = CODECS[name].encode(values)
    shifted = memoryview(b"x" + bytes(payload))[1:]
    target = np.zeros(50, dtype=np.float32)
    CODECS[name].decode_into(shifted, target[10:43])
    assert target[10:43].tobytes() == decoded(name, payload, 33).tobytes()
    assert not target[:10].any()
    assert not target[43:].any()


@pytest.mark.parametrize("name", CODECS)
def test_read_only_and_huge_values_encode(name: str) -> None:
    values = np.array([3e38, -3e38, 0.0, 1e-40], dtype=np.float32)
    values.flags.writeable = False
    assert np.all(np.isfinite(decoded(name, CODECS[name].encode(values), 4)))
