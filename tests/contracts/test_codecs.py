"""What every codec must do.  A new codec: one line in `CODECS`, and one in `BOUNDS` that states its error."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from core.base.problems import BadInput, RemoteProblem
from core.codecs.adaptive import SMALL_NUMEL_MAX
from core.codecs.codec import Codec
from core.codecs.registry import CODEC_NAMES, check_codec, codec_of, number_bytes
from core.codecs.topk import KEPT_PART

Vector = NDArray[np.float32]
Errors = NDArray[np.float64]

LARGE = SMALL_NUMEL_MAX + 1
LAYOUT = (100, 50, LARGE, 70, LARGE, LARGE)
"""Layout of what the adaptive codec encodes: from 0 on 150 numbers in half precision, then eight bits, and so on."""
BLOCKS = {"u8": 1024, "b8": 4096, "q4": 64}


def peaks(x: Vector, block: int) -> Errors:
    """The largest magnitude of each number's block."""
    magnitudes = np.abs(x.astype(np.float64))
    padded = np.pad(magnitudes, (0, -x.size % block)).reshape(-1, block)
    return np.repeat(padded.max(axis=1), block)[: x.size]


def fp16_bound(x: Vector) -> Errors:
    return np.maximum(np.abs(x).astype(np.float64) * 2.0**-11, np.abs(x).max(initial=0) * 2.0**-39)


def u8_bound(x: Vector) -> Errors:
    """Half a step; the step is rounded by at most 2^-10 of itself, the quotient is off by at most 127 * 2^-22 steps."""
    return np.maximum(peaks(x, BLOCKS["u8"]) / 127 * (1 + 2.0**-10), 2.0**-126) * (0.5 + 2.0**-15)


def smallest_kept(x: Vector) -> float:
    """The smallest magnitude of those that a top-k codec must send."""
    return float(np.sort(np.abs(x))[x.size - (x.size + KEPT_PART - 1) // KEPT_PART]) if x.size else 0.0


def adaptive_bound(x: Vector) -> Errors:
    return np.concatenate([fp16_bound(x[:150]), u8_bound(x[150:])])


BOUNDS: dict[str, Callable[[Vector], Errors]] = {
    "raw": lambda x: np.zeros(x.shape),
    "fp16": fp16_bound,
    "bf16": lambda x: np.maximum(np.abs(x).astype(np.float64) * 2.0**-8, 2.0**-134),
    "u8": u8_bound,
    "b8": lambda x: np.maximum(peaks(x, BLOCKS["b8"]) * 0.009, 2.0**-126),
    "q4": lambda x: np.maximum(peaks(x, BLOCKS["q4"]) / 7 * (1 + 2.0**-8), 2.0**-126) * (0.5 + 2.0**-15),
    "topk": lambda x: np.maximum(np.where(np.abs(x) > smallest_kept(x), np.abs(x) * 2.0**-8, np.abs(x)), 2.0**-126),
    "adaptive": adaptive_bound,
}
"""Largest error of each number, for numbers of at most 60,000 at the beginning of a vector."""

vectors = hnp.arrays(np.float32, st.integers(0, 300), elements=st.floats(-60_000, 60_000, width=32, allow_nan=False))
seeds = st.integers(0, 2**32 - 1)


SHORTER = {"topk"}
"""Codecs whose payloads may be shorter than the longest."""


def codec(name: str) -> Codec:
    return codec_of(name, LAYOUT)


def decoded(name: str, payload: memoryview, numel: int, start: int = 0) -> Vector:
    out = np.full(numel, np.nan, dtype=np.float32)
    codec(name).decode_into(payload, out, start)
    return out


def decoded_or_refused(name: str, payload: memoryview, numel: int) -> None:
    """Bytes of a stranger."""
    out = np.full(numel, 7.0, dtype=np.float32)
    try:
        codec(name).decode_into(payload, out)
    except RemoteProblem:
        assert name in SHORTER
        assert np.all(out == 7.0)


def wild(seed: int, numel: int) -> Vector:
    """Numbers of all magnitudes, blocks of zeros, subnormal numbers, and some of the largest."""
    chance = np.random.default_rng(seed)
    exponents = chance.integers(-149, 128, size=-(-numel // 64)).repeat(64)[:numel]
    x = chance.standard_normal(numel) * np.exp2(exponents.astype(np.float64) + chance.integers(-8, 8, size=numel))
    x[chance.random(numel) < 0.1] = 0.0
    largest = float(np.finfo(np.float32).max)
    x[chance.random(numel) < 0.001] = largest
    return np.clip(x, -largest, largest).astype(np.float32)


def test_every_codec_states_its_error() -> None:
    assert tuple(BOUNDS) == CODEC_NAMES


@pytest.mark.parametrize("name", CODEC_NAMES)
@settings(max_examples=50, deadline=None)
@given(values=vectors)
def test_error_is_within_the_bound(name: str, values: Vector) -> None:
    before = values.copy()
    result = decoded(name, codec(name).encode(values), values.size)
    assert np.all(np.abs(result.astype(np.float64) - values) <= BOUNDS[name](values))
    assert values.tobytes() == before.tobytes()


@pytest.mark.parametrize("name", CODEC_NAMES)
@settings(max_examples=20, deadline=None)
@given(seed=seeds, exponent=st.integers(-140, 10), numel=st.sampled_from([1023, 4096, 9001]))
def test_error_of_many_blocks_is_within_the_bound(name: str, seed: int, exponent: int, numel: int) -> None:
    values = (np.random.default_rng(seed).standard_t(3, numel) * 2.0**exponent).clip(-60_000, 60_000).astype(np.float32)
    result = decoded(name, codec(name).encode(values), values.size)
    assert np.all(np.abs(result.astype(np.float64) - values) <= BOUNDS[name](values))


@pytest.mark.parametrize("name", CODEC_NAMES)
@settings(max_examples=50, deadline=None)
@given(values=vectors)
def test_what_was_decoded_survives_another_time(name: str, values: Vector) -> None:
    """A member repeats means that it has decoded; the copies must be bit-identical."""
    once = decoded(name, codec(name).encode(values), values.size)
    twice = decoded(name, codec(name).encode(once), values.size)
    assert once.tobytes() == twice.tobytes()


@pytest.mark.parametrize("name", CODEC_NAMES)
@settings(max_examples=30, deadline=None)
@given(seed=seeds, numel=st.sampled_from([1, 63, 4097, 20_001]))
def test_wild_numbers_that_were_decoded_survive_too(name: str, seed: int, numel: int) -> None:
    once = decoded(name, codec(name).encode(wild(seed, numel)), numel)
    assert np.isfinite(once).all()
    assert once.tobytes() == decoded(name, codec(name).encode(once), numel).tobytes()


@pytest.mark.parametrize("name", CODEC_NAMES)
@pytest.mark.parametrize("numel", [0, 1, 2, 255, 256, 4095, 4097, 65_536, 65_537])
def test_length_is_as_announced(name: str, numel: int) -> None:
    payload = codec(name).encode(np.ones(numel, dtype=np.float32))
    assert payload.nbytes == len(payload) <= codec(name).max_bytes(numel)
    assert name in SHORTER or payload.nbytes == codec(name).max_bytes(numel)
    assert payload.format == "B"


@pytest.mark.parametrize("name", CODEC_NAMES)
@pytest.mark.parametrize("change", [-1, 1, 7, None])
def test_another_length_is_refused_and_nothing_written(name: str, change: int | None) -> None:
    length = 0 if change is None else codec(name).max_bytes(64) + change
    if change is None and name in SHORTER:
        length = 1
    out = np.full(64, 7.0, dtype=np.float32)
    with pytest.raises(RemoteProblem):
        codec(name).decode_into(memoryview(bytes(length)), out)
    assert np.all(out == 7.0)


@pytest.mark.parametrize("name", CODEC_NAMES)
@settings(max_examples=50, deadline=None)
@given(data=st.data(), numel=st.sampled_from([0, 15, 16, 200]))
def test_any_bytes_of_the_right_length_decode(name: str, data: st.DataObject, numel: int) -> None:
    length = codec(name).max_bytes(numel)
    decoded_or_refused(name, memoryview(data.draw(st.binary(min_size=length, max_size=length))), numel)


@pytest.mark.parametrize("name", CODEC_NAMES)
@pytest.mark.parametrize("fill", [0x00, 0x7F, 0x80, 0xFF])
def test_hostile_scales_decode_without_a_warning(name: str, fill: int) -> None:
    length = codec(name).max_bytes(5000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decoded_or_refused(name, memoryview(bytes([fill]) * length), 5000)


@pytest.mark.parametrize("name", CODEC_NAMES)
@pytest.mark.parametrize("what", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_seen_by_the_receiver(name: str, what: float) -> None:
    values = np.ones(5000, dtype=np.float32)
    values[[3, 4700]] = what
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = decoded(name, codec(name).encode(values), 5000)
    assert not np.isfinite(result).all()


@pytest.mark.parametrize("name", CODEC_NAMES)
def test_payload_may_be_misaligned_and_the_target_a_slice(name: str) -> None:
    values = np.linspace(-1, 1, 33, dtype=np.float32)
    payload = codec(name).encode(values)
    shifted = memoryview(b"x" + bytes(payload))[1:]
    target = np.zeros(50, dtype=np.float32)
    codec(name).decode_into(shifted, target[10:43])
    assert target[10:43].tobytes() == decoded(name, payload, 33).tobytes()
    assert not target[:10].any()
    assert not target[43:].any()


@pytest.mark.parametrize("name", CODEC_NAMES)
def test_read_only_and_huge_values_encode(name: str) -> None:
    values = np.array([3.4028235e38, -3.4028235e38, 0.0, 1e-40], dtype=np.float32)
    values.flags.writeable = False
    assert np.all(np.isfinite(decoded(name, codec(name).encode(values), 4)))


@pytest.mark.parametrize("name", CODEC_NAMES)
def test_zeros_stay_zeros(name: str) -> None:
    assert not decoded(name, codec(name).encode(np.zeros(9000, dtype=np.float32)), 9000).any()


def test_names_that_no_codec_has_are_refused() -> None:
    with pytest.raises(BadInput, match="'zstd'"):
        check_codec("zstd")
    with pytest.raises(ValueError, match="zstd"):
        codec_of("zstd")
    with pytest.raises(ValueError, match="sizes"):
        codec_of("adaptive")
    for name in CODEC_NAMES:
        check_codec(name)


# --- relative errors, of one part and of a whole weighted mean ------------------------------------------------------

NUMEL = 1 << 17


def normal(seed: int) -> Vector:
    return np.random.default_rng(seed).standard_normal(NUMEL, dtype=np.float32)


def heavy(seed: int) -> Vector:
    """Student's t with 3 degrees of freedom, in rows of differing scale, as gradients are."""
    chance = np.random.default_rng(seed)
    rows = np.exp(np.random.default_rng(0).standard_normal(NUMEL // 512)).repeat(512)
    return (chance.standard_t(3, NUMEL) * rows).astype(np.float32)


def relative(name: str, x: Vector) -> float:
    result = decoded_large(name, x)
    return float(np.linalg.norm(result.astype(np.float64) - x) / np.linalg.norm(x.astype(np.float64)))


def decoded_large(name: str, x: Vector) -> Vector:
    """All of it as one tensor of the large kind."""
    one = codec_of(name, (x.size,))
    out = np.empty_like(x)
    one.decode_into(one.encode(x), out)
    return out


def relative_of_mean(name: str, parts: list[Vector]) -> float:
    """Error of a round, in which each part is encoded except the reducer's own, and so is the mean."""
    weights = np.arange(10, 10 + len(parts), dtype=np.float64)
    weights /= weights.sum()
    share = NUMEL // len(parts)
    exact = sum(w * part.astype(np.float64) for w, part in zip(weights, parts, strict=True))
    mean = np.zeros(NUMEL, dtype=np.float32)
    for index, (w, part) in enumerate(zip(weights, parts, strict=True)):
        sent = decoded_large(name, part)
        own = slice(index * share, (index + 1) * share)
        sent[own] = part[own]
        mean += np.float32(w) * sent
    return float(np.linalg.norm(decoded_large(name, mean) - exact) / np.linalg.norm(exact))


PART_MAX = {"raw": (0, 0), "fp16": (2.5e-4, 2.5e-4), "bf16": (2e-3, 2e-3)} | {
    "u8": (0.0085, 0.04),
    "b8": (0.014, 0.023),
    "q4": (0.115, 0.23),
    "topk": (0.9, 0.75),
    "adaptive": (0.0085, 0.04),
}
"""Largest relative error of a part, normal and heavy-tailed."""


@pytest.mark.parametrize("name", CODEC_NAMES)
def test_relative_error_of_a_part(name: str) -> None:
    assert relative(name, normal(1)) <= PART_MAX[name][0]
    assert relative(name, heavy(1)) <= PART_MAX[name][1]


@pytest.mark.parametrize("name", CODEC_NAMES)
@pytest.mark.parametrize("peers", [4, 8])
def test_relative_error_of_a_mean(name: str, peers: int) -> None:
    """Parts and mean each add their error: about the square root of 2 of a part's.  hivemind's 8 bits: 0.033, 0.055."""
    normal_max, heavy_max = (1.5 * bound + 2e-7 for bound in PART_MAX[name])
    error = relative_of_mean(name, [normal(seed) for seed in range(peers)])
    assert error <= normal_max
    assert relative_of_mean(name, [heavy(seed) for seed in range(peers)]) <= heavy_max
    if name in {"u8", "b8", "adaptive"}:
        assert error < 0.02


@pytest.mark.parametrize("name", CODEC_NAMES)
def test_what_a_number_takes_is_known_without_the_tensors(name: str) -> None:
    numel = 16 * LARGE
    assert number_bytes(name) == pytest.approx(codec_of(name, (numel,)).max_bytes(numel) / numel, rel=1e-3)


@pytest.mark.parametrize("name", CODEC_NAMES)
@settings(max_examples=60, deadline=None)
@given(
    seed=seeds,
    exponent=st.integers(-140, 10),
    numel=st.sampled_from([1, 63, 1024, 9001]),
    freedom=st.sampled_from([2, 100]),
)
def test_what_is_lost_is_within_the_stated_error(name: str, seed: int, exponent: int, numel: int, freedom: int) -> None:
    """Who has only what was decoded can tell how much of it encoding may have lost."""
    chance = np.random.default_rng(seed)
    values = (chance.standard_t(freedom, numel) * 2.0**exponent).clip(-60_000, 60_000).astype(np.float32)
    result = decoded(name, codec(name).encode(values), numel)
    lost = float(np.linalg.norm(result.astype(np.float64) - values))
    assert lost <= codec(name).error(result)


@pytest.mark.parametrize("name", sorted(set(CODEC_NAMES) - {"raw"}))
def test_stated_error_is_near_what_is_lost(name: str) -> None:
    values = np.random.default_rng(1).standard_normal(65_536).astype(np.float32)
    result = decoded(name, codec(name).encode(values), values.size)
    lost = float(np.linalg.norm(result.astype(np.float64) - values))
    assert lost <= codec(name).error(result) <= 3.5 * lost
