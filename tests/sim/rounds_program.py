"""`python -m tests.sim rounds`: rounds of the real machines on many fleets, or with members that die."""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from core.base.problems import BadInput
from core.codecs.registry import CODECS
from core.system.progress_bar import ProgressBar
from tests.sim.record import VerdictRecord
from tests.sim.rounds import deaths, fleets
from tests.sim.rounds.fleet_plan import RoundTask
from tests.sim.rounds.summaries import death_report, death_summary, fleet_report, fleet_summary

ROUNDS_PER_PROCESS = 50
FLEETS_PER_PROCESS = 4
EXIT_FAILED = 1
SCALE = 64
"""Numbers that are simulated for each one that is computed, where only the time counts."""


def run(args: argparse.Namespace) -> int:
    """Run rounds.

    Args:
        args: fleets (how many, or None), deaths (None, or the share of the members that die), rounds (how many with
            deaths), seed (the first), jobs (processes at a time), numel, chunk, codec (of the fleets' rounds), record
            (None, or a file that keeps what is done, so that the same command goes on later), json, each (print each
            verdict and nothing else).

    Returns:
        0 when no checker found anything, 1 otherwise.

    Raises:
        BadInput: the options contradict each other, or the record is of something else.
    """
    if args.fleets is not None and args.deaths is not None:
        raise BadInput("Fleets and deaths are two things.", hint="Leave one of --fleets and --deaths out.")
    if args.codec not in CODECS:
        raise BadInput(f"There is no codec {args.codec!r}.", hint=f"There are {', '.join(sorted(CODECS))}.")
    if args.each:
        for seed in _seeds(args):
            _say(json.dumps(_verdict(args, seed)))
        return 0
    began = time.perf_counter()
    verdicts = sorted(_shown(args), key=lambda verdict: int(verdict["seed"]))
    summary = death_summary(verdicts) if args.deaths is not None else fleet_summary(verdicts)
    said = {"event": "done", **_settings(args), **summary, "wall_s": round(time.perf_counter() - began, 1)}
    report = death_report(said) if args.deaths is not None else fleet_report(said)
    _say(json.dumps(said) if args.json else report)
    return EXIT_FAILED if said["failed"] else 0


def _shown(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """All verdicts; those of an earlier run first."""
    bar = ProgressBar(json=args.json)
    record = VerdictRecord(args.record, _settings(args))
    seeds = _seeds(args)
    done = 0
    try:
        for verdict in record.verdicts(seeds):
            done += 1
            yield verdict
        missing = [seed for seed in seeds if seed not in record.seeds]
        for verdict in _made(args, missing):
            done += 1
            record.add(verdict)
            if args.json and args.deaths is None:
                bar.clear()
                _say(json.dumps({"event": "fleet", **verdict}))
            elif verdict.get("problem"):
                bar.clear()
                _say(json.dumps({"event": "round", **verdict}) if args.json else _sentence(verdict, args))
            bar.show(done / len(seeds), f"{done}/{len(seeds)} {'rounds' if args.deaths is not None else 'fleets'}")
            yield verdict
    finally:
        bar.clear()
        record.close()


def _seeds(args: argparse.Namespace) -> range:
    count = args.rounds if args.deaths is not None else args.fleets or 200
    return range(args.seed, args.seed + count)


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    if args.deaths is not None:
        return {"kind": "deaths", "share": args.deaths}
    return {"kind": "fleets", "numel": args.numel, "chunk_numel": args.chunk, "codec": args.codec}


def _verdict(args: argparse.Namespace, seed: int) -> dict[str, Any]:
    if args.deaths is not None:
        return deaths.death_round(seed, share=args.deaths).as_dict()
    task = RoundTask(numel=args.numel, chunk_numel=args.chunk, codec=args.codec, scale=min(SCALE, args.chunk))
    return fleets.fleet_round(seed, task).as_dict()


def _made(args: argparse.Namespace, seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
    most = ROUNDS_PER_PROCESS if args.deaths is not None else FLEETS_PER_PROCESS
    if args.jobs == 1 or len(seeds) <= most:
        for seed in seeds:
            yield _verdict(args, seed)
        return
    with ThreadPoolExecutor(args.jobs) as pool:
        try:
            ends = [
                pool.submit(in_other_process, args, first, count) for first, count in neighbouring_runs(seeds, most)
            ]
            for end in as_completed(ends):
                yield from end.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def neighbouring_runs(seeds: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Split seeds into runs of neighbours, each with its first seed and at most `most` seeds.

    Args:
        seeds: In ascending order.
        most: Seeds of one run at most.
    """
    first = seeds[0]
    for before, seed in zip(seeds, [*seeds[1:], -1], strict=True):
        if seed != before + 1 or seed - first >= most:
            yield first, before + 1 - first
            first = seed


def in_other_process(args: argparse.Namespace, first: int, count: int) -> list[dict[str, Any]]:
    """Run rounds in another process; its verdicts are those that this process would find.

    Args:
        args: The options of `python -m tests.sim rounds`.
        first: First seed.
        count: Number of seeds.
    """
    if args.deaths is not None:
        options = ["--deaths", str(args.deaths), "--rounds", str(count)]
    else:
        options = [
            "--fleets",
            str(count),
            "--numel",
            str(args.numel),
            "--chunk",
            str(args.chunk),
            "--codec",
            args.codec,
        ]
    done = subprocess.run(
        [sys.executable, "-m", "tests.sim", "rounds", *options, "--seed", str(first), "--jobs", "1", "--each"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    verdicts: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    if len(verdicts) != count:
        raise RuntimeError(f"a process with the seeds from {first} on ended with code {done.returncode}")
    return verdicts


def _sentence(verdict: dict[str, Any], args: argparse.Namespace) -> str:
    return (
        f"Seed {verdict['seed']}: {verdict['problem']}\n"
        f"Repeat it with: python -m tests.sim rounds --deaths {args.deaths} --rounds 1 --seed {verdict['seed']}"
    )


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
