"""What trainers and hosts of experts that lie cost the others, with what holds each of them and without it.

python -m tests.attacks.mixture                        five seeds of each, on one core
python -m tests.attacks.mixture --only flood --seeds 1
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from statistics import mean
from typing import Any, Final

import torch

from core.experts.messages import ROWS_MAX
from tests.attacks.mixture.flood import FirstCome, wait
from tests.attacks.mixture.lies import CASES, Case, Lies
from tests.attacks.mixture.town import Town

STEPS: Final = 60
NONE: Final = "nobody lies"
FLOODS: Final[Mapping[str, tuple[int, dict[str, Any]]]] = {
    "a flood of 16 rows a call; without: who comes first": (16, {"queue": FirstCome}),
    "a flood of 16 rows a call; without: all together": (16, {"rows_max": ROWS_MAX}),
    "a flood of 512 rows a call; without: all together": (512, {"rows_max": ROWS_MAX}),
}
"""By name, the rows of a call and the host that is not defended."""


def lied(name: str, seed: int, steps: int, *, defended: bool) -> float:
    """The loss on what nobody learns from after so many steps."""
    case = CASES.get(name, Case(Lies(), nullcontext))
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, nullcontext() if defended else case.undefended():
        town = Town(Path(folder), seed=seed, lies=case.lies)
        try:
            town.train(steps)
            return town.loss()
        except TimeoutError:
            return float("nan")


def flooded(name: str, seed: int, *, defended: bool) -> float:
    """Seconds that honest calls wait."""
    torch.set_num_threads(1)
    rows, undefended = FLOODS.get(name, (0, {}))
    with tempfile.TemporaryDirectory() as folder:
        return wait(Path(folder), seed=seed, rows=rows, **({} if defended else undefended))


def told(name: str, usual: Sequence[float], found: Sequence[Sequence[float]], unit: str) -> str:
    """One row of the table."""
    columns = []
    for values in found:
        ratios = [value / own for value, own in zip(values, usual, strict=True)]
        columns.append(f"{mean(values) / mean(usual):8.3f} ({min(ratios):.3f} to {max(ratios):.3f})")
    return f"{name:52} " + " ".join(f"{column:28}" for column in columns) + f" {mean(usual):.4f} {unit}"


def main(words: Sequence[str]) -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.mixture", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--only", default="", help="words of an attack's name")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args(words)
    seeds, began = range(args.seeds), time.monotonic()
    head = f"{'one of 8 lies; parts of what it is without':52} {'with the defence':28} {'without':28} none"
    sys.stdout.write(f"{head}\n")
    with ProcessPoolExecutor(args.jobs) as pool:
        usual = [pool.submit(lied, NONE, seed, args.steps, defended=True) for seed in seeds]
        cases = {
            name: [
                [pool.submit(lied, name, seed, args.steps, defended=held) for seed in seeds] for held in (True, False)
            ]
            for name in CASES
            if args.only in name
        }
        calm = [pool.submit(flooded, NONE, seed, defended=True) for seed in seeds]
        floods = {
            name: [[pool.submit(flooded, name, seed, defended=held) for seed in seeds] for held in (True, False)]
            for name in FLOODS
            if args.only in name
        }
        for which, first, unit in ((cases, usual, "nats"), (floods, calm, "s, p95 of waits")):
            for name, found in which.items():
                values = [[one.result() for one in column] for column in found]
                sys.stdout.write(told(name, [one.result() for one in first], values, unit) + "\n")
                sys.stdout.flush()
    sys.stdout.write(f"{time.monotonic() - began:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
