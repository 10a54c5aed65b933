"""Differences from a common vector."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.averaging.codecs import CODECS, Codec, Relative
from core.averaging.codecs.raw import Raw
from core.averaging.codecs.relative import SETTLE_MAX
from core.base.problems import RemoteProblem

NAMES = ["fp16", "bf16", "u8", "b8", "q4"]
NUMEL = 10_000


def mean_error(name: str, *, relative: bool) -> float:
    """Of parameters of 4 peers that stand a thousandth apart, encoded on their way in and out; against float64."""
    chance = np.random.default_rng(3)
    reference = chance.standard_normal(NUMEL, dtype=np.float32)
    peers = [reference + 1e-3 * chance.standard_normal(NUMEL, dtype=np.float32) for _ in range(4)]
    exact = np.mean([peer.astype(np.float64) for peer in peers], axis=0)
    codec = Relative(CODECS[name], reference) if relative else CODECS[name]
    mean, sent = np.zeros(NUMEL, dtype=np.float32), np.empty(NUMEL, dtype=np.float32)
    for peer in peers:
        codec.decode_into(codec.encode(peer), sent)
        mean += sent / 4
    codec.decode_into(codec.encode(mean), sent)
    return float(np.linalg.norm(sent - exact) / np.linalg.norm(exact))


@pytest.mark.parametrize("name", NAMES)
def test_parameters_that_are_near_each_other_average_more_exactly(name: str) -> None:
    assert mean_error(name, relative=True) < 1.5e-7 + mean_error(name, relative=False) / 300


@pytest.mark.parametrize("name", ["raw", *NAMES])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), exponent=st.integers(-40, 4), start=st.integers(0, 50))
def test_what_was_decoded_survives_another_time(name: str, seed: int, exponent: int, start: int) -> None:
    """Also where the differences are about as small as the reference's last bits."""
    chance = np.random.default_rng(seed)
    reference = (chance.standard_normal(3000) * 2.0 ** chance.integers(-3, 3, 3000)).astype(np.float32)
    numel = 2900
    values = reference[start : start + numel] + np.float32(2.0**exponent) * chance.standard_normal(numel).astype("f4")
    codec = Relative(CODECS[name], reference)
    payload = codec.encode(values, start)
    assert payload.nbytes == codec.wire_bytes(numel, start)
    once, twice = np.empty(numel, dtype=np.float32), np.empty(numel, dtype=np.float32)
    codec.decode_into(payload, once, start)
    codec.decode_into(codec.encode(once, start), twice, start)
    assert once.tobytes() == twice.tobytes()
    CODECS[name].decode_into(payload, twice)
    direct = twice + reference[start : start + numel]
    step = np.abs(values - reference[start : start + numel]).max()
    assert np.abs(once - direct).max() <= max(step * 2.0**-6, 2.0**-20), "it settled far away"


class Counting(Raw):
    """Counts how often it encodes."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.encoded = 0

    def encode(self, values: np.ndarray, start: int = 0) -> memoryview:
        self.encoded += 1
        return self.codec.encode(values, start)

    def decode_into(self, payload: memoryview, out: np.ndarray, start: int = 0) -> None:
        self.codec.decode_into(payload, out, start)


@pytest.mark.parametrize("name", ["raw", *NAMES])
def test_it_settles_soon(name: str) -> None:
    chance = np.random.default_rng(9)
    reference = (chance.standard_normal(NUMEL) * 2.0 ** chance.integers(-5, 5, NUMEL)).astype(np.float32)
    most = 0
    for exponent in range(-30, 4):
        counting = Counting(CODECS[name])
        codec = Relative(counting, reference)
        payload = codec.encode(reference + np.float32(2.0**exponent) * chance.standard_normal(NUMEL).astype("f4"))
        codec.decode_into(payload, np.empty(NUMEL, dtype=np.float32))
        most = max(most, counting.encoded - 1)
    assert most <= SETTLE_MAX // 2


def test_hostile_payloads() -> None:
    codec = Relative(CODECS["u8"], np.ones(64, dtype=np.float32))
    out = np.full(64, 7, dtype=np.float32)
    with pytest.raises(RemoteProblem):
        codec.decode_into(memoryview(bytes(5)), out)
    assert np.all(out == 7)
    codec.decode_into(memoryview(b"\xff" * codec.wire_bytes(64)), out)
    assert not np.isfinite(out).any()
