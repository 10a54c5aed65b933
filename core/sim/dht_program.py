"""`potluck sim dht`: one large DHT in a pretended world, reported as JSON or in a few lines."""

import argparse
import gc
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

from core.api.numbers import amount
from core.sim.bar import Bar
from core.sim.dht_run import DhtRun, DhtRunSettings
from core.sim.latency import Latency, read_matrix, synthetic
from core.sim.moments import lookup_charts
from core.sim.picture import check_name, draw, save
from core.sim.stays import S000, S000_DEVICES, S003, Pattern, read_pattern

FOUND_LEAST = 0.999
EXIT_MISSED = 1
PEERS = 1000
PATTERN_HOURS = 24
CHURN_HELP = "share of the peers replaced an hour (default: 0.1), s000, s003, or a file of measured stays"
LATENCY_HELP = "circle, synthetic, or a file with a matrix of delays (default: synthetic; with s003: circle)"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--peers", type=int, help="how many (default: 1000, or the 91 devices of s000)")
    parser.add_argument("--seed", type=int, default=0, help="decides everything (default: 0)")
    parser.add_argument("--stores", type=int, default=1000, help="by random peers (default: 1000)")
    parser.add_argument("--gets", type=int, default=5000, help="by random peers (default: 5000)")
    parser.add_argument("--vanish", type=float, default=0.25, help="share of the peers (default: 0.25)")
    parser.add_argument(
        "--hours", type=int, help="of churn instead of vanishing (default: 0, or 24 if --churn names a pattern)"
    )
    parser.add_argument("--churn", default="0.1", help=CHURN_HELP)
    parser.add_argument("--latency", help=LATENCY_HELP)
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw what happened into FILE, .svg or .png")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run it.

    Returns:
        0 if at least 99.9 % of the keys were found in every part, 1 otherwise.

    Raises:
        BadInput: the file of delays or of stays, or the picture's name, cannot be used.
    """
    if args.picture is not None:
        check_name(args.picture)
    settings = settings_of(args)
    distance = args.latency or ("circle" if settings.churn is S003 else "synthetic")
    bar = Bar(json=args.json)

    parts: set[str] = set()

    def report(what: str, share: float) -> None:
        bar.show(share, f"{what}: {share:.0%}", part=what)
        if what not in parts:
            parts.add(what)
            gc.collect()  # peers that have gone

    trial = DhtRun(settings, latency=distances(distance, args.seed), report=report)
    gc.disable()  # looking for cycles among millions of objects all the time takes a third of it
    said = trial.run()
    gc.enable()
    bar.clear()
    said["latency"] = distance if distance in {"circle", "synthetic"} else "matrix"
    sys.stdout.write((json.dumps(said) if args.json else _text(said)) + "\n")
    if args.picture is not None:
        title = f"A DHT of {amount(settings.peers)} peers, seed {args.seed}"
        save(args.picture, draw(title, f"digest {said['digest']}", lookup_charts(trial.moments)))
    shares = [part["found_share"] for part in _parts(said)]
    complete = said["stores"]["stored"] == args.stores
    return 0 if complete and all(share >= FOUND_LEAST for share in shares) else EXIT_MISSED


def settings_of(args: argparse.Namespace) -> DhtRunSettings:
    """The options as settings.

    Raises:
        BadInput: the churn is none.
    """
    churn = read_pattern(args.churn)
    named = isinstance(churn, Pattern)
    return DhtRunSettings(
        peers=args.peers or (S000_DEVICES if churn is S000 else PEERS),
        seed=args.seed,
        stores=args.stores,
        gets=args.gets,
        vanish=args.vanish,
        hours=(PATTERN_HOURS if named else 0) if args.hours is None else args.hours,
        churn=churn,
    )


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
        f"{amount(said['peers'])} peers, {amount(said['messages'])} messages, {amount(said['memory_mib'])} MiB.",
        f"{amount(stores['stored'])} of {amount(stores['count'])} stored, {stores['messages_each']} messages each.",
    ]
    lines += [
        f"{amount(part['found'])} of {amount(part['count'])} found, "
        f"{part['messages_each']} messages and {part['hops_mean']} hops each, "
        f"p50 {part['p50_ms']} ms, p95 {part['p95_ms']} ms."
        for part in _parts(said)
    ]
    return "\n".join([*lines, f"Digest {said['digest']}."])


def main(argv: Iterable[str]) -> int:
    """`python -m core.sim dht`."""
    parser = argparse.ArgumentParser(prog="python -m core.sim dht", description="A large DHT in a pretended world.")
    add_options(parser)
    return run(parser.parse_args(list(argv)))
