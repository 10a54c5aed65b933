"""The command `potluck requests`: who has asked at the page to be let in, and what a moderator answers."""

import argparse
import getpass
import importlib.util
import subprocess

import msgspec

from core.api.numbers import moment_text
from core.backbone.charter import load_charter
from core.base.problems import BadInput, Problem, printable
from core.base.site.requests import ModeratorAnswered, WaitingPeople
from core.cli.printing.say import say_json
from core.cli.printing.tables import columns
from core.system.child_process import own_command

NOBODY = "Nobody waits for an answer."
SECONDS_MAX = 60.0


def run(args: argparse.Namespace) -> int:
    """`potluck requests`; see `potluck requests --help`."""
    charter = load_charter(args.charter.expanduser().absolute())
    number, yes = (args.no, False) if args.no else (args.yes, True)
    if args.words and not number:
        raise BadInput("Words go with an answer.", hint="Say whom they are for: --yes N or --no N")
    who = args.moderator or getpass.getuser()
    answer = ModeratorAnswered(number=number, yes=yes, reason=args.words, moderator=who) if number else None
    waiting = waiting_after([str(charter.folder), *([args.database] if args.database else [])], answer)
    if not waiting.counts:
        raise BadInput("Nobody waits under the number {number}.", number, hint="List them with: potluck requests")
    if args.json:
        say_json({"event": "requests", "people": msgspec.to_builtins(waiting.people)})
        return 0
    if answer is not None:
        print("They are let in when they sign in again." if yes else "They read that a moderator has said no.")
    rows = [(str(one.number), printable(one.name), moment_text(one.at), printable(one.words)) for one in waiting.people]
    print(columns([("No.", "Name", "Since", "Words"), *rows], left={1, 2, 3}) if rows else NOBODY)
    return 0


def waiting_after(words: list[str], answer: ModeratorAnswered | None) -> WaitingPeople:
    """Who waits once an answer was taken, as the process says that opens the database.

    Args:
        words: The charter's folder, and the address of PostgreSQL.
        answer: To one request; None: nobody is answered.

    Raises:
        Problem: the database cannot be used.
    """
    if importlib.util.find_spec("sqlalchemy") is None:
        raise BadInput("This command needs SQLAlchemy.", hint='Install it: pip install "potluck[organiser]"')
    said = b"" if answer is None else msgspec.json.encode(answer)
    command = [*own_command("site-requests", "core.site.requests"), *words]
    try:
        done = subprocess.run(command, input=said, stdout=subprocess.PIPE, timeout=SECONDS_MAX, check=True)
        waiting = msgspec.json.decode(done.stdout, type=WaitingPeople)
    except (subprocess.SubprocessError, msgspec.MsgspecError) as error:
        raise Problem("The database of the page gives no answer.", hint="Look at the lines above.") from error
    if waiting.problem:
        raise Problem("Nothing can be read there. {why}", waiting.problem, hint=waiting.hint)
    return waiting
