"""Chance by number, against the published values of SplitMix64 and against a plain loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.order.chance import key_of, pass_key_of, sample_seeds, stream, uniform

PUBLISHED = {
    0: [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC, 0x1B39896A51A8749B],
    1234567: [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ],
}
"""The first numbers of two seeds: those of Vigna's splitmix64.c."""


@pytest.mark.parametrize("seed", PUBLISHED)
def test_streams_are_those_of_splitmix64(seed: int) -> None:
    assert stream(seed, np.arange(5, dtype=np.uint64)).tolist() == PUBLISHED[seed]
    drawn = uniform(np.array(seed, np.uint64), np.arange(5))
    assert drawn.tolist() == [(number >> 11) / 2**53 for number in PUBLISHED[seed]]


@given(st.integers(0, 2**64 - 1), st.integers(0, 500), st.integers(0, 500))
def test_a_draw_does_not_depend_on_others(seed: int, begin: int, count: int) -> None:
    whole = uniform(np.array([[seed], [7]], np.uint64), np.arange(begin + count))
    part = uniform(np.array([[9], [seed]], np.uint64), np.arange(begin, begin + count))
    assert np.array_equal(whole[0, begin:], part[1])


def test_draws_are_uniform_across_samples_and_within_one() -> None:
    """Chi-square of 256 cells at a false alarm of one in a million; neighbours in a stream do not go together."""
    from scipy import stats

    limit = stats.chi2.ppf(1 - 1e-6, 255)
    seeds = sample_seeds(pass_key_of(b"c", 0, 0), np.repeat(np.arange(20), 500), np.tile(np.arange(500), 20))
    drawn = uniform(seeds[:, None], np.arange(40))
    for cells in (drawn, drawn[:, :1], drawn[:, 39:], uniform(seeds[:1], np.arange(100_000))):
        counts = np.bincount((cells.ravel() * 256).astype(int), minlength=256)
        assert stats.chisquare(counts).statistic < limit
    for one, other in ((drawn[:-1, 0], drawn[1:, 0]), (drawn[:, 0], drawn[:, 1])):
        assert abs(np.corrcoef(one, other)[0, 1]) < 6 / np.sqrt(len(one))


def test_samples_of_a_pass_have_different_seeds() -> None:
    shards, rows = np.divmod(np.arange(300_000), 1000)
    one = sample_seeds(pass_key_of(b"c", 0, 0), shards, rows)
    assert len(np.unique(one)) == len(one)
    for other in ((b"d", 0, 0), (b"c", 1, 0), (b"c", 0, 1)):
        assert not np.isin(one[:1000], sample_seeds(pass_key_of(*other), shards, rows)).any()


def test_a_sample_s_seed_is_that_of_its_batch() -> None:
    seeds = sample_seeds(pass_key_of(b"c", 3, 5), np.array([4, 65_535]), np.array([10, 2**39]))
    assert sample_seeds(pass_key_of(b"c", 3, 5), np.array([4]), np.array([10])) == seeds[:1]
    assert sample_seeds(pass_key_of(b"c", 3, 5), np.array([65_535]), np.array([2**39])) == seeds[1:]


def test_keys_tell_names_apart() -> None:
    names = [(b"a", b"bc"), (b"ab", b"c"), (b"abc",), (1, 2), (2, 1), (12,), (-1,), (b"a", 1)]
    assert len({key_of(*name) for name in names}) == len(names)
