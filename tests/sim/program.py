"""The command line of the simulator: whole swarms, large DHTs, rounds, routers, shards, attacks."""

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from core.base.problems import quoted
from core.cli.parsing.options import add_json, calling, whole
from core.cli.parsing.parser import Parser
from core.cli.program import run_with

WANTED_SHARDS: Final = 10
"""Number of shards that each newcomer to `shards` wants."""


def share(text: str) -> float:
    """A type for argparse: a share from 0 to below 1."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not a number") from None
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share from 0 to below 1")
    return number


def main(argv: Sequence[str]) -> int:
    """Run one simulation; returns the exit code (`core.cli.program.run_with`)."""
    return run_with(parser, argv)


def parser() -> Parser:
    """The parser of all simulations."""
    sim = Parser(
        prog="python -m tests.sim",
        description="The swarm's own machines in a simulated world with loss, delay and churn, reproducible by seed.",
    )
    sim.set_defaults(json=False)
    kinds = sim.add_subparsers(metavar="KIND", title="what to run", required=True)
    _swarm_options(kinds.add_parser("swarm", help="worlds of the whole swarm"))
    about = (
        "One large DHT: all peers join, some store, others get twice; then a share of the peers vanishes at once, or "
        "peers come and go for --hours, and every key is read again.  Ends with 1 if anything was not stored, or less "
        "than 99.9 % found."
    )
    _dht_options(kinds.add_parser("dht", help="one large DHT", description=about))
    _worlds_options(kinds.add_parser("dht-worlds", help="many small DHTs in which everything goes wrong"))
    about = (
        "Averaging rounds of the real machines, where nothing costs but the members' lines: on random fleets, beside "
        "what the lines allow; or with members that die (--deaths), under checkers.  Ends with 1 if a fleet takes "
        "more than 1.05 times its bound, or a checker found something."
    )
    _rounds_options(kinds.add_parser("rounds", help="averaging rounds on many fleets of lines", description=about))
    about = (
        "The averaging experiments of the DeDLOC paper with the real machines, its numbers beside ours: table 1, "
        "figure 4 and figure 5.  What is compared, and why it differs, is in docs/papers.md."
    )
    _paper_options(kinds.add_parser("paper", help="the averaging experiments of the paper", description=about))
    about = (
        "Series of rounds in which one member holds up the others, out of malice or bad luck, with memory from round "
        "to round; and the same without some of the mechanisms against that.  Ends with 1 if two honest members held "
        "different means."
    )
    _stragglers_options(kinds.add_parser("stragglers", help="members that hold up the others", description=about))
    about = (
        "Members that read a data set, one shard after the other, and share what they have read, with home lines and "
        "small disks, while peers come and go.  Ends with 1 if the origin gave the data set twice, a shard that had "
        "three holders had fewer later, or ten shards took newcomers 1.5 times as long as their own lines would."
    )
    _shards_options(kinds.add_parser("shards", help="shards of the data shared between members", description=about))
    about = (
        "Trainers seek experts in the real DHT machines, among peers in three regions, with nothing read and again.  "
        "Ends with 1 where that takes longer than it should, or an owner of a row was missed."
    )
    _experts_options(kinds.add_parser("experts", help="how long trainers seek experts", description=about))
    _others(kinds, "nat", help_text="peers behind routers that call each other")
    _others(kinds, "attacks", help_text="hostile peers against the DHT, with each defence and without it")
    return sim


def _experts_options(sim: argparse.ArgumentParser) -> None:
    add_json(sim)
    peers = whole(8, 100_000)
    sim.add_argument(
        "--peers",
        type=lambda words: [peers(word) for word in words.split(",")],
        default=[100, 1_000, 10_000],
        metavar="N,N",
        help="in each world (default: 100,1000,10000)",
    )
    sim.add_argument("--silent", type=share, default=0.2, metavar="SHARE", help="and with so many gone (default: 20%%)")
    sim.add_argument("--searches", type=whole(1, 1000), default=20, metavar="N", help="in each world (default: 20)")
    sim.add_argument("--seed", type=whole(0, 2**63), default=0, metavar="N", help="of the first world (default: 0)")
    sim.set_defaults(run=calling("tests.sim.dht.experts:run"))


def _swarm_options(sim: argparse.ArgumentParser) -> None:
    add_json(sim)
    sim.add_argument("--seeds", type=whole(1, 1_000_000), default=1, metavar="N", help="how many worlds (default: 1)")
    sim.add_argument("--seed", type=whole(0, 2**63), default=0, metavar="N", help="of the first world (default: 0)")
    sim.add_argument("--peers", type=whole(1, 10_000), default=24, metavar="N", help="in each world (default: 24)")
    sim.add_argument("--epochs", type=whole(1, 10_000), default=3, metavar="N", help="that must end (default: 3)")
    sim.add_argument("--jobs", type=whole(1, 256), default=2, metavar="N", help="worlds at the same time (default: 2)")
    sim.add_argument("--delayed", action="store_true", help="workers compute on while a round is averaged")
    _picture(sim)
    sim.set_defaults(run=calling("tests.sim.swarm.seeds_program:run"))


def _dht_options(dht: argparse.ArgumentParser) -> None:
    add_json(dht)
    dht.add_argument("--peers", type=whole(4, 100_000), metavar="N", help="(default: 1000; devices of s000: 91)")
    dht.add_argument("--seed", type=whole(0, 2**63), default=0, metavar="N", help="decides everything (default: 0)")
    dht.add_argument("--stores", type=whole(1, 1_000_000), default=1000, metavar="N", help="(default: 1000)")
    dht.add_argument("--gets", type=whole(1, 1_000_000), default=5000, metavar="N", help="(default: 5000)")
    dht.add_argument("--vanish", type=share, metavar="SHARE", help="of the peers at once (default: 0.25)")
    dht.add_argument(
        "--hours",
        type=whole(0, 240),
        metavar="N",
        help="of churn instead of vanishing (default: 0; with a pattern: 24)",
    )
    dht.add_argument(
        "--churn",
        metavar="PATTERN",
        help="the share replaced an hour (default: 0.1), s000, s003, or a file of measured stays",
    )
    dht.add_argument(
        "--latency",
        metavar="WHICH",
        help="circle, synthetic, or a file with a matrix of delays (default: synthetic; with s003: circle)",
    )
    _picture(dht)
    dht.set_defaults(run=calling("tests.sim.dht.program:run"))


def _worlds_options(worlds: argparse.ArgumentParser) -> None:
    add_json(worlds)
    worlds.add_argument("--worlds", type=whole(1, 10_000_000), default=1, metavar="N", help="how many (default: 1)")
    worlds.add_argument("--seed", type=whole(0, 2**62), default=0, metavar="N", help="of the first (default: 0)")
    worlds.add_argument("--jobs", type=whole(1, 256), default=2, metavar="N", help="processes at a time (default: 2)")
    worlds.add_argument("--each", action="store_true", help=argparse.SUPPRESS)
    worlds.set_defaults(run=calling("tests.sim.dht.many:run"))


def _rounds_options(rounds: argparse.ArgumentParser) -> None:
    add_json(rounds)
    rounds.add_argument("--fleets", type=whole(1, 1_000_000), metavar="N", help="how many fleets (default: 200)")
    rounds.add_argument("--numel", type=whole(1, 10**9), default=4_500_000, metavar="N", help="(default: 4500000)")
    rounds.add_argument("--chunk", type=whole(1, 262_144), default=65_536, metavar="N", help="numbers in a chunk")
    rounds.add_argument("--codec", default="raw", metavar="NAME", help="how numbers look on the lines (default: raw)")
    rounds.add_argument("--deaths", type=share, metavar="SHARE", help="of the members of each round die, instead")
    rounds.add_argument("--rounds", type=whole(1, 10**7), default=1000, metavar="N", help="with deaths (default: 1000)")
    rounds.add_argument("--seed", type=whole(0, 2**62), default=0, metavar="N", help="of the first (default: 0)")
    rounds.add_argument("--jobs", type=whole(1, 256), default=2, metavar="N", help="processes at a time (default: 2)")
    rounds.add_argument("--record", type=Path, metavar="FILE", help="keep what is done there, and go on from it")
    rounds.add_argument("--each", action="store_true", help=argparse.SUPPRESS)
    rounds.set_defaults(run=calling("tests.sim.rounds_program:run"))


def _stragglers_options(stragglers: argparse.ArgumentParser) -> None:
    add_json(stragglers)
    stragglers.add_argument("--seeds", type=whole(1, 1000), default=1, metavar="N", help="how many (default: 1)")
    stragglers.add_argument("--seed", type=whole(0, 2**63), default=0, metavar="N", help="the first (default: 0)")
    stragglers.add_argument("--without", action="append", default=[], metavar="NAME", help="switch a mechanism off")
    stragglers.set_defaults(run=calling("tests.sim.stragglers_program:run"))


def _shards_options(shards: argparse.ArgumentParser) -> None:
    add_json(shards)
    shards.add_argument("--seeds", type=whole(1, 1000), default=1, metavar="N", help="how many (default: 1)")
    shards.add_argument("--seed", type=whole(0, 2**63), default=0, metavar="N", help="the first (default: 0)")
    shards.add_argument("--peers", type=whole(2, 10_000), default=200, metavar="N", help="(default: 200)")
    shards.add_argument("--shards", type=whole(WANTED_SHARDS, 65_536), default=200, metavar="N", help="(default: 200)")
    shards.add_argument("--disk", type=share, default=0.05, metavar="SHARE", help="of the shards, on each disk (0.05)")
    shards.add_argument("--hours", type=float, default=3.0, metavar="N", help="simulated, at most (default: 3)")
    shards.add_argument("--churn", default="", metavar="KIND", help="s000, s003, or a file (default: peers stay)")
    about = "a member that has all shards is there for so long, and never an origin (default: an origin)"
    shards.add_argument("--seeder", type=float, metavar="MINUTES", help=about)
    without = ("rarest", "commonest")
    shards.add_argument("--without", choices=without, default="", help="switch a mechanism off")
    shards.set_defaults(run=calling("tests.sim.shards.program:run"))


def _paper_options(paper: argparse.ArgumentParser) -> None:
    add_json(paper)
    paper.add_argument("--only", choices=("table1", "figure4", "figure5"), help="(default: all)")
    paper.add_argument("--rounds", type=whole(1, 1000), default=3, metavar="N", help="of each setup (default: 3)")
    paper.add_argument("--nodes", type=whole(2, 512), default=512, metavar="N", help="at most, in figure 5")
    paper.set_defaults(run=calling("tests.sim.paper_program:run"))


def _others(kinds: Any, name: str, *, help_text: str) -> None:
    """A kind with options of its own: its words are handed on as they are."""
    other = kinds.add_parser(name, help=help_text, add_help=False, prefix_chars="\0")
    other.add_argument("words", nargs=argparse.REMAINDER)

    def run(args: argparse.Namespace) -> int:
        return int(importlib.import_module(f"tests.sim.{name}.program").main(args.words))

    other.set_defaults(run=run)


def _picture(command: argparse.ArgumentParser) -> None:
    command.add_argument("--picture", type=Path, metavar="FILE", help="draw what happened, as .svg or .png")
