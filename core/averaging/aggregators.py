"""How the parts of a chunk become one vector: the weighted mean, and two that few wild parts do not move.

A new aggregator is a class that satisfies `Aggregator`, and one line in `AGGREGATORS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from core.base.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"
Matrix: TypeAlias = "NDArray[Any]"

NORM_FACTOR: Final = 8.0
"""Times the median norm of a chunk's parts with which a part counts at most.  Honest parts of 8 to 512 samples came to
5.7 times in chunks of 256 numbers, the smallest of a manifest, and to 3.1 times from 2,048 on (`rounds.md`)."""
MEAN_FACTOR: Final = 2 * NORM_FACTOR
"""Times the norm of an own part, or of a typical one, that a mean has at most.  Parts within their bounds came to 7.9
times; with half the factor members of a round with two liars of five lost each other."""
TYPICAL_PART: Final = 0.5
"""Part of the norm that a chunk of its size has typically, below which no median is a measure: to a row of an embedding
that few have met, the others have next to nothing to say."""
CLIP_LEAST: Final = 0.25
CLIP_MOST: Final = 4.0
RADIUS_MOST: Final = 4.0
"""Times the common radius with which a part of few samples pulls at most."""
FAR: Final = 1024.0
"""Times the usual distance from which on only the direction of a part counts: squares of more drown those of others."""
NEAR: Final = 1e-6
"""Times the least radius that a step towards the fixed point may still move it."""
STEPS_MOST: Final = 100
MEDIAN_LEAST: Final = 3
"""Number of parts from which on their median norm is a measure: of two, nobody can tell which one is wrong."""


class PartFacts(NamedTuple):
    """What is known of the parts of a chunk beside their numbers."""

    samples: Sequence[int] = ()
    """Samples that each part is said to be made of; none: equally many."""
    typical: float = 0.0
    """The norm of the median member's whole contribution, for a chunk of this size; 0: unknown."""


NO_FACTS: Final = PartFacts()


class Aggregator(Protocol):
    """Makes one vector of several; equal parts in the same order give equal bits."""

    @property
    def clip(self) -> float:
        """Times the usual distance beyond which a part pulls no harder; 0: it pulls by its norm, which is bounded."""

    def aggregate(
        self, weights: Sequence[float], parts: Iterable[Vector], out: Vector, facts: PartFacts = NO_FACTS
    ) -> float:
        """Write what the parts become.

        Args:
            weights: Weights of the parts, above 0 and all together 1; at least one.
            parts: Their numbers, each of shape (numel,) and valid until the next one is asked for; they may be
                overwritten.  A number of them may be infinite or none; then so may be the result.
            out: Shape (numel,), float32.
            facts: What is known of the parts beside their numbers.

        Returns:
            The common radius of parts that are clipped; 0 where none is.
        """


class WeightedMean:
    """Sum of weight times part, in float32, each product and each sum rounded once.

    It trusts every part, so a single wild one moves the result.
    """

    clip = 0.0

    def aggregate(
        self, weights: Sequence[float], parts: Iterable[Vector], out: Vector, facts: PartFacts = NO_FACTS
    ) -> float:
        """Write the weighted mean of the parts to `out`."""
        del facts
        with np.errstate(over="ignore", invalid="ignore"):
            for place, (weight, values) in enumerate(zip(weights, parts, strict=True)):
                if place == 0:
                    np.multiply(values, np.float32(weight), out=out)
                else:
                    out += np.multiply(values, np.float32(weight), out=values)
        return 0.0


class TrimmedMean:
    """For each number, the weighted mean of the parts without the smallest and the largest of them.

    It is the coordinate-wise trimmed mean of Yin, Chen, Ramchandran and Bartlett (2018, definition 2).  Fewer than
    `trim` of all parts, with whatever numbers, move the result by no more than the others' own spread.

    Args:
        trim: Share of the parts that is left out at each end, 0 to below 0.5; of n parts floor(trim n) are.

    Raises:
        ValueError: `trim` is not within these bounds.
    """

    clip = 0.0

    def __init__(self, trim: float = 0.2) -> None:
        if not 0 <= trim < 0.5:
            raise ValueError(f"a trimmed mean that leaves out {trim} at each end")
        self._trim = trim

    def aggregate(
        self, weights: Sequence[float], parts: Iterable[Vector], out: Vector, facts: PartFacts = NO_FACTS
    ) -> float:
        """Write the trimmed mean of the parts to `out`."""
        del facts
        rows = _rows(parts, len(weights), out.size)
        cut = int(self._trim * len(rows))
        order = np.argsort(rows, axis=0, kind="stable")[cut : len(rows) - cut]
        kept = np.array(weights, dtype=np.float32)[order]
        with np.errstate(over="ignore", invalid="ignore"):
            np.multiply(np.take_along_axis(rows, order, axis=0), kept, out=rows[: len(kept)])
            np.divide(rows[: len(kept)].sum(axis=0), kept.sum(axis=0), out=out)
        return 0.0


class CenteredClip:
    """The point at which the pulls of all parts cancel, where none pulls from further away than its radius.

    That is the v with  sum of w_i (x_i - v) min(1, r_i / |x_i - v|) = 0,  by which Karimireddy, He and Jaggi (2021,
    "Learning from history for Byzantine robust optimization", section 5) bound what one part can do, and which
    Gorbunov, Borzunov, Diskin and Ryabinin (2022, "Secure distributed training at scale", section 3) let peers check.
    It is the least of a sum of Huber losses, so neither where one begins nor how one gets there changes it.

    The radius of a part of n samples is the common one times the root of median samples over n, and 4 times that at
    most: more samples are less noise.  A part that claims k times as many pulls root k times as hard.  The common
    radius is `clip` times the distance from the best placed part to its nearest half, as parts of the median size would
    have it, over root 2: so far is honest noise from its mean.

    Args:
        clip: 0.25 to 4; below 1.25 it matters little.

    Raises:
        ValueError: `clip` is not within these bounds.
    """

    def __init__(self, clip: float = 1.0) -> None:
        if not CLIP_LEAST <= clip <= CLIP_MOST:
            raise ValueError(f"parts clipped at {clip} times the usual distance")
        self.clip = clip

    def aggregate(
        self, weights: Sequence[float], parts: Iterable[Vector], out: Vector, facts: PartFacts = NO_FACTS
    ) -> float:
        """Write the fixed point to `out`; of two parts, of which none is the measure, their weighted mean."""
        rows = _rows(parts, len(weights), out.size)
        with np.errstate(over="ignore", invalid="ignore"):
            norms = [np.dot(row, row) for row in rows]
            usual = rows[np.argsort(norms)[len(rows) // 2]].copy()  # far parts would drown the distances of near ones
            rows -= usual
            gram = _products(rows)
        if len(rows) < MEDIAN_LEAST or not np.isfinite(gram).all():
            np.add(np.array(weights, dtype=np.float32) @ rows, usual, out=out)
            return 0.0
        away = np.sqrt(gram.diagonal())
        most = FAR * max(np.sort(away)[len(away) // 2], TYPICAL_PART * facts.typical) or math.inf
        nearer = np.divide(most, away, out=np.ones_like(away), where=away > most)
        gram *= np.outer(nearer, nearer)
        roots = relative_roots(facts.samples or [1] * len(rows))
        common = self._radius(gram, roots, facts.typical)
        found = _fixed_point(np.array(weights), gram, common * relative_radii(roots))
        np.add((found * nearer).astype(np.float32) @ rows, usual, out=out)
        return common

    def _radius(self, gram: Matrix, roots: Matrix, typical: float) -> float:
        """The common radius.

        Args:
            gram: Shape (parts, parts), float64: products of the parts.
            roots: As `relative_roots` gives them.
            typical: As in `PartFacts`.
        """
        norms = gram.diagonal()
        apart = np.sqrt(np.maximum(0, norms[:, None] + norms - 2 * gram)) * np.minimum.outer(roots, roots)
        least = float(np.finfo(np.float32).eps) * math.sqrt(norms.max())  # as near as float32 tells equal parts apart
        return max(self.clip * max(half_apart(apart) / math.sqrt(2), TYPICAL_PART * typical), least)


def half_apart(apart: Matrix) -> float:
    """How far the best placed part is from its nearest half.

    Args:
        apart: Shape (parts, parts): distances of the parts, as parts of the median samples would have them.
    """
    return float(np.sort(apart, axis=1)[:, len(apart) // 2].min())  # the first of a row is the part's own


def relative_roots(samples: Sequence[int]) -> Matrix:
    """The root of each part's samples over their median; float64, shape (parts,)."""
    roots = np.sqrt(np.array(samples, dtype=np.float64))
    roots /= np.sort(roots)[len(roots) // 2]
    return roots


def relative_radii(roots: Matrix) -> Matrix:
    """The radius of each part, over the common one.

    Args:
        roots: As `relative_roots` gives them.
    """
    radii: Matrix = np.minimum(RADIUS_MOST, 1 / roots)
    return radii


AGGREGATORS: Final[Mapping[str, Callable[..., Aggregator]]] = MappingProxyType(
    {"mean": WeightedMean, "trimmed_mean": TrimmedMean, "centered_clip": CenteredClip}
)
"""Every aggregator, by the name that a manifest gives it; its numbers are its arguments."""


def _rows(parts: Iterable[Vector], number: int, numel: int) -> Matrix:
    """Parts one below the other, float32."""
    rows = np.empty((number, numel), dtype=np.float32)
    for place, values in enumerate(parts):
        rows[place] = values
    return rows


def _products(rows: Matrix) -> Matrix:
    """The product of each two rows, float64; of few long rows half of them one by one take half of a matrix product.

    Args:
        rows: Shape (parts, numel), float32.
    """
    found = np.empty((len(rows), len(rows)))
    for place, row in enumerate(rows):
        found[place, : place + 1] = found[: place + 1, place] = rows[: place + 1] @ row
    return found


def _fixed_point(weights: Matrix, gram: Matrix, radii: Matrix) -> Matrix:
    """The fixed point of `CenteredClip` as a combination of the parts: what each of these counts for.

    The products of the parts tell their places in a space of as many dimensions, so no step reads the numbers.  It
    begins at the part with the least loss.  A step is Newton's, or where that has the greater loss the next mean of the
    parts weighed by their pulls, which never has.

    Args:
        weights: Shape (parts,), float64.
        gram: Shape (parts, parts), float64: products of the parts.
        radii: Shape (parts,), above 0 unless all parts are equal.
    """
    values, directions = np.linalg.eigh(gram)
    places = directions * np.sqrt(np.maximum(values, 0))

    def losses(points: Matrix) -> Matrix:
        away = np.linalg.norm(places - points[:, None], axis=2)
        found: Matrix = np.where(away > radii, radii * (away - radii / 2), away * away / 2) @ weights
        return found

    point = places[np.argmin(losses(places))]
    for _ in range(STEPS_MOST):
        ways = places - point
        away = np.linalg.norm(ways, axis=1)
        far = away > radii
        pulls: Matrix = weights * np.divide(radii, away, out=np.ones_like(away), where=far)
        pulls /= pulls.sum()
        plain = pulls @ ways
        if np.linalg.norm(plain) <= NEAR * radii.min():
            break
        leans = ways[far] * (np.sqrt(pulls[far]) / away[far])[:, None]
        newton = np.linalg.solve((1 + NEAR) * np.eye(len(point)) - leans.T @ leans, plain)
        points = point + np.array((plain, newton))
        point = points[np.argmin(losses(points))]
    return pulls


def norm_bound(norms: Iterable[float], *, typical: float) -> float:
    """Upper bound on the norm with which each part of a chunk counts.

    Args:
        norms: Norms of all parts of the chunk.
        typical: The norm of the median member's whole contribution, for a chunk of this size.

    Returns:
        `NORM_FACTOR` times the median, of an even number of parts the upper one; infinity where there is no measure.
    """
    ordered = sorted(norms)
    if len(ordered) < MEDIAN_LEAST:
        return math.inf
    return NORM_FACTOR * max(ordered[len(ordered) // 2], TYPICAL_PART * typical) or math.inf


def all_finite(values: Vector) -> bool:
    """Whether a vector holds neither an infinity nor something that is not a number."""
    return not values.size or bool(np.isfinite(values.max()) and np.isfinite(values.min()))
