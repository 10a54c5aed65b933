"""`potluck update`: a newer version is looked for, got and taken; and whether that happens by itself."""

import argparse
import asyncio

import msgspec

from core.api.program_folder import ProgramFolder
from core.api.updates import UpdateProgress, UpdateState, UpdateView, told
from core.base.problems import printable
from core.cli.parsing.options import Commands, add_home, add_json
from core.cli.printing.say import say_json
from core.control.engine_file import NotRunning
from core.control.one_call import call_once
from core.net.clock import Clock
from core.storage.paths import Home
from core.system.progress_bar import ProgressBar
from core.updates.getting import Updating, this_program, viewed
from core.updates.source import UpdateSource


def add(commands: Commands) -> None:
    """Add the command to the program."""
    parser = commands.add_parser(
        "update",
        description="Look for a newer version, get it, and take it: an engine that runs finishes its round first.",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="only say whether there is one, and what is new in it")
    how.add_argument("--get", action="store_true", help="have it here; the next start takes it")
    how.add_argument("--off", action="store_true", help="look for newer versions by itself no more")
    how.add_argument("--on", action="store_true", help="look once a day, as at first")
    how.add_argument("--show", action="store_true", help="say what is known, without asking anybody")
    add_home(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Do it, and say what is known then.

    Raises:
        Problem: it cannot be done; the sentence says what to do.
    """
    if args.show and ProgramFolder.here() is None:
        _say(UpdateView(state=UpdateState.NOT_OURS), json=args.json)
        return 0
    program, bar = this_program(), ProgressBar(json=args.json)

    def tell(progress: UpdateProgress) -> None:
        if args.json:
            say_json(msgspec.to_builtins(progress))
        done, total = progress.done_bytes / 1e6, progress.total_bytes / 1e6
        bar.show(progress.done_bytes / max(1, progress.total_bytes), f"downloading, {done:,.0f} of {total:,.0f} MB")

    updating = Updating(program, source=UpdateSource, now=Clock().wall, tell=tell)
    if args.off or args.on:
        updating.choose(on=args.on)
    elif not args.show:
        asyncio.run(updating.look(get=not args.check))
    view = viewed(program)
    _say(view, json=args.json)
    if view.state is UpdateState.READY and not (args.check or args.get or args.off or args.on or args.show):
        _switch(Home.find(args.home), json=args.json)
    return 0


def _switch(home: Home, *, json: bool) -> None:
    """Have an engine that runs go on as the new version."""
    try:
        call_once(home, "update")
    except NotRunning:
        return
    if not json:
        print("The engine goes on with it when the present epoch has ended.")


def _say(view: UpdateView, *, json: bool) -> None:
    if json:
        say_json({"event": "update", **msgspec.to_builtins(view)})
        return
    print("\n".join(str(one) for one in told(view)))
    for line in view.news:
        print(f"  - {printable(line)}")
