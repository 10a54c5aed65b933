"""CenteredClip: its fixed point, found in another way, and what one sender can do to it in a round."""

from functools import partial

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize

from core.averaging.aggregators import AGGREGATORS, CenteredClip, PartFacts
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.plan import Plan, leveled
from core.averaging.weights import LEAD
from core.base.machine import Trace
from core.codecs.registry import codec_of
from tests.unit.averaging.pump import Round, make_plan

Rows = NDArray[np.float64]
NUMEL = 40
CHUNK = 1024
seeds = st.integers(0, 2**32 - 1)
counts = st.lists(st.integers(1, 500), min_size=3, max_size=16)


def drawn(samples: list[int], seed: int) -> Rows:
    """A common part, and noise that is less where there are more samples; some parts are far off."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal(NUMEL) + random.standard_normal((len(samples), NUMEL)) / np.sqrt(samples)[:, None]
    rows[: len(samples) // 3] *= random.uniform(-50, 50, (len(samples) // 3, 1))
    return rows.astype(np.float32).astype(np.float64)


def clipped(rows: Rows, samples: list[int], *, clip: float = 1.0, typical: float = 0.0) -> Rows:
    out = np.empty(rows.shape[1], dtype=np.float32)
    weights = [one / sum(samples) for one in samples]
    parts = (row.astype(np.float32) for row in rows)
    CenteredClip(clip).aggregate(weights, parts, out, PartFacts(samples, typical))
    return out.astype(np.float64)


def radii_of(rows: Rows, samples: list[int], *, clip: float = 1.0, typical: float = 0.0) -> Rows:
    """As the definition has them, pair by pair."""
    size = sorted(samples)[len(samples) // 2]
    nearest_half = []
    for i, one in enumerate(rows):
        others = sorted(
            float(np.linalg.norm(one - other)) * min(samples[i], samples[j]) ** 0.5 / size**0.5
            for j, other in enumerate(rows)
            if j != i
        )
        nearest_half.append(others[(len(others) - 1) // 2])
    common = clip * max(min(nearest_half) / 2**0.5, 0.5 * typical)
    return np.array([common * min(4.0, (size / each) ** 0.5) for each in samples])


@given(samples=counts, seed=seeds, clip=st.sampled_from([0.25, 1.0, 4.0]), typical=st.sampled_from([0.0, 3.0]))
def test_pulls_cancel_at_the_fixed_point(samples: list[int], seed: int, clip: float, typical: float) -> None:
    rows = drawn(samples, seed)
    found = clipped(rows, samples, clip=clip, typical=typical)
    radii = radii_of(rows, samples, clip=clip, typical=typical)
    pull = np.zeros(NUMEL)
    for row, radius, count in zip(rows, radii, samples, strict=True):
        away = float(np.linalg.norm(row - found))
        pull += count / sum(samples) * (row - found) * min(1.0, radius / away if away else 1.0)
    coarse = float(np.abs(rows).max()) * np.finfo(np.float32).eps * NUMEL**0.5  # the result is float32
    assert float(np.linalg.norm(pull)) <= 1e-5 * radii.max() + coarse


@given(samples=counts, seed=seeds)
def test_fixed_point_is_the_least_of_the_huber_losses(samples: list[int], seed: int) -> None:
    """A general minimiser, from the plain mean, in float64."""
    rows = drawn(samples, seed)
    radii, weights = radii_of(rows, samples), np.array(samples) / sum(samples)

    def loss(point: Rows) -> tuple[float, Rows]:
        away = np.linalg.norm(rows - point, axis=1)
        near = np.where(away <= radii, away**2 / 2, radii * (away - radii / 2))
        pull = np.minimum(1, radii / np.maximum(away, 1e-300))
        return float(weights @ near), -(weights * pull) @ (rows - point)

    best = optimize.minimize(loss, rows.mean(axis=0), jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 2000})
    assert loss(clipped(rows, samples))[0] <= best.fun * (1 + 1e-6) + 1e-12


@given(samples=counts, seed=seeds, times=st.sampled_from([1e-6, 1e6]))
def test_neither_order_nor_scale_matter(samples: list[int], seed: int, times: float) -> None:
    rows, order = drawn(samples, seed), np.random.default_rng(seed).permutation(len(samples))
    found = clipped(rows, samples)
    near = partial(np.testing.assert_allclose, rtol=1e-3, atol=1e-5 * float(np.abs(rows).max()))
    near(clipped(rows[order], [samples[place] for place in order]), found)
    near(clipped(rows * times, samples) / times, found)


@pytest.mark.parametrize("clip", [0.0, 0.2, 4.1, float("nan")])
def test_a_clip_that_bounds_nothing_is_refused(clip: float) -> None:
    with pytest.raises(ValueError, match="clipped at"):
        CenteredClip(clip)


def projection(members: int, aggregator: str, *, weight_share: float, noise: float = 1.0) -> float:
    """How far the mean of a round goes along the honest gradient, where one member sends its opposite.

    It is believed eight times the samples of the others, and its numbers are fifty times too large.
    """
    samples = [10] * (members - 1) + [int(10 * LEAD)]
    plan = make_plan(samples, CHUNK * members, chunk_numel=CHUNK)
    plan = msgspec.structs.replace(plan, weight_share=weight_share)
    assert plan.weights == leveled(samples, weight_share)
    round_ = Round(plan, seed=members)
    gradient = np.random.default_rng(99).standard_normal(plan.numel).astype(np.float32)
    vectors = gradient + noise * round_.before
    vectors[-1] = -50 * gradient
    norms = np.linalg.norm(vectors, axis=1)
    rows = tuple(msgspec.structs.replace(row, norm=float(norm)) for row, norm in zip(plan.members, norms, strict=True))
    round_ = with_parts(msgspec.structs.replace(plan, members=rows), vectors, aggregator)
    round_.run()
    [found, *others] = round_.results
    assert all(found.tobytes() == other.tobytes() for other in others)
    return float(found @ gradient / (gradient @ gradient))


def with_parts(plan: Plan, vectors: NDArray[np.float32], aggregator: str) -> Round:
    round_ = Round(plan)
    for place, peer in enumerate(plan.peers):
        codec = codec_of(plan.codec, (plan.numel,))
        work = RoundInput(vectors[place], round_.results[place], codec, aggregator=AGGREGATORS[aggregator]())
        round_.machines[peer] = Butterfly(peer, plan, work, trace=Trace())
    return round_


@pytest.mark.parametrize(("members", "least"), [(3, 0.25), (4, 0.6), (5, 0.7), (8, 0.85), (16, 0.9)])
def test_one_sender_turns_no_step_around(members: int, least: float) -> None:
    assert projection(members, "centered_clip", weight_share=0.02) >= least
    assert projection(members, "mean", weight_share=0.25) < 0, "the same without the defence"
