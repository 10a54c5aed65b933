"""The command `potluck experts`: who hosts which expert of the model, and how old the newest copies are."""

import argparse
import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from core.api.numbers import amount, lasting
from core.api.reports import ExpertPlaceView, ExpertsView
from core.base.problems import printable
from core.cli.engine.control import EXIT_NOT_CONNECTED
from core.cli.parsing.options import Commands, add_home, add_json
from core.cli.printing.say import say_json
from core.control.client import ControlClient
from core.storage.paths import Home

PLACES_SHOWN: Final = 256
"""Number of places that are listed without being asked for."""
NAMES_SHOWN: Final = 3


def add(commands: Commands) -> None:
    """Add the command to the program."""
    parser = commands.add_parser(
        "experts",
        description="Ask the running engine who hosts which expert of the model.  It reads anew what hosts say, which "
        "takes two seconds.  Hosts tell their word: whether an expert answers, trainers find out.",
        epilog="exit status: 0, or 2 where no engine runs or the model has no experts",
    )
    add_home(parser)
    add_json(parser)
    parser.add_argument("--all", action="store_true", help=f"list all places, also where there are over {PLACES_SHOWN}")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask, and show the answer.

    Raises:
        NotRunning: no engine runs.
    """
    seen = asyncio.run(experts_of(Home.find(args.home)))
    if args.json:
        say_json({"event": "experts", "experts": seen})
    else:
        print("\n".join(lines(seen, every=args.all)))
    return 0 if seen.layers else EXIT_NOT_CONNECTED


async def experts_of(home: Home, gather_s: float = 0.0) -> ExpertsView:
    """What the engine knows of experts.

    Args:
        home: The engine's.
        gather_s: For so long it is to gather copies of all of them, seconds.

    Raises:
        NotRunning: no engine runs.
        Problem: it does not answer.
    """
    async with ControlClient.connect(home) as client:
        return msgspec.convert(await client.call("experts", gather_s=gather_s), ExpertsView)


def lines(seen: ExpertsView, *, every: bool = False) -> Iterator[str]:
    """For a person: a table of layers, and one of places.

    Args:
        seen: What the engine knows.
        every: List the places however many there are.
    """
    if not seen.layers:
        yield "The model has no experts, or this computer has joined no collaboration."
        return
    by_layer: defaultdict[int, list[ExpertPlaceView]] = defaultdict(list)
    for one in seen.known:
        by_layer[one.layer].append(one)
    yield f"This computer has answered {amount(seen.answered)} requests since its engine was started."
    yield f"{'Layer':<8}{'Live':<16}{'With a copy':<16}{'Oldest copy':<16}Rows answered here"
    for layer in range(1, seen.layers + 1):
        places = by_layer[layer]
        live, kept = sum(bool(one.hosts) for one in places), [one for one in places if one.copies]
        oldest = max((_age_s(one, seen) for one in kept), default=None)
        yield (
            f"{layer:<8}{f'{live} of {seen.places}':<16}{f'{len(kept)} of {seen.places}':<16}"
            f"{_lasting(oldest):<16}{amount(sum(one.rows for one in places))}"
        )
    nowhere = seen.layers * seen.places - sum(bool(one.hosts) for one in seen.known)
    if nowhere:
        yield (
            f"{amount(nowhere)} of the experts live nowhere. A computer that has room takes them within a minute; "
            "if they stay, more computers are needed."
        )
    if not every and len(seen.known) > PLACES_SHOWN:
        yield f"There are {amount(len(seen.known))} places; list them with: potluck experts --all"
        return
    yield ""
    yield f"{'Place':<14}{'Hosts':<34}{'Newest copy':<16}{'Copies':<8}Rows answered here"
    for one in seen.known:
        named = f"{one.layer}: {'-'.join(map(str, one.place))}"
        age = _lasting(_age_s(one, seen) if one.copies else None)
        yield f"{named:<14}{_hosts(one.hosts):<34}{age:<16}{one.copies:<8}{amount(one.rows)}"


def _hosts(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return printable(", ".join(names[:NAMES_SHOWN]) + more)[:32] or "nobody"


def _age_s(one: ExpertPlaceView, seen: ExpertsView) -> float:
    return max(0.0, seen.time - one.saved)


def _lasting(age_s: float | None) -> str:
    return "-" if age_s is None else str(lasting(age_s))
