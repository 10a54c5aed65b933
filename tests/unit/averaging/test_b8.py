"""The dynamic map and how codes are looked up."""

import numpy as np

from core.codecs.b8 import Dynamic8, dynamic_map


def test_the_map_is_that_of_the_paper() -> None:
    """Made here in another way: for each decade, the middles of equal parts of what lies between its ends."""
    numbers = {0.0, 1.0}
    for zeros in range(7):
        parts = 2 ** (6 - zeros)
        for part in range(parts):
            middle = (0.1 + 0.9 * (part + 0.5) / parts) * 10.0**-zeros
            numbers |= {middle, -middle}
    assert len(numbers) == 256
    np.testing.assert_allclose(dynamic_map(), sorted(numbers), rtol=1e-6)


def test_each_code_encodes_to_itself_despite_a_lost_bit() -> None:
    codes = Dynamic8()._codes
    numbers = dynamic_map()
    for shift in (-4, 0, 4):
        bits = numbers.view(np.int32) + np.int32(shift)
        bits[numbers == 0] = 0
        assert np.array_equal(codes[bits.view(np.uint32) >> 16], np.arange(256))


def test_codes_are_nearly_the_nearest() -> None:
    """Against brute force: no number is further from its code than from the nearest by more than its bucket's width."""
    x = np.random.default_rng(5).uniform(-1, 1, 20_000).astype(np.float32) ** 5
    x[0] = 1.0
    table = dynamic_map().astype(np.float64)
    nearest = np.abs(x[:, None] - table[None, :]).min(axis=1)
    out = np.empty_like(x)
    codec = Dynamic8()
    for begin in range(1, x.size, 4095):
        block = np.concatenate([x[:1], x[begin : begin + 4095]])
        out = np.empty_like(block)
        codec.decode_into(codec.encode(block), out)
        error = np.abs(out[1:].astype(np.float64) - block[1:])
        excess = error - nearest[begin : begin + 4095]
        assert np.all(excess <= np.abs(block[1:]) * 2.0**-7 + 1e-7)
        assert np.mean(excess > 1e-6) < 0.2
    assert nearest.max() < 0.0071
