"""How far peers are apart: between the sites of a synthetic internet, or of a measured one."""

import lzma
import math
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final, Protocol

from core.base.problems import BadInput

ACCESS_S: Final = (0.0005, 0.004)
"""Delay of a peer's own line to its site, one way: least and most."""
SITES: Final = 240
REGIONS: Final = (
    # share of the sites, and round trips in ms to the regions, itself first in its own row
    ("north america, east", 0.26, (26.0, 68.0, 100.0, 215.0, 140.0)),
    ("north america, west", 0.16, (68.0, 24.0, 158.0, 150.0, 180.0)),
    ("europe", 0.34, (100.0, 158.0, 30.0, 255.0, 215.0)),
    ("asia and oceania", 0.18, (215.0, 150.0, 255.0, 75.0, 320.0)),
    ("south america", 0.06, (140.0, 180.0, 215.0, 320.0, 45.0)),
)
SPREAD: Final = 0.28
"""Standard deviation of the logarithm of a round trip around its regions' figure."""
HEIGHT_MS: Final = 7.0
"""Mean of what a site's own connection adds to each of its round trips; exponential, the tail of bad lines."""
ROUND_TRIP_MAX_S: Final = 5.0


class Latency(Protocol):
    """The least delays of a network."""

    sites: int
    """How many sites there are; each peer is at one of them."""

    def one_way_s(self, a: int, b: int) -> float:
        """From site `a` to site `b`."""


class Matrix:
    """Round trips between sites, measured or made up.

    Args:
        round_trips_s: Row i, column j: from i to j and back, seconds; 0 where it was not measured: then the other
            direction counts, or else the median.

    Raises:
        BadInput: it is not square, or holds an invalid round trip.
    """

    def __init__(self, round_trips_s: Sequence[Sequence[float]]) -> None:
        self.sites = len(round_trips_s)
        if not self.sites or any(len(row) != self.sites for row in round_trips_s):
            raise BadInput(
                "The file of delays is not a square table.", hint="It has one line per site and one number per column."
            )
        flat = [value for row in round_trips_s for value in row]
        if not all(math.isfinite(value) and 0 <= value <= ROUND_TRIP_MAX_S for value in flat):
            raise BadInput(
                "The file of delays holds a number that is no round trip.",
                hint=f"They are between 0 and {ROUND_TRIP_MAX_S:.0f} seconds.",
            )
        known = sorted(value for value in flat if value > 0)
        median = known[len(known) // 2] if known else 0.0
        self._one_way_s = [
            [
                (value or round_trips_s[j][i] or (0.0 if i == j else median)) / 2 if i != j else 0.0
                for j, value in enumerate(row)
            ]
            for i, row in enumerate(round_trips_s)
        ]

    def one_way_s(self, a: int, b: int) -> float:
        """Half the round trip from `a` to `b`."""
        return self._one_way_s[a][b]

    def round_trip_s(self, quantile: float) -> float:
        """Return the quantile of the round trips between two sites, seconds."""
        pairs = sorted(2 * v for i, row in enumerate(self._one_way_s) for j, v in enumerate(row) if i != j)
        return pairs[min(int(quantile * len(pairs)), len(pairs) - 1)]


def synthetic(random: Random) -> Matrix:
    """An internet of five regions, made to be like the PlanetLab matrix (Zhu et al. 2017).

    Quantiles of its round trips, in ms, beside those of the measurement: 5 %: 34 (19), 25 %: 71 (59), 50 %: 131 (135),
    75 %: 208 (202), 95 %: 330 (325), 99 %: 424 (413).
    """
    shares = [share for _, share, _ in REGIONS]
    regions = random.choices(range(len(REGIONS)), shares, k=SITES)
    heights_ms = [random.expovariate(1 / HEIGHT_MS) for _ in range(SITES)]
    rows = [[0.0] * SITES for _ in range(SITES)]
    for i in range(SITES):
        for j in range(i):
            middle_ms = REGIONS[regions[i]][2][regions[j]] * math.exp(random.gauss(0.0, SPREAD))
            rows[i][j] = rows[j][i] = (middle_ms + heights_ms[i] + heights_ms[j]) / 1000
    return Matrix(rows)


def read_matrix(path: Path) -> Matrix:
    """Read a measured matrix: one line per site, numbers between tabs or blanks; plain text, or .xz.

    Files whose median is above 5 hold milliseconds, others seconds.

    Raises:
        BadInput: the file cannot be read, or is not a table of round trips.
    """
    try:
        with lzma.open(path, "rt", encoding="ascii") if path.suffix == ".xz" else path.open(encoding="ascii") as file:
            rows = [[float(word) for word in line.split()] for line in file if line.strip()]
    except (OSError, ValueError, EOFError, lzma.LZMAError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise BadInput(
            f"The delays in {path} cannot be read: {why or error}.",
            hint="Give circle, synthetic, or a text file with a square table of round trips.",
        ) from error
    known = sorted(value for row in rows for value in row if value > 0)
    unit = 1000.0 if known and known[len(known) // 2] > ROUND_TRIP_MAX_S else 1.0
    return Matrix([[min(value / unit, ROUND_TRIP_MAX_S) for value in row] for row in rows])
