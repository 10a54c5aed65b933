"""Commands that begin with a recipe: `found`, `plan`, `train`."""

import argparse
from pathlib import Path

from core.cli.parsing.options import Commands, add_home, add_hosts, add_json, add_lasting, add_metrics, calling, whole


def add(commands: Commands) -> None:
    """Add the commands to the program."""
    _add_found(commands)
    _add_hosting(commands)
    _add_plan(commands)
    _add_train(commands)


def _add_found(commands: Commands) -> None:
    found = commands.add_parser(
        "found",
        description="Read the text, cut it into shards that the backbone gives to volunteers, make keys and files, "
        "say what a volunteer needs.  Without a recipe it asks.",
    )
    _add_recipe(found, optional=True)
    add_home(found)
    _add_start(found)
    words = "go on from the model of a collaboration that this computer took part in, or of the charter in a folder"
    found.add_argument("--go-on", default="", metavar="NAME", help=words)
    words = "with --go-on: where shards of its text lie that Potluck has not kept here"
    found.add_argument("--shards", type=Path, metavar="DIR", help=words)
    found.add_argument("--name", default="", help="what the collaboration is called (default: as the recipe says)")
    found.add_argument("--organiser", default="", metavar="NAME", help="who runs it, for its volunteers to know")
    found.add_argument("--summary", default="", metavar="WORDS", help="what it is for, in a sentence")
    found.add_argument("--licence", default="", metavar="WORDS", help="of the text, where the recipe names none")
    found.add_argument("--credit", default="", metavar="WORDS", help="who made the text, where the recipe names nobody")
    add_lasting(found, link="the first link")
    found.add_argument("--charter", type=Path, metavar="DIR", help="where it goes (default: here, by its name)")
    add_hosts(found, words="address at which others find the backbone; it is kept")
    found.add_argument(
        "--desk-port", type=whole(1, 65_535), metavar="N", help="port that the link names (default: a free one, kept)"
    )
    words = "this computer's Potluck runs the backbone and takes part; the charter goes into its home, unless named"
    found.add_argument("--with-engine", action="store_true", help=words)
    found.add_argument("--progress", action="store_true", help="print a line of JSON, too, for each step on the way")
    found.set_defaults(run=_run_found)


def _add_hosting(commands: Commands) -> None:
    host = commands.add_parser(
        "host",
        description="Have this computer's Potluck run the backbone of a charter, and take part in its collaboration.  "
        "The backbone begins and ends with Potluck.",
    )
    host.add_argument("folder", type=Path, metavar="DIR", help="the collaboration's manifest, keys and files")
    host.add_argument("--stop", action="store_true", help="run it no more; members train on without it for four days")
    where = commands.add_parser(
        "where",
        description="From where others could reach a backbone of this computer: its addresses, and whether the router "
        "opens ports, which is tried with one that is given back.",
    )
    for command, function in ((host, "run"), (where, "where")):
        add_home(command)
        add_json(command)
        command.set_defaults(run=calling(f"core.cli.organiser.host:{function}"))


def _run_found(args: argparse.Namespace) -> int:
    return calling(f"core.cli.organiser.{'go_on' if args.go_on else 'found'}:run")(args)


def _add_plan(commands: Commands) -> None:
    plan = commands.add_parser(
        "plan",
        description="Measure a few batches of the real model; reckon epochs, memory, disk and traffic from that.",
    )
    _add_recipe(plan)
    _add_machine(plan)
    _add_changes(plan)
    plan.add_argument("--peers", type=whole(2, 100_000), default=8, metavar="N", help="computers like it (default: 8)")
    plan.add_argument("--upload", default="20mbit", metavar="RATE", help="line of each (default: 20mbit)")
    plan.add_argument("--seconds", type=whole(1, 3600), default=15, metavar="N", help="measure so long (default: 15)")
    plan.set_defaults(run=calling("core.cli.organiser.recipes:run_plan"))


def _add_train(commands: Commands) -> None:
    train = commands.add_parser(
        "train",
        description=(
            "The same training without a swarm.  Ctrl-C keeps the last epoch, from which the next run goes on.  "
            "Several values for --set, with commas between, are several runs, with a table at the end."
        ),
    )
    _add_recipe(train)
    add_home(train)
    _add_machine(train)
    _add_changes(train)
    _add_start(train)
    train.add_argument("--epochs", type=whole(1, 1_000_000_000), metavar="N", help="so many more (default: go on)")
    train.add_argument("--profile", action="store_true", help="write a trace of the first epoch's first batches")
    add_metrics(train)
    train.set_defaults(run=calling("core.cli.train:run"))


def _add_recipe(command: argparse.ArgumentParser, *, optional: bool = False) -> None:
    words = "a recipe: a file, or the name of one that comes along"
    command.add_argument("recipe", nargs="?" if optional else None, metavar="RECIPE", help=words)
    command.add_argument("--text", type=Path, metavar="DIR", help="text to learn (default: the recipe's)")
    add_json(command)


def _add_changes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="another value for a key of the recipe, such as optimizer.learning_rate=0.002",
    )
    command.add_argument("--seed", type=whole(0, 2**53 - 1), metavar="N", help="the same as --set seed=N: runs repeat")


def _add_start(command: argparse.ArgumentParser) -> None:
    words = "begin with the model that transformers or potluck export wrote there"
    command.add_argument("--start", type=Path, metavar="DIR", help=words)


def _add_machine(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--device", default="cpu", metavar="NAME", help="such as cuda, or cuda:0,cuda:1 (default: cpu)"
    )
    command.add_argument("--threads", type=whole(0, 1024), metavar="N", help="processor threads (default: all but one)")
