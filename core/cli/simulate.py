"""`potluck sim`: the swarm's own machines in a pretended world; `potluck sim dht`: a large DHT in one."""

import argparse
import importlib
from pathlib import Path

from core.cli.options import Commands, add_json, calling, whole


def add(commands: Commands) -> None:
    """Add the command to the program."""
    sim = commands.add_parser(
        "sim",
        help="run the swarm in a pretended world",
        description="The swarm's own machines in a pretended world with loss, delay and churn, reproducible by seed.",
    )
    _swarm_options(sim)
    kinds = sim.add_subparsers(metavar="KIND", title="what to run (default: swarm)")
    _swarm_options(kinds.add_parser("swarm", help="worlds of the whole swarm"))
    _dht_options(kinds.add_parser("dht", help="one large DHT"))
    _worlds_options(kinds.add_parser("dht-worlds", help="many small DHTs in which everything goes wrong"))
    _others(kinds, "nat", help_text="peers behind routers that call each other")
    _others(kinds, "attacks", help_text="hostile peers against the DHT, with each defence and without it")


def _swarm_options(sim: argparse.ArgumentParser) -> None:
    add_json(sim)
    sim.add_argument("--seeds", type=whole(1, 1_000_000), default=1, metavar="N", help="how many worlds (default: 1)")
    sim.add_argument("--seed", type=whole(0, 2**63), default=0, metavar="N", help="of the first world (default: 0)")
    sim.add_argument("--peers", type=whole(1, 10_000), default=24, metavar="N", help="in each world (default: 24)")
    sim.add_argument("--epochs", type=whole(1, 10_000), default=3, metavar="N", help="that must end (default: 3)")
    sim.add_argument("--jobs", type=whole(1, 256), default=2, metavar="N", help="worlds at the same time (default: 2)")
    _picture(sim)
    sim.set_defaults(run=calling("core.sim.__main__:run"))


def _dht_options(dht: argparse.ArgumentParser) -> None:
    add_json(dht)
    dht.add_argument("--peers", type=whole(4, 100_000), metavar="N", help="(default: 1000; devices of s000: 91)")
    dht.add_argument("--seed", type=whole(0, 2**63), default=0, metavar="N", help="decides everything (default: 0)")
    dht.add_argument("--stores", type=whole(1, 1_000_000), default=1000, metavar="N", help="(default: 1000)")
    dht.add_argument("--gets", type=whole(1, 1_000_000), default=5000, metavar="N", help="(default: 5000)")
    dht.add_argument(
        "--vanish", type=_share, default=0.25, metavar="SHARE", help="of the peers at once (default: 0.25)"
    )
    dht.add_argument(
        "--hours",
        type=whole(0, 240),
        metavar="N",
        help="of churn instead of vanishing (default: 0; with a pattern: 24)",
    )
    dht.add_argument(
        "--churn",
        default="0.1",
        metavar="PATTERN",
        help="the share replaced an hour (default: 0.1), s000, s003, or a file of measured stays",
    )
    dht.add_argument(
        "--latency", help="circle, synthetic, or a file with a matrix of delays (default: synthetic; with s003: circle)"
    )
    _picture(dht)
    dht.set_defaults(run=calling("core.sim.dht_program:run"))


def _worlds_options(worlds: argparse.ArgumentParser) -> None:
    add_json(worlds)
    worlds.add_argument("--worlds", type=whole(1, 10_000_000), default=1, metavar="N", help="how many (default: 1)")
    worlds.add_argument("--seed", type=whole(0, 2**62), default=0, metavar="N", help="of the first (default: 0)")
    worlds.add_argument("--jobs", type=whole(1, 256), default=2, metavar="N", help="processes at a time (default: 2)")
    worlds.add_argument("--each", action="store_true", help=argparse.SUPPRESS)
    worlds.set_defaults(run=calling("core.sim.dht_many:run"))


def _others(kinds: Commands, name: str, *, help_text: str) -> None:
    """A kind with options of its own: its words are handed on as they are."""
    other = kinds.add_parser(name, help=help_text, add_help=False, prefix_chars="\0")
    other.add_argument("words", nargs=argparse.REMAINDER)

    def run(args: argparse.Namespace) -> int:
        return int(importlib.import_module(f"core.sim.{name}").main(args.words))

    other.set_defaults(run=run)


def _picture(command: argparse.ArgumentParser) -> None:
    command.add_argument("--picture", type=Path, metavar="FILE", help="draw what happened, as .svg or .png")


def _share(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share from 0 to below 1")
    return number
