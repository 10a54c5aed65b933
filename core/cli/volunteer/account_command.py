"""What the words of `potluck account` mean."""

from typing import Final

from core.api.account import AccountAct
from core.cli.parsing.options import Commands, add_home, add_json, calling

ACTS: Final = {
    AccountAct.LIST: "list the computers of your account",
    AccountAct.ADD: "make a link by which one further computer of yours comes in, within an hour",
    AccountAct.END: "let one of them in no more, such as a stolen one",
    AccountAct.SIGN_OUT: "have this computer give its pass up and leave",
    AccountAct.TAKE_OUT: "let none of them in any more, and have your name leave the board",
}


def add(commands: Commands) -> None:
    """Add the command to the program."""
    account = commands.add_parser(
        "account",
        description="All your computers have one name and one row of the leaderboard.  "
        + "; ".join(f"{act}: {words}" for act, words in ACTS.items())
        + ".  Somebody who has one of them, or opens the link first, can do the same, and becomes you.",
    )
    account.add_argument(
        "act", nargs="?", default="list", choices=[*map(str, ACTS)], metavar="ACT", help=", ".join(ACTS)
    )
    account.add_argument("who", nargs="?", default="", metavar="COMPUTER", help="its name, or the beginning of its key")
    account.add_argument("--yes", action="store_true", help="ask nothing")
    add_home(account)
    add_json(account)
    account.set_defaults(run=calling("core.cli.volunteer.account:run"))
