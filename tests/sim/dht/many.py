"""`python -m tests.sim dht-worlds`: thousands of small DHT worlds, in several processes; says which seed failed."""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from core.api.numbers import amount
from core.system.progress_bar import ProgressBar
from tests.sim.dht.worlds import SmallWorld

SEEDS_PER_PROCESS = 50
EXIT_FAILED = 1


def run(args: argparse.Namespace) -> int:
    """Run worlds.

    Args:
        args: worlds (how many), seed (the first), jobs (processes at a time), json, each (print each verdict and
            nothing else).

    Returns:
        0 when no checker found anything, 1 otherwise.
    """
    if args.each:
        for verdict in _verdicts(args):
            _say(json.dumps(verdict))
        return 0
    began = time.perf_counter()
    total = {"worlds": 0, "stored": 0, "read": 0, "found_at_the_end": 0, "lost": 0, "messages": 0}
    failed: list[int] = []
    bar = ProgressBar(json=args.json)
    try:
        for verdict in _verdicts(args):
            total["worlds"] += 1
            for name in total.keys() - {"worlds"}:
                total[name] += verdict[name]
            if not verdict["ok"]:
                failed.append(verdict["seed"])
                bar.clear()
                _say(json.dumps({"event": "world", **verdict}) if args.json else _sentence(verdict))
            bar.show(total["worlds"] / args.worlds, f"{total['worlds']}/{args.worlds} worlds, {len(failed)} failed")
    finally:
        bar.clear()
    summary = {"event": "done", **total, "failed": sorted(failed), "seconds": round(time.perf_counter() - began, 1)}
    if args.worlds == 1 and not failed:
        summary["digest"] = SmallWorld(args.seed).run().digest
    _say(json.dumps(summary) if args.json else _report(summary))
    return EXIT_FAILED if failed else 0


def _verdicts(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    if args.jobs == 1 or args.worlds <= SEEDS_PER_PROCESS:
        for seed in range(args.seed, args.seed + args.worlds):
            yield SmallWorld(seed).run().as_dict()
        return
    with ThreadPoolExecutor(args.jobs) as pool:
        firsts = range(args.seed, args.seed + args.worlds, SEEDS_PER_PROCESS)
        try:
            ends = [pool.submit(_elsewhere, first, args.seed + args.worlds) for first in firsts]
            for end in as_completed(ends):
                yield from end.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _elsewhere(first: int, end: int) -> list[dict[str, Any]]:
    """Some of the worlds, in a process of their own."""
    count = min(SEEDS_PER_PROCESS, end - first)
    options = ["--seed", str(first), "--worlds", str(count), "--jobs", "1", "--each"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.sim", "dht-worlds", *options],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    worlds: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    if len(worlds) != count:
        raise RuntimeError(f"a process with the seeds from {first} on ended with code {done.returncode}")
    return worlds


def _sentence(verdict: dict[str, Any]) -> str:
    return (
        f"Seed {verdict['seed']} failed after {verdict['at_s']} simulated seconds: {verdict['problem']}\n"
        f"Repeat it with: python -m tests.sim dht-worlds --seed {verdict['seed']}"
    )


def _report(summary: dict[str, Any]) -> str:
    failed = summary["failed"]
    worlds = "1 world" if summary["worlds"] == 1 else f"{amount(summary['worlds'])} worlds"
    ran = f"{worlds}, {amount(summary['messages'])} messages"
    kept = summary["found_at_the_end"] / max(summary["found_at_the_end"] + summary["lost"], 1)
    return "\n".join(
        [
            f"{ran}, {amount(summary['seconds'])} s.",
            f"{amount(summary['stored'])} stores and {amount(summary['read'])} reads.",
            f"{kept:.1%} of the live records were still found after all that went wrong.",
            f"{len(failed)} failed: {', '.join(map(str, failed))}." if failed else "No checker found anything wrong.",
            *([f"Digest {summary['digest']}."] if "digest" in summary else []),
        ]
    )


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
