"""How often sums pass for false means, and how often they do not for true ones: `python -m tests.attacks.sums`.

Each draw is a share of four chunks with the parts of 3 to 16 members, of 8 to 512 samples each: a common gradient, and
noise of 0.3 to 10 times its norm; in every third draw few numbers are 100 times as large.  Every second draw lacks some
members' parts in some chunks, and every fourth has a member that told no sums.  A lie is added to the means.  Its size
is so many times what passes (`Measure.off`).
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.aggregators import CenteredClip, PartFacts, relative_radii, relative_roots
from core.averaging.commit.projections import Projection, Told, root_mean_square
from core.averaging.commit.proof import ChunkFacts, Measure
from core.averaging.commit.sums import Term
from core.averaging.messages import SUMS
from core.averaging.plan import leveled
from core.base.ids import hashed_key
from core.codecs.registry import codec_of

Vector = NDArray[np.float32]
CODECS: Final = ("raw", "fp16", "bf16", "u8", "b8", "adaptive")
CHUNKS: Final = 4
NUMEL: Final = 4096
WEIGHT_SHARE: Final = 0.02
"""As `found` writes it: a member has at most twice an equal share."""
TIMES: Final = (1.5, 3.0, 6.0)


@dataclass
class Chunk:
    """The parts of a chunk, by member, and their mean."""

    facts: ChunkFacts
    parts: dict[int, Vector]
    mean: Vector

    def sums(self, member: int, mean: Vector, projection: Projection) -> NDArray[np.float64]:
        """What a member tells of one mean."""
        ways = self.parts[member] - mean
        away = float(np.linalg.norm(ways))
        radius = self.facts.radius * self.facts.terms[member].radius
        near = min(1.0, radius / away) if radius and away else 1.0
        return self.facts.terms[member].weight * near * projection.of(ways)


def drawn(random: np.random.Generator, codec_name: str, number: int) -> list[Chunk]:
    """The chunks of one share."""
    codec = codec_of(codec_name, (NUMEL * CHUNKS,))
    members = int(random.choice([3, 4, 5, 8, 16]))
    samples = random.integers(8, 513, members)
    noise = float(10 ** random.uniform(-0.5, 1.0))
    found = []
    for _ in range(CHUNKS):
        gradient, here = random.standard_normal(NUMEL), list(range(members))
        scale = np.where(random.random(NUMEL) < 0.002, 100.0, 1.0) if number % 3 == 0 else np.ones(NUMEL)
        if number % 2 and members > 3 and random.random() < 0.3:
            here.remove(int(random.integers(members)))
        parts = {}
        for member in here:
            part = gradient + noise * random.standard_normal(NUMEL) * (64 / samples[member]) ** 0.5
            parts[member] = np.empty(NUMEL, dtype=np.float32)
            codec.decode_into(codec.encode((part * scale).astype(np.float32), 0), parts[member], 0)
        counts = [int(samples[member]) for member in here]
        leveled_to = leveled(counts, WEIGHT_SHARE)
        weights, roots = [one / sum(leveled_to) for one in leveled_to], relative_roots(counts)
        typical = float(np.median([np.linalg.norm(part) for part in parts.values()]))
        mean = np.empty(NUMEL, dtype=np.float32)
        copies = (part.copy() for part in parts.values())
        radius = CenteredClip().aggregate(weights, copies, mean, PartFacts(counts, typical))
        codec.decode_into(codec.encode(mean, 0), mean, 0)
        terms = dict(zip(here, map(Term, weights, roots.tolist(), relative_radii(roots).tolist()), strict=True))
        found.append(Chunk(ChunkFacts(terms, radius, codec.error(mean, 0), typical), parts, mean))
    return found


KINDS: Final = ("noise", "less of the mean", "one number", "two opposite", "one row", "rank one")
"""What is lied about; the last four lies are in one chunk."""


def lies(random: np.random.Generator, chunks: list[Chunk]) -> Iterator[tuple[str, list[Vector]]]:
    """Directions of lies, for all chunks of a share; their norm is 1."""
    shape = (CHUNKS, NUMEL)
    means = np.array([chunk.mean for chunk in chunks])
    one, two, row = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    place = int(random.integers(NUMEL - 1))
    one[0, place] = 1.0
    two[0, place], two[0, place + 1] = 1.0, -1.0
    row[1, 256:512] = random.standard_normal(256)
    product = np.zeros(shape)
    product[2] = np.outer(random.standard_normal(NUMEL // 256), random.standard_normal(256)).ravel()
    for name, direction in zip(KINDS, (random.standard_normal(shape), -means, one, two, row, product), strict=True):
        yield name, list((direction / np.linalg.norm(direction)).astype(np.float32))


def told(chunks: list[Chunk], means: list[Vector], key: bytes, silent: frozenset[int]) -> dict[int, Told]:
    """What each member tells of some means."""
    found: dict[int, Told] = {}
    for place, (chunk, mean) in enumerate(zip(chunks, means, strict=True)):
        projection = Projection(key, place, NUMEL)
        for member in chunk.parts.keys() - silent:
            found[member] = found.get(member, np.zeros(SUMS)) + chunk.sums(member, mean, projection)
    return found


def size(sums: dict[int, Told]) -> float:
    """The root mean square of what all sums come to."""
    return float(root_mean_square(sum(sums.values(), np.zeros(SUMS))))


class Series:
    """Draws with one codec.

    Args:
        codec: Its name.
        draws: How many shares.
        keys: How often the true means of each are proven.
    """

    def __init__(self, codec: str, *, draws: int, keys: int) -> None:
        self.ratios: list[float] = []
        """True sums over what passes."""
        self.radii: list[float] = []
        """True radii over the greatest that pass."""
        self.passing: list[float] = []
        """What passes, over the norm of the mean."""
        self.missed: Counter[tuple[str, float]] = Counter()
        """Lies that passed."""
        self.told = 0
        """Number of lies of each kind and size."""
        random = np.random.default_rng(len(codec))
        for number in range(draws):
            chunks = drawn(random, codec, number)
            everybody = frozenset[int]().union(*(chunk.parts for chunk in chunks))
            silent = frozenset({min(everybody)} if number % 4 == 3 and len(everybody) > 4 else ())
            measure = Measure(everybody, [chunk.facts for chunk in chunks])
            off = measure.off(silent)
            means = [chunk.mean for chunk in chunks]
            self.passing.append(off / float(np.linalg.norm(means)))
            for attempt in range(keys):
                key = hashed_key(codec.encode(), number.to_bytes(4, "big"), attempt.to_bytes(4, "big"))
                sums = told(chunks, means, key, silent)
                self.ratios.append(size(sums) / off)
                self.radii.append(measure.clipped / measure.widest(sums, CenteredClip().clip))
            if not silent:
                self._lie(chunks, off, key, random)

    def _lie(self, chunks: list[Chunk], off: float, key: bytes, random: np.random.Generator) -> None:
        self.told += 1
        for name, direction in lies(random, chunks):
            for times in TIMES:
                false = [
                    chunk.mean + np.float32(times * off) * way for chunk, way in zip(chunks, direction, strict=True)
                ]
                self.missed[name, times] += size(told(chunks, false, key, frozenset())) <= off


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Print a table of all codecs."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--draws", type=int, default=850, help="shares of each codec")
    arguments.add_argument("--keys", type=int, default=20, help="keys for each share")
    asked = arguments.parse_args()
    say(f"{'':10}{'true sums':>10}{'refused':>9}{'greatest':>10}{'radius':>10}{'passes, of the mean':>21}")
    found = {}
    for codec in CODECS:
        found[codec] = one = Series(codec, draws=asked.draws, keys=asked.keys)
        over = sum(max(pair) > 1 for pair in zip(one.ratios, one.radii, strict=True))
        greatest = f"{max(one.ratios):10.2f}{max(one.radii):10.2f}"
        say(f"{codec:10}{len(one.ratios):10,}{over:9,}{greatest}{np.median(one.passing):21.3f}")
    for times in TIMES:
        say(f"\nlies of {times} times what passes, that pass, of {found[CODECS[0]].told:,}")
        say(" " * 10 + "".join(f"{name:>18}" for name in KINDS))
        for codec, one in found.items():
            say(f"{codec:10}" + "".join(f"{one.missed[name, times]:>18,}" for name in KINDS))


if __name__ == "__main__":
    main()
