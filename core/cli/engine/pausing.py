"""`potluck pause` and `potluck resume`: the person's switches, for good or for a time, with an engine or without."""

import argparse
import os
import re
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import msgspec

from core.api.modes import SUBJECTS, SWITCHED, Switches, UseMode
from core.api.snapshot import Snapshot
from core.api.verdict import VerdictCode
from core.base.problems import BadInput, printable, quoted
from core.cli.parsing.commands import COMMANDS
from core.cli.parsing.options import ATTACHED, Commands, add_home, add_json
from core.cli.printing.say import say_json
from core.cli.printing.tables import switch_text
from core.control.engine_file import NotRunning
from core.control.one_call import call_once
from core.engine.limits.preferences import check_end, switched
from core.storage.paths import Home
from core.storage.settings import load_settings, save_settings

EXAMPLES: Final = """\
examples:
  potluck pause                    compute nothing until you resume
  potluck pause --for 1h           and go on by itself after that
  potluck pause gpu --until 18:30  leave the graphics card alone for so long
  potluck pause cuda:1 --for 2h    leave one of several cards alone
  potluck pause --until tomorrow   until midnight
  potluck resume                   take a pause back: by the rules of potluck settings
  potluck resume --for 1h          contribute now, in spite of the rules; only what costs money stays off
"""
CALLED: Final = {"gpu": "The graphics card", "network": "The network"}
"""What the verdict may be silent about; the switch of computing is told by the verdict itself."""
UNTOUCHED: Final = frozenset({VerdictCode.CONTRIBUTING, VerdictCode.STARTING, VerdictCode.WAITING})
"""Verdicts that say of a pause that nothing rests for it."""
_UNITS: Final = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_FOR_HINT: Final = "Write it like this: 1h, 30min, 2d."
_UNTIL_HINT: Final = "Write tomorrow, or a time of the day like this: 18:30."


def add(commands: Commands) -> None:
    """Add both commands to the program."""
    for name in ("pause", "resume"):
        words = COMMANDS[name].words
        parser = commands.add_parser(
            name,
            description=f"Potluck's switches: {words}.  It switches computing, the gpu, one card or the network.",
            epilog=EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add_home(parser)
        add_json(parser)
        parser.add_argument("what", nargs="?", default="computing", metavar="WHAT", help=", ".join(SUBJECTS))
        ends = parser.add_mutually_exclusive_group()
        ends.add_argument("--for", dest="time", metavar="TIME", help="for so long: 1h, 30min, 2d")
        ends.add_argument("--until", metavar="TIME", help="until then: tomorrow, 18:30")
        parser.set_defaults(run=partial(run, name))


def run(method: str, args: argparse.Namespace) -> int:
    """Switch, in the engine that runs, or for the next start.

    Raises:
        UserProblem: what was given cannot be, or the engine or the disk does not allow it.
    """
    if not re.fullmatch(SWITCHED, args.what):
        hint = "Choose {names}, or one card, such as cuda:1."
        raise BadInput("{what} cannot be switched.", quoted(args.what), ", ".join(SUBJECTS), hint=hint)
    now = datetime.now().astimezone()
    until = read_end(args.time, args.until, now)
    home = Home.find(args.home)
    try:
        _ask(method, home, args, until)
    except NotRunning:
        if os.environ.get(ATTACHED):
            raise
        _keep(method, home, args, until=until, now=now.timestamp())
    return 0


def read_end(time: str | None, until: str | None, now: datetime) -> float | None:
    """The moment that a person means, unix seconds; None: there is none.

    Args:
        time: How long, as in "1h".
        until: "tomorrow", which begins at midnight, or a time of the day: the next one.
        now: With the local time zone.

    Raises:
        BadInput: it cannot be read.
    """
    if time is not None:
        found = re.fullmatch(r"(\d{1,6})\s*([a-z]+)", time.strip().lower())
        if found is None or found[2] not in _UNITS or not int(found[1]):
            raise BadInput("{time} is not a valid length of time.", quoted(time), hint=_FOR_HINT)
        return now.timestamp() + int(found[1]) * _UNITS[found[2]]
    if until is None:
        return None
    midnight = now.replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
    if until.strip().lower() == "tomorrow":
        return (midnight + timedelta(days=1)).timestamp()
    found = re.fullmatch(r"(\d{1,2}):(\d{2})", until.strip())
    if found is None or int(found[1]) > 23 or int(found[2]) > 59:
        raise BadInput("{until} is not a valid time of day.", quoted(until), hint=_UNTIL_HINT)
    then = midnight.replace(hour=int(found[1]), minute=int(found[2]))
    return (then if then.timestamp() > now.timestamp() else then + timedelta(days=1)).timestamp()


def _ask(method: str, home: Home, args: argparse.Namespace, until: float | None) -> None:
    call_once(home, method, {"what": args.what, **({} if until is None else {"until": until})})
    snapshot: Snapshot = call_once(home, "snapshot", kind=Snapshot)
    verdict = snapshot.verdict
    if args.json:
        said = {**msgspec.to_builtins(verdict), "sentence": snapshot.sentence}
        say_json({"event": method, "contributing": snapshot.contributing, **said})
        return
    if args.what != "computing":
        called = CALLED.get(args.what, args.what)
        print(f"{called}: {switch_text(snapshot.switches.named(args.what), snapshot.time)}.")
    print(printable(snapshot.sentence))
    if (method, args.what) == ("pause", "network") and verdict.code in UNTOUCHED and snapshot.reach is None:
        print("All who take part are on this computer, so they go on; only text from elsewhere is not fetched.")
    if method == "resume":
        _tell_other_pauses(snapshot.switches, args.what, snapshot.time)


def _tell_other_pauses(switches: Switches, what: str, now: float) -> None:
    """Tell which switches a `resume` of another one leaves off."""
    for other, called in {**CALLED, **{card: card for card in switches.cards}}.items():
        if other != what and switches.named(other).at(now) is UseMode.NEVER:
            print(f"{called} stays off. To take that back: potluck resume {other}")


def _keep(method: str, home: Home, args: argparse.Namespace, *, until: float | None, now: float) -> None:
    """No engine runs: the switch counts from its next start."""
    check_end(until, now)
    settings = load_settings(home.settings_file).settings
    settings = switched(settings, args.what, on=method == "resume", until=until, now=now)
    home.create()
    save_settings(home.settings_file, settings)
    switch = settings.switches.named(args.what)
    if args.json:
        say_json({"event": method, args.what: switch, "running": False})
    else:
        print(f"Potluck does not run now; this holds from its next start: {args.what} {switch_text(switch, now)}.")
        if method == "resume":
            _tell_other_pauses(settings.switches, args.what, now)
