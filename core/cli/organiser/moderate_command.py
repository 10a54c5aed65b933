"""What the words of `potluck moderate` mean."""

from pathlib import Path
from typing import Final

from core.api.moderation import ModerationAct
from core.cli.parsing.options import Commands, add_home, add_json, calling, whole

PEOPLE: Final = "people"
COPIES: Final = "copies"
AUDIT: Final = "audit"
PAGE: Final = "page"
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
    ModerationAct.BACKBONE: "have a backbone let people in, by its key, or say where it is now (--at, --words NAME)",
    ModerationAct.RETIRE: "have a backbone let nobody in any more; passes that it has given hold until they end",
    ModerationAct.STOLEN: "end all passes of a backbone whose key is in wrong hands, and what it told since (--since)",
    ModerationAct.GO_BACK: "have everybody go back to a copy of the model, by its number",
    ModerationAct.DRILL: "ask all moderators whether they can still sign, or answer",
    ModerationAct.PAUSE: "have nobody compute",
    ModerationAct.RESUME: "have everybody compute again",
    ModerationAct.END: "end the collaboration, with thanks",
    ModerationAct.SUCCESSOR: "end it, and name the link of one that goes on",
    ModerationAct.SIGN: "agree to a proposal",
}

CHOICES: Final = (PEOPLE, COPIES, AUDIT, PAGE, *(act.replace("_", "-") for act in ACTS))


def add(commands: Commands) -> None:
    """Add the command to the program."""
    moderate = commands.add_parser(
        "moderate",
        description="Without more words: who decides in the collaboration that this computer takes part in, what waits "
        "for signatures, and who is held.  With 'people': who takes part, what they gave, and how far their parts lie "
        "from the others' where this computer averaged them; with 'copies': the copies of the model that a "
        "backbone keeps; with 'audit': what moderators did, and whether somebody has changed that; with 'page': sign "
        "in at the collaboration's page, where moderators see all of this, and answer people who ask to be let in.  "
        "With more words a moderator's decision: "
        + "; ".join(f"{act}: {words}" for act, words in zip(CHOICES[4:], ACTS.values(), strict=True))
        + ".  Where several have to agree, a decision is a proposal until enough have signed.",
    )
    acts = ", ".join(CHOICES)
    moderate.add_argument("act", nargs="?", choices=CHOICES, metavar="DECISION", help=acts)
    who = "name or key; the id of a proposal; the number of a copy; a link"
    moderate.add_argument("who", nargs="?", default="", metavar="WHO", help=who)
    moderate.add_argument("--words", default="", metavar="TEXT", help="why, or what is told; everybody can read it")
    moderate.add_argument(
        "--days", type=whole(1, 3650), default=7, metavar="N", help="how long it holds, or is told (default: 7)"
    )
    moderate.add_argument(
        "--agree", type=whole(1, 15), default=0, metavar="N", help="how many have to agree from then on"
    )
    moderate.add_argument(
        "--at", action="append", default=[], metavar="HOST:PORT", help="where a backbone is; may be given again"
    )
    since = "since when a key has been in wrong hands (default: since it was listed; of the founder's key: now)"
    moderate.add_argument("--since", metavar="TIME", help=since)
    moderate.add_argument(
        "--charter", type=Path, metavar="DIR", help="decide by the key of this folder, not that of this computer"
    )
    add_home(moderate)
    add_json(moderate)
    moderate.set_defaults(run=calling("core.cli.organiser.moderate:run"))
