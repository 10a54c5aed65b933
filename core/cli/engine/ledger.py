"""Commands that look at what is kept on the disk, whether an engine runs or not."""

from pathlib import Path

from core.cli.parsing.options import Commands, add_home, add_json, calling, whole


def add(commands: Commands) -> None:
    """Add the commands to the program."""
    receipts = commands.add_parser(
        "receipts",
        description="The newest receipts of rounds of averaging: who gave how much, averaged how much and passed on "
        "how much for others. Every signature is checked again; no connection is needed for that.",
    )
    add_home(receipts)
    add_json(receipts)
    receipts.add_argument("--number", type=whole(1, 10_000), default=10, metavar="N", help="how many (default: 10)")
    where = receipts.add_mutually_exclusive_group()
    where.add_argument(
        "--charter", type=Path, metavar="DIR", help="those that the backbone of this collaboration has kept"
    )
    where.add_argument(
        "--folder", type=Path, metavar="DIR", help="where they are (default: this engine's, of all collaborations)"
    )
    people = commands.add_parser(
        "people",
        description="Who is in a collaboration: who is here and since when, who was here last and when, and what each "
        "gave.  Its backbone keeps it in the charter; no connection is needed.",
    )
    people.add_argument("--charter", type=Path, metavar="DIR", required=True, help="folder of the collaboration")
    add_json(people)
    people.set_defaults(run=calling("core.cli.organiser.people:run"))
    requests = commands.add_parser(
        "requests",
        description="Who has signed in at the page of a collaboration and asks to be let in, and your answer.  It "
        "works on the computer of its backbone, whether that runs or not.",
    )
    requests.add_argument("--charter", type=Path, metavar="DIR", required=True, help="folder of the collaboration")
    requests.add_argument("--database", default="", metavar="URL", help="the backbone's (default: a file)")
    answer = requests.add_mutually_exclusive_group()
    answer.add_argument("--yes", type=whole(1, 2**53 - 1), metavar="N", help="let number N in")
    answer.add_argument("--no", type=whole(1, 2**53 - 1), metavar="N", help="do not let number N in")
    requests.add_argument("--words", default="", help="what the person reads")
    requests.add_argument("--moderator", default="", metavar="NAME", help="who answers (default: your name here)")
    add_json(requests)
    requests.set_defaults(run=calling("core.cli.organiser.requests:run"))
    receipts.set_defaults(run=calling("core.cli.engine.receipts:run"))
