"""Half precision with a scale, against numpy's own conversion: every half there is, and the numbers between them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from core.codecs.halves import NO_SCALE, SCALES
from core.codecs.registry import CODECS

FP16 = CODECS["fp16"]
HALVES = np.arange(65_536, dtype="<u2")
FINITE = HALVES[(HALVES & 0x7C00) != 0x7C00]
LARGEST = 65_504 * 2.0**14
"""The largest number that is sent as it is."""


def payload(halves: NDArray[np.uint16], scale: int) -> bytes:
    return halves.tobytes() + np.array([scale], dtype="<i2").tobytes()


def expected(values: NDArray[np.float32]) -> bytes:
    """What numpy makes of them over the scale, when subnormal halves have been rounded to multiples of 2^-37."""
    exact = np.clip(values, -LARGEST, LARGEST).astype(np.float64)
    peak = float(np.abs(exact).max())
    scale = SCALES.start
    while np.float64(np.float16(min(peak / 2.0**scale, 65_504.0))) * 2.0**scale < peak * (1 - 2.0**-11):
        scale += 1  # the least that makes the largest fit
    exact /= 2.0**scale
    small = np.abs(exact) < 2.0**-14
    exact[small] = np.copysign(np.rint(exact[small] * 2.0**37) / 2.0**37, exact[small])
    return payload(exact.astype("<f2").view("<u2"), scale)


@pytest.mark.parametrize("scale", [SCALES.start, -40, 0, SCALES.stop - 1])
def test_every_half_is_decoded_exactly(scale: int) -> None:
    out = np.empty(FINITE.size, dtype=np.float32)
    FP16.decode_into(memoryview(payload(FINITE, scale)), out)
    assert np.array_equal(out, (FINITE.view("<f2").astype(np.float64) * 2.0**scale).astype(np.float32))


@pytest.mark.parametrize("scale", [-140, -40, 0, SCALES.stop - 1])
def test_every_half_is_encoded_as_itself(scale: int) -> None:
    values = (FINITE.view("<f2").astype(np.float64) * 2.0**scale).astype(np.float32)
    exact = values.astype(np.float64) == FINITE.view("<f2").astype(np.float64) * 2.0**scale
    given = np.frombuffer(FP16.encode(values), dtype="<u2")
    assert given[-1].astype("<u2").view("<i2") == scale
    assert np.array_equal(given[:-1][exact], FINITE[exact])


@pytest.mark.parametrize("nudge", [-1, 0, 1])
def test_halfway_between_two_halves_the_even_one_is_taken(nudge: int) -> None:
    halves = FINITE.view("<f2").astype(np.float64)
    positive = np.sort(halves[halves >= 0])
    between = ((positive[1:] + positive[:-1]) / 2).astype(np.float32)
    values = between if not nudge else np.nextafter(between, np.float32(nudge * np.inf))
    values = np.concatenate([values, -values]).astype(np.float32)
    assert bytes(FP16.encode(values)) == expected(values)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_decodes_to_no_numbers(odd: float) -> None:
    given = FP16.encode(np.array([1.0, odd, -2.0], dtype=np.float32))
    out = np.zeros(3, dtype=np.float32)
    FP16.decode_into(given, out)
    assert np.isnan(out).all()
    assert np.frombuffer(given, dtype="<u2")[-1] == NO_SCALE


@pytest.mark.parametrize("scale", [1e-45, 1e-38, 1e-20, 1e-9, 1e-6, 1e-4, 1.0, 1e4, 1e8, 1e12, 1e38])
def test_numbers_of_any_size_are_encoded_as_numpy_does(scale: float) -> None:
    numbers = np.random.default_rng(3).standard_normal(10_000) * scale
    values = np.clip(numbers, -3e38, 3e38).astype(np.float32)
    assert bytes(FP16.encode(values)) == expected(values)
    assert bytes(FP16.encode(values[::3])) == expected(values[::3])


@pytest.mark.parametrize("size", [1e-30, 1e-9, 1e-6, 1.0, 1e6])
def test_relative_error_is_the_same_for_numbers_of_every_size(size: float) -> None:
    values = (np.random.default_rng(4).standard_normal(100_000) * size).astype(np.float32)
    out = np.empty_like(values)
    FP16.decode_into(FP16.encode(values), out)
    assert np.linalg.norm(out.astype(np.float64) - values) < 2.5e-4 * np.linalg.norm(values.astype(np.float64))
