"""`python -m tests.sim stragglers`: members that hold up the others, and what each mechanism against that saves."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from statistics import mean

from core.base.problems import BadInput
from core.system.progress_bar import ProgressBar
from tests.sim.rounds.stragglers import ROUNDS, SCENARIOS, Mechanism, SeriesReport, run_scenario

EXIT_FAILED = 1


def run(args: argparse.Namespace) -> int:
    """Run every scenario's series of rounds.

    Args:
        args: seeds (how many), seed (the first), without (names of mechanisms that are switched off), json.

    Returns:
        0 if no two honest members ever held different means, 1 otherwise.

    Raises:
        BadInput: there is no such mechanism.
    """
    unknown = sorted(set(args.without) - {mechanism.value for mechanism in Mechanism})
    if unknown:
        names = ", ".join(mechanism.value for mechanism in Mechanism)
        raise BadInput(f"There is no mechanism {unknown[0]!r}.", hint=f"There are: {names}.")
    without = frozenset(Mechanism(name) for name in args.without)
    bar = ProgressBar(json=args.json)
    split = 0
    try:
        for number, scenario in enumerate(SCENARIOS):
            bar.show(number / len(SCENARIOS), scenario.name)
            seeds = range(args.seed, args.seed + args.seeds)
            reports = [run_scenario(scenario, seed, without=without) for seed in seeds]
            split += sum(report.split for report in reports)
            bar.clear()
            sys.stdout.write(_row(reports, json_lines=args.json) + "\n")
            sys.stdout.flush()
    finally:
        bar.clear()
    return EXIT_FAILED if split else 0


def _row(reports: Sequence[SeriesReport], *, json_lines: bool) -> str:
    if json_lines:
        return "\n".join(json.dumps({"event": "series", **asdict(report)}) for report in reports)
    rounds = ROUNDS * len(reports)
    return (
        f"{reports[0].scenario:25s} {mean(r.seconds for r in reports):6.1f} s, worst "
        f"{max(r.worst_s for r in reports):5.1f} s; {sum(r.failed for r in reports)} of {rounds} rounds failed, "
        f"{100 * mean(r.lost for r in reports):4.1f} % of honest members' parts lost"
    )
