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
    receipts.set_defaults(run=calling("core.cli.engine.receipts:run"))
