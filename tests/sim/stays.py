"""How long peers stay: a share replaced each hour, the papers' volunteers, or what a measurement says."""

import lzma
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median
from typing import Final

import numpy as np

from core.base.problems import BadInput

HOUR_S: Final = 3600.0
DAY_S: Final = 86_400.0
TRACE_LINES_MAX: Final = 200_000
TRACE_PAIRS: Final = (3, 20)
"""Number of ages in a line of a trace, least and most."""
FITS: Final = 5000
"""Steps of the fit; the shares are then right to about a hundredth."""
TRACE_FILES: Final = "*ot10*.gpd*"
"""In a folder of measurements, the shares of peers by how long they have been there."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """At even distances one peer leaves without a word and a new one comes."""

    share_per_hour: float

    @property
    def name(self) -> str:
        """The pattern's name on the command line."""
        return f"{self.share_per_hour:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stays:
    """Lengths of stay: a mixture of exponentials, so that many go soon and some hardly ever."""

    means_s: tuple[float, ...]
    weights: tuple[float, ...]
    """Shares of arriving peers with each mean stay."""
    most_s: float = math.inf

    def whole_s(self, random: Random) -> float:
        """The stay of a peer that comes now."""
        return self._draw(self.weights, random)

    def rest_s(self, random: Random) -> float:
        """Draw the rest of the stay of a peer met at a random moment: long stays are met more often."""
        return self._draw([w * mean_s for w, mean_s in zip(self.weights, self.means_s, strict=True)], random)

    def _draw(self, weights: Sequence[float], random: Random) -> float:
        (mean_s,) = random.choices(self.means_s, weights)
        return min(random.expovariate(1 / mean_s), self.most_s)

    @property
    def mean_s(self) -> float:
        """Mean stay of arriving peers, seconds."""
        return sum(w * s for w, s in zip(self.weights, self.means_s, strict=True)) / sum(self.weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """A number of devices of which a part is there at a time; each comes back, with its old name."""

    least: float
    first: float
    most: float
    """Shares of the devices that are there: never fewer, at the beginning, never more."""
    away_s: float
    """Mean absence, exponential."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A pattern by which peers come and go."""

    name: str
    stays: Stays
    devices: Devices | None = None
    """None: each leaving peer is replaced by a new one at once."""


TENTH_AN_HOUR: Final = Replaced(0.10)
S000: Final = Pattern(
    name="s000",
    stays=Stays(means_s=(4 * HOUR_S,), weights=(1.0,), most_s=21 * HOUR_S),
    devices=Devices(least=15 / 91, first=25 / 91, most=35 / 91, away_s=4 * HOUR_S * (91 - 25) / 25),
)
"""The volunteers of DeDLOC's public run (S000, sahajBERT): 91 devices, runs of 4 h in the mean and 21 h at most, 15 to
35 at a time.  The mean absence is what keeps 25 of them there."""
S000_DEVICES: Final = 91
S003: Final = Pattern(
    name="s003",
    stays=Stays(
        means_s=tuple(DAY_S / -math.log(1 - percent / 100) for percent in range(5, 21)),
        weights=tuple(-math.log(1 - percent / 100) for percent in range(5, 21)),
    ),
)
"""Learning@home's computers (S003 2.1): of each hundred, 5 to 20 fail within a day, each kind equally common at any
time.  One that fails is replaced by a new one."""


def read_pattern(text: str) -> Replaced | Pattern:
    """The pattern that `--churn` names: a share of the peers an hour, `s000`, `s003`, or a file of measurements.

    Raises:
        BadInput: it is not one of these.
    """
    match text.lower():
        case "s000":
            return S000
        case "s003":
            return S003
    try:
        share = float(text)
    except ValueError:
        return Pattern(name="trace", stays=read_trace(Path(text)))
    if not 0 <= share < 1:
        raise BadInput(f"A churn of {text} cannot be.", hint="Give the share of the peers replaced an hour, below 1.")
    return Replaced(share)


def read_trace(path: Path) -> Stays:
    """Read stays from measured ages: lines of `time age share age share ...`, plain text or .xz.

    `share` is that of the connected peers that have been there for longer than `age` seconds, in the format of KIT's
    monitor of the Bitcoin network (`ot10-v.gpd`).  Lines count once the share beyond the greatest age is above 0:
    before, the monitor itself had not run for so long.  Peers younger than the first age do not count, they are calls
    that were tried again.  In a steady state a peer's age is distributed as the rest of its stay, which gives the
    mixture's shares of the peers that are there; among arriving peers, each kind is as much more frequent as it stays
    shorter.

    Args:
        path: The file, or a folder with one.

    Raises:
        BadInput: it cannot be read, or holds no such lines.
    """
    if path.is_dir():
        path = next(iter(sorted(path.glob(TRACE_FILES))), path)
    try:
        with lzma.open(path, "rt", encoding="ascii") if path.suffix == ".xz" else path.open(encoding="ascii") as file:
            rows = [_ages(line) for line, _ in zip(file, range(TRACE_LINES_MAX), strict=False) if line.strip()]
    except (OSError, ValueError, EOFError, lzma.LZMAError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise _bad_trace(path, why or str(error)) from error
    good = [row for row in rows if row and row[-1][1] > 0]
    if not good or len({tuple(age for age, _ in row) for row in good}) != 1:
        raise _bad_trace(path, "no line, or not every line, says how many peers are older than the same ages")
    ages = [age for age, _ in good[0]]
    shares = [median(row[number][1] for row in good) for number in range(len(ages))]
    return _fit(ages, shares)


def _ages(line: str) -> list[tuple[float, float]]:
    """Pairs of an age and a share; none where a share cannot be, as some are while a monitor begins."""
    words = line.split()[1:]
    count = len(words) // 2
    if not TRACE_PAIRS[0] <= count <= TRACE_PAIRS[1]:
        raise ValueError(f"{len(words)} words stand after the time")
    pairs = [(float(words[2 * n]), float(words[2 * n + 1])) for n in range(count)]
    ages, shares = [age for age, _ in pairs], [share for _, share in pairs]
    if not (ages[0] > 0 and all(a < b < math.inf for a, b in pairwise(ages))):
        raise ValueError("the ages do not grow")
    return pairs if all(0 <= share <= 1 for share in shares) else []


def _fit(ages_s: Sequence[float], shares: Sequence[float]) -> Stays:
    """The mixture whose peers have these ages (Lee and Seung 2001, for one factor: shares stay above 0)."""
    times = np.array([0.0, *ages_s[1:]])
    means_s = np.array(ages_s[1:])
    seen = np.array([1.0, *(share / max(shares[0], 1e-9) for share in shares[1:])])
    older = np.exp(-times[:, None] / means_s[None, :])
    here = np.full(len(means_s), 1 / len(means_s))
    for _ in range(FITS):
        here *= (older.T @ seen) / (older.T @ (older @ here))
    coming = here / means_s
    return Stays(means_s=tuple(float(mean) for mean in means_s), weights=tuple(float(w) for w in coming / coming.sum()))


def _bad_trace(path: Path, why: str) -> BadInput:
    return BadInput(
        f"{path} says nothing about how long peers stay: {why}.",
        hint="Give a share (0.1), s000, s003, or a file of lines `time age share age share ...`.",
    )
