"""Half precision against numpy's own conversion: every half there is, and the numbers between them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from core.averaging.codecs.registry import CODECS

FP16 = CODECS["fp16"]
HALVES = np.arange(65_536, dtype="<u2")
FINITE = HALVES[(HALVES & 0x7C00) != 0x7C00]


def expected(values: NDArray[np.float32]) -> bytes:
    """What numpy makes of them, when those that become subnormal halves have been rounded to multiples of 2^-37."""
    exact = np.clip(values, -65_504, 65_504).astype(np.float64)
    small = np.abs(exact) < 2.0**-14
    exact[small] = np.copysign(np.rint(exact[small] * 2.0**37) / 2.0**37, exact[small])
    return exact.astype("<f2").tobytes()


@pytest.mark.parametrize("halves", [FINITE, HALVES, FINITE[::-1]], ids=["finite", "all", "strided"])
def test_every_half_is_decoded_exactly(halves: NDArray[np.uint16]) -> None:
    out = np.empty(halves.size, dtype=np.float32)
    FP16.decode_into(memoryview(halves.tobytes()), out)
    assert out.tobytes() == halves.view("<f2").astype(np.float32).tobytes()


def test_every_half_is_encoded_as_itself() -> None:
    values = FINITE.view("<f2").astype(np.float32)
    assert bytes(FP16.encode(values)) == FINITE.tobytes()


@pytest.mark.parametrize("nudge", [-1, 0, 1])
def test_halfway_between_two_halves_the_even_one_is_taken(nudge: int) -> None:
    halves = FINITE.view("<f2").astype(np.float64)
    positive = np.sort(halves[halves >= 0])
    between = ((positive[1:] + positive[:-1]) / 2).astype(np.float32)
    values = between if not nudge else np.nextafter(between, np.float32(nudge * np.inf))
    values = np.concatenate([values, -values]).astype(np.float32)
    assert bytes(FP16.encode(values)) == expected(values)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 65_505.0, 65_520.0, -1e30])
def test_numbers_out_of_range_encode_as_numpy_does_after_clipping(odd: float) -> None:
    values = np.array([1.0, odd, -2.0], dtype=np.float32)
    assert bytes(FP16.encode(values)) == expected(values)


@pytest.mark.parametrize("scale", [1e-45, 1e-38, 1e-8, 1e-6, 1e-4, 1.0, 1e4])
def test_numbers_of_any_size_are_encoded_as_numpy_does(scale: float) -> None:
    values = (np.random.default_rng(3).standard_normal(10_000) * scale).astype(np.float32)
    assert bytes(FP16.encode(values)) == expected(values)
    assert bytes(FP16.encode(values[::3])) == expected(values[::3])
