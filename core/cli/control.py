"""Commands that look at a running engine, or steer it."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

import msgspec

from core.api.snapshot import PROTOCOL_VERSION, Notice, Snapshot
from core.api.verdict import Verdict, VerdictCode, decide, headline, not_connected, sentence
from core.base.problems import UserProblem
from core.cli.options import Commands, add_home, add_json
from core.cli.say import say_json
from core.cli.tables import leaderboard_text, notice_text, status_text
from core.control.client import ControlClient, NotRunning, read_engine_file
from core.engine.notice_file import NoticeFile
from core.storage.paths import Home

Command = Callable[[ControlClient, argparse.Namespace], Awaitable[None]]
EXIT_NOT_CONNECTED = 2
"""No engine could be asked."""
EXITS: Final[Mapping[VerdictCode, int]] = MappingProxyType(
    {
        VerdictCode.CONTRIBUTING: 0,
        VerdictCode.STARTING: 0,
        VerdictCode.RESTING: 3,
        VerdictCode.PAUSED: 3,
        VerdictCode.NOT_CONNECTED: 4,
        VerdictCode.PROBLEM: 4,
    }
)
"""What `potluck status` tells a script, of an engine that answers."""


def add(commands: Commands) -> None:
    """Add the commands to the program."""
    for name, words, command in (
        ("status", "what the engine does, and why", None),
        ("quit", "stop the engine", _quit),
        ("show", "bring the window to the front", _show),
        ("leaderboard", "who gave how much", _leaderboard),
        ("log", "what happened", _log),
    ):
        parser = commands.add_parser(name, help=words, description=f"Ask the running engine: {words}.")
        add_home(parser)
        add_json(parser)
        parser.set_defaults(run=_run_status if command is None else partial(_run, command))
        if name == "status":
            parser.epilog = "exit status: 0 works, 3 rests or is paused, 4 a problem, 2 no engine answers"
        if name == "log":
            which = parser.add_mutually_exclusive_group()
            which.add_argument("--follow", action="store_true", help="go on as things happen")
            which.add_argument("--all", action="store_true", help="of earlier runs too, also when no engine runs")


def _run(command: Command, args: argparse.Namespace) -> int:
    if getattr(args, "all", False):
        for notice in NoticeFile(Home.find(args.home).notices_file).read():
            say_notice(notice, json=args.json)
        return 0

    async def connected() -> None:
        async with ControlClient.connect(Home.find(args.home), any_version=command is _quit) as client:
            await command(client, args)

    asyncio.run(connected())
    return 0


def _run_status(args: argparse.Namespace) -> int:
    """Tell the verdict, also when no engine answers."""
    home = Home.find(args.home)
    snapshot, verdict = asyncio.run(_ask_status(home))
    if args.json:
        said = {**msgspec.to_builtins(verdict), "sentence": sentence(verdict), "snapshot": snapshot}
        say_json({"event": "status", **said})
    elif snapshot is not None:
        print(status_text(snapshot))
    else:
        print(f"{headline(verdict)}. {sentence(verdict)} Start it with: potluck, or without a screen: potluck engine")
    return EXIT_NOT_CONNECTED if snapshot is None else EXITS[verdict.code]


async def _ask_status(home: Home) -> tuple[Snapshot | None, Verdict]:
    """The engine's state; where none answers, what that means."""
    try:
        async with ControlClient.connect(home) as client:
            snapshot = await client.snapshot()
            return snapshot, snapshot.verdict
    except (NotRunning, TimeoutError):
        absence = "stopped" if read_engine_file(home) is None else "killed"
    except UserProblem:
        file = read_engine_file(home)
        absence = "full" if file is not None and file.protocol == PROTOCOL_VERSION else "version"
    return None, decide(absence=not_connected(absence))


async def _leaderboard(client: ControlClient, args: argparse.Namespace) -> None:
    snapshot = await client.snapshot()
    if args.json:
        say_json({"event": "leaderboard", "leaderboard": snapshot.leaderboard})
    else:
        print(leaderboard_text(snapshot.leaderboard))


async def _quit(client: ControlClient, args: argparse.Namespace) -> None:
    await client.call("quit")
    if args.json:
        say_json({"event": "quit"})
    else:
        print("Potluck stops.")


async def _show(client: ControlClient, args: argparse.Namespace) -> None:
    told = await client.call("show")
    others = int(told["clients"]) - 1
    if args.json:
        say_json({"event": "show", "clients": others})
    elif others == 0:
        print("No window is open. Open one with: potluck")


async def _log(client: ControlClient, args: argparse.Namespace) -> None:
    last = 0
    for notice in await client.notices():
        say_notice(notice, json=args.json)
        last = notice.number
    if not args.follow:
        return
    async for told in client.notifications():
        if isinstance(told, Notice) and told.number > last:
            say_notice(told, json=args.json)
            last = told.number
    print("Potluck has stopped.", file=sys.stderr)


def say_notice(notice: Notice, *, json: bool) -> None:
    """Print a notice of the engine as one line."""
    if json:
        say_json({"event": "notice", "notice": notice})
    else:
        print(notice_text(notice), flush=True)
