"""Rivals measured beside this program: hivemind and gloo (torch.distributed) on loopback, hivemind on lines."""

import os
import tempfile
from pathlib import Path
from typing import Any

from core.base.problems import BadInput, Problem
from tests.bench.script import figures_of

LIMIT_S = 1800.0
COMPRESSIONS = {"raw": "none", "fp16": "fp16", "u8": "u8", "b8": "u8", "adaptive": "u8"}
"""hivemind's nearest to each codec; those that are not here have none."""
ON_LOOPBACK, ON_LINES = ("bench_allreduce.py", "bench_gloo.py"), ("bench_netns.py",)
"""Their scripts."""


def check(python: Path, scripts: Path, *, on_lines: bool) -> None:
    """Refuse what cannot be run, before anything is.

    Raises:
        BadInput: says what there is not.
    """
    for path in (python, *(scripts / name for name in (ON_LINES if on_lines else ON_LOOPBACK))):
        if not path.is_file():
            raise BadInput(f"There is no {path}.", hint="Write where it is, or leave out that hivemind is measured.")
    if not os.access(python, os.X_OK):
        raise BadInput(f"{python} cannot be run.", hint="Name the Python in which hivemind is installed.")


async def hivemind(python: Path, scripts: Path, *, peers: int, numel: int, codec: str, rounds: int) -> dict[str, Any]:
    """All-reduce by hivemind between processes on loopback; empty if it has no such codec.

    Its 8-bit codec does not work with today's numpy; the script repairs it.
    """
    if codec not in COMPRESSIONS:
        return {}
    with tempfile.TemporaryDirectory(prefix="potluck-bench-") as logs:
        order = ["--peers", str(peers), "--size", str(numel), "--compression", COMPRESSIONS[codec]]
        order += ["--rounds", str(rounds), "--patch-u8", "--logdir", logs]
        return await figures_of(python, scripts / "bench_allreduce.py", order, limit_s=LIMIT_S)


async def gloo(python: Path, scripts: Path, *, peers: int, numel: int) -> dict[str, Any]:
    """All-reduce by gloo of float32, not encrypted, between processes on loopback."""
    order = ["--peers", str(peers), "--size", str(numel)]
    return await figures_of(python, scripts / "bench_gloo.py", order, limit_s=LIMIT_S)


async def hivemind_on_lines(python: Path, scripts: Path, *, fleet: str, numel: int, rounds: int) -> dict[str, Any]:
    """All-reduce by hivemind of float32 on the same lines, with the bandwidths typed in; the better of two ways to.

    Returns:
        The script's figures with `best_s`, the least of the medians.

    Raises:
        Problem: no round of it was good.
    """
    with tempfile.TemporaryDirectory(prefix="potluck-bench-") as logs:
        order = ["--fleet", fleet, "--size", str(numel), "--rounds", str(rounds)]
        order += ["--policy", "bandwidth,min", "--logdir", logs]
        found = await figures_of(python, scripts / "bench_netns.py", order, limit_s=LIMIT_S)
    times = [found[policy]["round_s"] for policy in ("bandwidth", "min") if policy in found]
    medians = [time for time in map(median_of, times) if time is not None]
    if not medians:
        raise Problem("hivemind finished no round on these lines.")
    return {**found, "best_s": min(medians)}


def median_of(spread: Any) -> float | None:
    """The median in what a script prints for several rounds; None if there is none."""
    match spread:
        case {"med": int() | float() as median}:
            return float(median)
        case int() | float():
            return float(spread)
        case _:
            return None
