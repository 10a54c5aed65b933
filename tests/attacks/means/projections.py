"""How far the mean of a round goes along the honest gradient, where one sender gives -50 times its own.

python -m tests.attacks.means.projections

The sender is believed 8 times the samples of the others.  +1 is the honest gradient; there is as much noise in each
member's as gradient.
"""

import argparse
import sys
from dataclasses import replace
from typing import Final

import numpy as np

from tests.attacks.means.lies import SENDERS, Lie
from tests.attacks.means.problem import Noise, Vector
from tests.attacks.means.series import Group, Series

MEMBERS: Final = (3, 4, 5, 8, 16, 64)
NUMEL: Final = 64 * 256
TURNED: Final = replace(SENDERS[1], name="gives -50 times its own", give=lambda own, _: np.float32(-50) * own)


class Along(Noise):
    """Remembers how far means went along the gradient, and how much of them did not."""

    def __init__(self, seed: int, numel: int) -> None:
        super().__init__(seed, numel)
        self.along: list[float] = []
        """Times the gradient."""
        self.noise: list[float] = []
        """Norm of the rest, over that of the gradient."""

    def step(self, mean: Vector) -> None:
        """Look at a mean."""
        super().step(mean)
        part = float(mean @ self.direction) / float(self.direction @ self.direction)
        self.along.append(part)
        rest = float(np.linalg.norm(mean - np.float32(part) * self.direction))
        self.noise.append(rest / float(np.linalg.norm(self.direction)))


def along(members: int, draws: int, *, lie: Lie = TURNED, clipped: bool = True) -> list[float]:
    """How far the means of so many groups of this size go."""
    found: list[float] = []
    for seed in range(draws):
        problem = Along(seed, NUMEL)
        group = Group(members=members, liars=1, lie=lie, proven=clipped, clipped=clipped, chunks=1, seed=seed)
        Series(group, problem=problem).run(1)
        found += problem.along
    return found


def main() -> None:
    """Print a table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--draws", type=int, default=8, help="groups of each size; of 64 members an eighth of them")
    asked = arguments.parse_args()
    sys.stdout.write(f"{'members':>8}{'clipped':>9}{'least':>8}{'greatest':>10}{'mean':>9}\n")
    for members in MEMBERS:
        draws = max(1, asked.draws // 8) if members > MEMBERS[-2] else asked.draws
        clipped, plain = along(members, draws), along(members, draws, clipped=False)
        middle = float(np.median(clipped)), float(np.median(plain))
        line = f"{members:8}{middle[0]:9.2f}{min(clipped):8.2f}{max(clipped):10.2f}{middle[1]:9.2f}"
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
