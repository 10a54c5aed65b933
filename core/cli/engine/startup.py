"""`potluck startup`: what starts at login, and that links open Potluck."""

import argparse
import os
from pathlib import Path
from types import MappingProxyType
from typing import Final

from core.cli.parsing.options import Commands, add_home, add_json
from core.cli.printing.say import say_json
from core.storage.identity import KEY_IN_FILE, in_keyring, keep_in_file, system_keyring
from core.storage.paths import Home
from core.system.child_process import installed_command
from core.system.startup import Startup, leave_links, open_links, opens_links, start_at_login, startup

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
        description="Show or choose what starts when you log in, and whether a click on a potluck: link opens Potluck.",
    )
    add_home(parser)
    add_json(parser)
    wishes = [*(kind.value for kind in Startup), "links", "no-links"]
    words = "what starts; links, no-links: whether clicked links open Potluck"
    parser.add_argument("wish", nargs="?", choices=wishes, help=words)
    parser.add_argument(
        "--key-in-file",
        action="store_true",
        help="keep this computer's key in a file that only you can read: a keyring opens only when somebody logs in",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Show, or change.

    Raises:
        UserProblem: the system does not allow it.
    """
    person, program = Path.home(), installed_command()
    identity = Home.find(args.home).identity_file
    if args.key_in_file:
        keep_in_file(identity, system_keyring(os.environ))
    if args.home is not None:
        program += ["--home", str(Home.find(args.home).directory)]
    if args.wish == "links":
        open_links(program, person)
        sentence = "A click on a potluck: link opens Potluck from now on."
    elif args.wish == "no-links":
        leave_links(person)
        sentence = "A click on a potluck: link opens Potluck no more."
    else:
        if args.wish is not None:
            start_at_login(Startup(args.wish), program, person)
        sentence = SENTENCES[startup(person)]
        if startup(person) is Startup.ENGINE and in_keyring(identity):
            sentence += f" Its key is in the system's keyring, which opens when you log in. {KEY_IN_FILE}"
        if args.wish == Startup.NO and opens_links(person):
            sentence += " A click on a potluck: link still opens it; to end that, too: potluck startup no-links"
    if args.json:
        say_json({"event": "startup", "startup": startup(person).value})
    else:
        print(sentence)
    return 0
