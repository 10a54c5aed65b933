"""`potluck sim dht`: one large DHT in a pretended world, reported as JSON or in a few lines."""

import argparse
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

from core.sim.dht_run import DhtRun, DhtRunSettings
from core.sim.latency import Latency, read_matrix, synthetic

FOUND_LEAST = 0.999
EXIT_MISSED = 1
TELL_EVERY_S = 10.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--peers", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="decides everything (default: 0)")
    parser.add_argument("--stores", type=int, default=1000, help="by random peers (default: 1000)")
    parser.add_argument("--gets", type=int, default=5000, help="by random peers (default: 5000)")
    parser.add_argument("--vanish", type=float, default=0.25, help="share of the peers (default: 0.25)")
    parser.add_argument("--hours", type=int, default=0, help="of churn instead of vanishing (default: 0)")
    parser.add_argument("--churn", type=float, default=0.1, help="share of the peers replaced an hour (default: 0.1)")
    parser.add_argument("--latency", default="synthetic", help="circle, synthetic, or a file with a matrix of delays")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run it.

    Returns:
        0 if at least 99.9 % of the keys were found in every part, 1 otherwise.

    Raises:
        BadInput: the file of delays cannot be used.
    """
    settings = DhtRunSettings(
        peers=args.peers,
        seed=args.seed,
        stores=args.stores,
        gets=args.gets,
        vanish=args.vanish,
        hours=args.hours,
        churn_per_hour=args.churn,
    )
    said = DhtRun(settings, latency=distances(args.latency, args.seed), report=_Progress()).run()
    said["latency"] = args.latency if args.latency in {"circle", "synthetic"} else "matrix"
    sys.stdout.write((json.dumps(said) if args.json else _text(said)) + "\n")
    shares = [part["found_share"] for part in _parts(said)]
    complete = said["stores"]["stored"] == args.stores
    return 0 if complete and all(share >= FOUND_LEAST for share in shares) else EXIT_MISSED


def distances(name: str, seed: int) -> Latency | None:
    """What `--latency` names; None: the circle.

    Raises:
        BadInput: the file cannot be used.
    """
    match name:
        case "circle":
            return None
        case "synthetic":
            return synthetic(Random(f"sites of world {seed}"))  # noqa: S311 - to be repeated from its seed
        case _:
            return read_matrix(Path(name))


def _parts(said: dict[str, Any]) -> list[dict[str, Any]]:
    parts = [said["gets_cold"], said["gets_warm"], *said.get("churn", ())]
    return [*parts, said["gets_after"]] if "gets_after" in said else parts


def _text(said: dict[str, Any]) -> str:
    stores = said["stores"]
    lines = [
        f"{said['peers']:,} peers, {said['messages']:,} messages, {said['memory_mib']:,} MiB.",
        f"{stores['stored']:,} of {stores['count']:,} stored, {stores['messages_each']} messages each.",
    ]
    lines += [
        f"{part['found']:,} of {part['count']:,} found, {part['messages_each']} messages and {part['hops_mean']} hops "
        f"each, p50 {part['p50_ms']} ms, p95 {part['p95_ms']} ms."
        for part in _parts(said)
    ]
    return "\n".join([*lines, f"Digest {said['digest']}."])


class _Progress:
    """A line on stderr every ten seconds."""

    def __init__(self) -> None:
        self._told = time.perf_counter()

    def __call__(self, what: str, share: float) -> None:
        now = time.perf_counter()
        if now - self._told >= TELL_EVERY_S:
            self._told = now
            sys.stderr.write(f"{what}: {share:.0%}\n")
            sys.stderr.flush()


def main(argv: Iterable[str]) -> int:
    """`python -m core.sim dht`."""
    parser = argparse.ArgumentParser(prog="python -m core.sim dht", description="A large DHT in a pretended world.")
    add_options(parser)
    return run(parser.parse_args(list(argv)))
