"""`potluck account`: a person's own computers in the collaboration that this one takes part in, and the way out."""

import argparse
from typing import Final

import msgspec

from core.api.account import WAYS_OUT, AccountAct, AccountView, AccountWish, DeviceView
from core.api.numbers import moment_text
from core.backbone.kept_pass import FILE
from core.base.problems import printable
from core.cli.printing.say import agrees, say_json
from core.cli.volunteer.joined import begin_again
from core.control.one_call import call_once
from core.engine.remembered.collaborations import Collaborations
from core.storage.paths import Home

ASKING_S: Final = 60.0
"""Upper bound on the wait for the backbone, seconds: it is asked twice."""


def run(args: argparse.Namespace) -> int:
    """Run `potluck account`; see `potluck account --help`.

    Raises:
        Problem: the engine's, or the backbone's.
    """
    wish = msgspec.convert({"act": args.act, "who": args.who[:100]}, AccountWish)
    params, home = msgspec.to_builtins(wish), Home.find(args.home)
    if wish.act in WAYS_OUT and not args.yes and not agrees(f"{WAYS_OUT[wish.act][0]} Go on?"):
        print("Nothing has changed.")
        return 0
    view: AccountView = call_once(home, "account", params, kind=AccountView, timeout_s=ASKING_S)
    if wish.act in WAYS_OUT:
        _leave(home, view.collaboration)
    if args.json:
        say_json({"event": "account", **msgspec.to_builtins(view)})
    elif wish.act in WAYS_OUT:
        print(WAYS_OUT[wish.act][1])
    elif wish.act is AccountAct.ADD:
        print("Open this link in Potluck on your other computer, or type there: potluck join LINK")
        print(view.link)
        print(f"It lets one computer in, until {moment_text(view.until)}.")
        print("Send it to nobody: the computer that opens it becomes yours, under your name.")
    else:
        print(printable(f"{view.name}: {len(view.devices)} of 10 computers."))
        for one in view.devices:
            print(printable(_line(one)))
        if not view.told:
            print("It gets no pass any more.  Peers are not told, so that the one it has holds for up to 4 days.")
    return 0


def _leave(home: Home, collaboration: str) -> None:
    """Forget the pass and the link, and have the engine go on without them."""
    (home.state(collaboration) / FILE).unlink(missing_ok=True)
    kept = Collaborations(home)
    if any(one.id == collaboration for one in kept.all()):
        kept.leave(collaboration)
    begin_again(home)


def _line(one: DeviceView) -> str:
    """One computer as a person reads it."""
    said = " (this computer)" if one.is_me else " (ended)" if one.ended else ""
    return f"  {one.name or 'a computer'}{said}: {one.key[:16]}, since {moment_text(one.at)}"
