"""Commands that look at a running engine, or steer it."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from core.api.commands import EngineFile
from core.api.joined import absence, without_screen
from core.api.running import end_by_force, living, why_none_answers
from core.api.snapshot import PROTOCOL_VERSION, Notice, Snapshot
from core.api.verdict import Verdict, VerdictCode, headline, not_connected, sentence
from core.base.problems import UserProblem, printable
from core.cli.parsing.commands import COMMANDS
from core.cli.parsing.options import ATTACHED, Commands, add_home, add_json
from core.cli.printing.say import say_json
from core.cli.printing.tables import leaderboard_text, notice_text, status_text
from core.control.engine_file import END_IT, NoAnswer, NoEntry, NotRunning, engine_of, read_engine_file
from core.control.one_call import call_once
from core.engine.remembered.notice_file import NoticeFile
from core.storage.paths import Home

Command = Callable[[Home, argparse.Namespace], None]
EXIT_NOT_CONNECTED = 2
"""No engine could be asked."""
STATUS_S: Final = 2.5
"""Silence after which an engine counts as one that does not answer, seconds."""
ANSWER_S: Final = 5.0
"""Silence after which an engine that was told to quit is ended by force, seconds."""
QUIT_S: Final = 10.0
"""An engine that has not ended this long after it was told to quit is ended by force, too."""
LOOK_S: Final = 0.1
FAR: Final = "It runs on another computer: end it there, with potluck quit --now"
EXITS: Final[Mapping[VerdictCode, int]] = MappingProxyType(
    {
        VerdictCode.CONTRIBUTING: 0,
        VerdictCode.STARTING: 0,
        VerdictCode.WAITING: 0,
        VerdictCode.CHANGING: 0,
        VerdictCode.RESTING: 3,
        VerdictCode.PAUSED: 3,
        VerdictCode.NOT_CONNECTED: 4,
        VerdictCode.PROBLEM: 4,
        VerdictCode.NO_ANSWER: 5,
    }
)
"""What `potluck status` tells a script, where an engine runs."""


def add(commands: Commands) -> None:
    """Add the commands to the program."""
    for name, command in (
        ("status", None),
        ("quit", _quit),
        ("show", _show),
        ("leaderboard", _leaderboard),
        ("log", _log),
    ):
        parser = commands.add_parser(name, description=f"Ask the running engine: {COMMANDS[name].words}.")
        add_home(parser)
        add_json(parser)
        parser.set_defaults(run=_run_status if command is None else partial(_run, command))
        if name == "status":
            parser.epilog = (
                "exit status: 0 works, 3 rests or is paused, 4 a problem, 2 no engine runs, 5 it does not answer"
            )
        if name == "leaderboard":
            parser.add_argument(
                "--charter", type=Path, metavar="DIR", help="what the backbone of this collaboration has kept"
            )
        if name == "quit":
            parser.add_argument("--now", action="store_true", help="end it by force, with all that it started")
        if name == "log":
            which = parser.add_mutually_exclusive_group()
            which.add_argument("--follow", action="store_true", help="go on as things happen")
            which.add_argument("--all", action="store_true", help="of earlier runs too")


def _run(command: Command, args: argparse.Namespace) -> int:
    command(Home.find(args.home), args)
    return 0


def _run_status(args: argparse.Namespace) -> int:
    """Tell the verdict, also when no engine answers."""
    home = Home.find(args.home)
    snapshot, verdict = _ask_status(home)
    if args.json:
        said = {**msgspec.to_builtins(verdict), "sentence": str(sentence(verdict)), "snapshot": snapshot}
        say_json({"event": "status", **said})
    elif snapshot is not None:
        print(status_text(snapshot))
    else:
        print(printable(f"{headline(verdict)}. {sentence(verdict)} {_next_step(home, verdict)}"))
    return EXIT_NOT_CONNECTED if verdict.code is VerdictCode.NOT_CONNECTED and snapshot is None else EXITS[verdict.code]


def _next_step(home: Home, verdict: Verdict) -> str:
    """What to do where no engine answers."""
    if verdict.code is VerdictCode.NO_ANSWER:
        return END_IT
    if verdict.reason == "refused":
        return "The next start asks again: potluck engine. See all with: potluck collaborations"
    return f"Start it with: potluck, or without a screen: {without_screen(home.directory)}"


def _ask_status(home: Home) -> tuple[Snapshot | None, Verdict]:
    """The engine's state; where none answers, what that means."""
    try:
        snapshot: Snapshot = call_once(home, "snapshot", kind=Snapshot, timeout_s=STATUS_S)
    except (NotRunning, NoAnswer) as problem:
        why = why_none_answers(home.directory, refused=isinstance(problem, NoEntry))
        return None, absence(why, home.directory)
    except UserProblem:
        file = read_engine_file(home)
        return None, not_connected("full" if file is not None and file.protocol == PROTOCOL_VERSION else "version")
    return snapshot, snapshot.verdict


def _leaderboard(home: Home, args: argparse.Namespace) -> None:
    if args.charter is not None:
        from core.cli.organiser.people import leaderboard  # noqa: PLC0415 - reads a charter, which no engine needs

        leaderboard(args)
        return
    snapshot: Snapshot = call_once(home, "snapshot", kind=Snapshot)
    if args.json:
        say_json({"event": "leaderboard", "leaderboard": snapshot.leaderboard})
    else:
        print(leaderboard_text(snapshot.leaderboard))


def _quit(home: Home, args: argparse.Namespace) -> None:
    """End the engine: as it does itself, or by force where it does not answer, does not end, or is to end now."""
    file = engine_of(home, any_version=True)
    forced = args.now or not _told_to_end(home, file)
    if forced and not end_by_force(home.directory, file):
        raise UserProblem(
            "Not all of Potluck could be ended.", file.pid, hint=FAR if file.far else "End process {pid}."
        )
    if args.json:
        say_json({"event": "quit", "forced": forced})
    else:
        print("Potluck was ended by force; what was saved last stays." if forced else "Potluck stops.")


def _told_to_end(home: Home, file: EngineFile) -> bool:
    """Tell an engine to end; returns whether it has.  One that is started at once then is not the second on its home.

    Raises:
        NotRunning: it had ended before.
    """
    try:
        call_once(home, "quit", any_version=True, timeout_s=ANSWER_S)
    except NotRunning:
        if living(file) is None:
            raise
    except UserProblem:  # it says nothing, or has no room for one more that asks
        return False
    end = time.monotonic() + QUIT_S
    while living(file) is not None:
        if time.monotonic() > end:
            return False
        time.sleep(LOOK_S)
    return True


def _show(home: Home, args: argparse.Namespace) -> None:
    windows = int(call_once(home, "show")["clients"])
    if args.json:
        say_json({"event": "show", "clients": windows})
    elif windows == 0:
        print("No window is open. Open one with: potluck")
    else:
        print("A window, if one is open, comes to the front. Open one with: potluck")


def _log(home: Home, args: argparse.Namespace) -> None:
    if args.follow:
        import asyncio  # noqa: PLC0415 - a tenth of a second, which the other commands do not need

        asyncio.run(_follow(home, args))
        return
    if args.all:
        notices = NoticeFile(home.notices_file).read()
    else:
        try:
            notices = call_once(home, "notices", kind=list[Notice])
        except NotRunning as away:
            notices = _last_run(home, away)
    for notice in notices:
        say_notice(notice, json=args.json)


def _last_run(home: Home, away: NotRunning) -> list[Notice]:
    """What an engine told that has ended.

    Raises:
        NotRunning: nothing is known of one.
    """
    notices = [] if os.environ.get(ATTACHED) else NoticeFile(home.notices_file).last_run()
    if not notices:
        raise away
    said = f"{away.message} This is what its last run told; earlier ones: potluck log --all"
    print(f"{said}\nIt is kept in {home.notices_file}", file=sys.stderr)
    return notices


async def _follow(home: Home, args: argparse.Namespace) -> None:
    """Tell the notices that there are, and each new one, until the engine ends."""
    from core.control.client import ControlClient  # noqa: PLC0415 - as above

    last = 0
    async with ControlClient.connect(home) as client:
        for notice in await client.notices():
            say_notice(notice, json=args.json)
            last = notice.number
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
