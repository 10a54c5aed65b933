"""What the words of `potluck moderate` mean."""

from pathlib import Path
from typing import Final

from core.api.moderation import ModerationAct
from core.cli.parsing.options import Commands, add_home, add_json, calling, whole

ACTS: Final = {
    ModerationAct.BAN: "shut somebody out",
    ModerationAct.PARDON: "let somebody in again, and end what holds them",
    ModerationAct.HOLD: "keep somebody out for up to 7 days, without the others",
    ModerationAct.RELEASE: "end what you hold",
    ModerationAct.NOTICE: "tell everybody something",
    ModerationAct.CLOSE: "let nobody new in",
    ModerationAct.OPEN: "let newcomers in by invitations again",
    ModerationAct.ADD: "make somebody a moderator",
    ModerationAct.REMOVE: "take a moderator from the list",
    ModerationAct.AGREE: "change how many have to agree",
    ModerationAct.SIGN: "agree to a proposal",
}


def add(commands: Commands) -> None:
    """Add the command to the program."""
    moderate = commands.add_parser(
        "moderate",
        description="Without more words: who decides in the collaboration that this computer takes part in, what waits "
        "for signatures, and who is held.  With them a moderator's decision: "
        + "; ".join(f"{act}: {words}" for act, words in ACTS.items())
        + ".  Where several have to agree, a decision is a proposal until enough have signed.",
    )
    moderate.add_argument("act", nargs="?", choices=[*map(str, ACTS)], metavar="DECISION", help=", ".join(ACTS))
    moderate.add_argument("who", nargs="?", default="", metavar="WHO", help="name or key; a proposal's id; a number")
    moderate.add_argument("--words", default="", metavar="TEXT", help="why, or what is told; everybody can read it")
    moderate.add_argument(
        "--days", type=whole(1, 3650), default=7, metavar="N", help="how long it holds, or is told (default: 7)"
    )
    moderate.add_argument(
        "--agree", type=whole(1, 15), default=0, metavar="N", help="how many have to agree from then on"
    )
    moderate.add_argument(
        "--charter", type=Path, metavar="DIR", help="decide by the key of this folder, not that of this computer"
    )
    add_home(moderate)
    add_json(moderate)
    moderate.set_defaults(run=calling("core.cli.organiser.moderate:run"))
