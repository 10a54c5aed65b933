"""`potluck startup`: what starts at login, and that links open Potluck."""

import argparse
from pathlib import Path
from types import MappingProxyType
from typing import Final

from core.cli.options import Commands, add_home, add_json
from core.cli.say import say_json
from core.storage.paths import Home
from core.system.child_process import own_command
from core.system.startup import Startup, open_links, start_at_login, startup

SENTENCES: Final = MappingProxyType(
    {
        Startup.NO: "Nothing of Potluck starts when you log in.",
        Startup.WINDOW: "The window starts when you log in, hidden beside the clock.",
        Startup.ENGINE: "The engine starts when you log in, without a window.",
    }
)


def add(commands: Commands) -> None:
    """Add the command to the program."""
    parser = commands.add_parser(
        "startup",
        description="Show or choose what starts when you log in, or have a click on a potluck: link open Potluck.",
    )
    add_home(parser)
    add_json(parser)
    wishes = [*(kind.value for kind in Startup), "links"]
    parser.add_argument("wish", nargs="?", choices=wishes, help="what starts; links: have clicked links open Potluck")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Show, or change.

    Raises:
        UserProblem: the system does not allow it.
    """
    person, program = Path.home(), own_command()
    if args.home is not None:
        program += ["--home", str(Home.find(args.home).directory)]
    if args.wish == "links":
        open_links(program, person)
        sentence = "A click on a potluck: link opens Potluck from now on."
    else:
        if args.wish is not None:
            start_at_login(Startup(args.wish), program, person)
        sentence = SENTENCES[startup(person)]
    if args.json:
        say_json({"event": "startup", "startup": startup(person).value})
    else:
        print(sentence)
    return 0
