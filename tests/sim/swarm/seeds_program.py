"""`python -m tests.sim`: many worlds, in one process or several; says which seed failed and how to repeat it."""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from core.api.numbers import amount
from core.base.problems import BadInput
from core.system.progress_bar import ProgressBar
from tests.sim.moments import epoch_charts
from tests.sim.picture import check_name, draw, save
from tests.sim.swarm.trial import Trial

SEEDS_PER_PROCESS = 4
EXIT_FAILED = 1
SHOWN_MAX = 20


def run(args: argparse.Namespace) -> int:
    """Run worlds.

    Args:
        args: seeds (how many), seed (the first), peers, epochs, jobs (processes at a time), delayed (whether workers
            compute on while a round is averaged), json, picture (None, or where to draw what happened in a single
            world).

    Returns:
        0 when no checker found anything, 1 otherwise.

    Raises:
        BadInput: the picture's name cannot be used, or there are several worlds.
    """
    if args.picture is not None:
        check_name(args.picture)
        if args.seeds > 1:
            raise BadInput("A picture shows one world.", hint="Leave --seeds out.")
    began = time.perf_counter()
    verdicts: list[dict[str, Any]] = []
    bar = ProgressBar(json=args.json)
    pictures: list[str] = []
    try:
        for verdict in _verdicts(args, pictures):
            verdicts.append(verdict)
            failed = sum(not verdict["ok"] for verdict in verdicts)
            bar.show(len(verdicts) / args.seeds, f"{len(verdicts)}/{args.seeds} worlds, {failed} failed")
            if args.json:
                _say(json.dumps({"event": "world", **verdict}))
            elif not verdict["ok"]:
                bar.clear()
                _say(_sentence(verdict, args))
    finally:
        bar.clear()
    seconds = time.perf_counter() - began
    summary = _summary(verdicts, seconds)
    _say(json.dumps(summary) if args.json else _report(summary, args))
    for picture in pictures:
        save(args.picture, picture)
    return EXIT_FAILED if summary["failed"] else 0


def _verdicts(args: argparse.Namespace, pictures: list[str]) -> Iterator[dict[str, Any]]:
    if args.jobs == 1 or args.seeds == 1:
        for seed in range(args.seed, args.seed + args.seeds):
            trial = Trial(seed, peers=args.peers, epochs=args.epochs, delayed=args.delayed)
            verdict = trial.run()
            if args.picture is not None:
                title = f"A swarm of {amount(args.peers)} volunteers, seed {seed}"
                pictures.append(draw(title, f"digest {verdict.digest}", epoch_charts(trial.moments)))
            yield verdict.as_dict()
        return
    firsts = range(args.seed, args.seed + args.seeds, SEEDS_PER_PROCESS)
    with ThreadPoolExecutor(args.jobs) as pool:
        try:
            ends = [pool.submit(_elsewhere, args, first) for first in firsts]
            for end in as_completed(ends):
                yield from end.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _elsewhere(args: argparse.Namespace, first: int) -> list[dict[str, Any]]:
    """Some of the worlds, in a process of their own."""
    count = min(SEEDS_PER_PROCESS, args.seed + args.seeds - first)
    numbers = {"seed": first, "seeds": count, "peers": args.peers, "epochs": args.epochs, "jobs": 1}
    options = [text for name, number in numbers.items() for text in (f"--{name}", str(number))]
    options += ["--delayed"] if args.delayed else []
    done = subprocess.run(
        [sys.executable, "-m", "tests.sim", "swarm", *options, "--json"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    worlds = [verdict for verdict in found if verdict.pop("event") == "world"]
    if len(worlds) != count:
        raise RuntimeError(f"a process with the seeds from {first} on ended with code {done.returncode}")
    return worlds


def _summary(verdicts: Sequence[dict[str, Any]], seconds: float) -> dict[str, Any]:
    return {
        "event": "done",
        "worlds": len(verdicts),
        "failed": sorted(verdict["seed"] for verdict in verdicts if not verdict["ok"]),
        "epochs": sum(verdict["epochs"] for verdict in verdicts),
        "simulated_s": round(sum(verdict["at_s"] for verdict in verdicts)),
        "messages": sum(verdict["messages"] for verdict in verdicts),
        "events": sum(verdict["events"] for verdict in verdicts),
        "slowest_epoch_s": max((verdict["slowest_epoch_s"] for verdict in verdicts), default=0.0),
        "agreed_s": max((verdict["agreed_s"] for verdict in verdicts), default=0.0),
        "truncated": sum(verdict["truncated"] for verdict in verdicts),
        "node_bytes": max((verdict["node_bytes"] for verdict in verdicts), default=0),
        "rounds": dict(sorted(_rounds(verdicts).items())),
        "digests": [verdict["digest"] for verdict in verdicts] if len(verdicts) == 1 else [],
        "seconds": round(seconds, 1),
    }


def _rounds(verdicts: Sequence[dict[str, Any]]) -> Counter[str]:
    """Number of committed rounds of each kind, and in each codec."""
    rounds: Counter[str] = Counter()
    for verdict in verdicts:
        codec = verdict["drawn"].get("codec", "raw")
        rounds.update({**verdict["rounds"], f"in {codec}": verdict["rounds"].get("committed", 0)})
    return rounds


def _report(summary: dict[str, Any], args: argparse.Namespace) -> str:
    failed = summary["failed"]
    simulated = f"{amount(summary['simulated_s'])} simulated seconds, {amount(summary['messages'])} messages"
    lines = [
        f"{_count(summary['worlds'], 'world')} of {args.peers} peers; {simulated}, {amount(summary['seconds'])} s.",
        (
            f"{_count(summary['epochs'], 'epoch')} ended, the slowest after {summary['slowest_epoch_s']:.0f} s; "
            f"all agreed at the latest {summary['agreed_s']:.0f} s after the last fault."
        ),
        (
            f"{_count(summary['truncated'], 'round')} said that parts were missing; "
            f"no machine held more than {amount(summary['node_bytes'] / 1024)} KiB."
        ),
    ]
    lines.append(", ".join(f"{amount(count)} {kind}" for kind, count in summary["rounds"].items()) + " rounds.")
    if failed:
        more = f" and {len(failed) - SHOWN_MAX} more" if len(failed) > SHOWN_MAX else ""
        lines.append(f"{len(failed)} failed: {', '.join(map(str, failed[:SHOWN_MAX]))}{more}.")
    else:
        lines.append("No checker found anything wrong.")
    lines += [f"Digest {digest}." for digest in summary["digests"]]
    return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{amount(number)} {what}{'' if number == 1 else 's'}"


def _sentence(verdict: dict[str, Any], args: argparse.Namespace) -> str:
    return (
        f"Seed {verdict['seed']} failed after {verdict['at_s']} simulated seconds: {verdict['problem']}\n"
        f"Repeat it with: python -m tests.sim swarm --seed {verdict['seed']} --peers {args.peers} "
        f"--epochs {args.epochs}{' --delayed' if args.delayed else ''}"
    )


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
