"""Commands that look at what is kept on the disk, whether an engine runs or not."""

from pathlib import Path

from core.cli.options import Commands, add_home, add_json, calling, whole


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
    receipts.set_defaults(run=calling("core.cli.receipts:run"))
