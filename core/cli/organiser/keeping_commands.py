"""What the words of `potluck backup`, `restore` and `sheet` mean."""

from pathlib import Path

from core.cli.parsing.options import Commands, add_home, add_json, calling


def add(commands: Commands) -> None:
    """Add the commands to the program."""
    backup = commands.add_parser(
        "backup",
        description="Write all that a collaboration's folder holds into one file, while its backbone runs and lets "
        "people in.  Of the copies of the model only the newest is taken.  An earlier backup there is replaced.",
    )
    backup.add_argument("charter", metavar="DIR|NAME", help="folder of the collaboration, or its name")
    backup.add_argument("file", type=Path, metavar="FILE", help="where the backup goes (a zip archive)")
    backup.add_argument("--copies", action="store_true", help="take all copies of the model")
    backup.add_argument(
        "--seal", action="store_true", help="ask for a passphrase that seals the secret keys (a program gives one line)"
    )
    add_json(backup)
    backup.set_defaults(run=calling("core.cli.organiser.backups:run_backup"))
    restore = commands.add_parser(
        "restore",
        description="Bring a collaboration back from a backup, into a new folder: the same members, names and "
        "invitations, at any port.",
    )
    restore.add_argument("file", type=Path, metavar="FILE", help="the backup")
    restore.add_argument("folder", type=Path, metavar="DIR", help="a folder that is not there yet")
    add_json(restore)
    restore.set_defaults(run=calling("core.cli.organiser.backups:run_restore"))
    sheet = commands.add_parser(
        "sheet",
        description="A page to print that holds a secret key under a passphrase, as text and as a QR code: the key of "
        "this computer, by which a moderator signs, or with --charter that of a collaboration.  With --read the key "
        "comes back, on a new computer.",
    )
    sheet.add_argument("file", type=Path, metavar="FILE", help="where the page goes (HTML); with --read, the page")
    sheet.add_argument("--read", action="store_true", help="bring the key back from the page, or a file with its lines")
    sheet.add_argument("--charter", type=Path, metavar="DIR", help="the key of the collaboration in this folder")
    add_home(sheet)
    add_json(sheet)
    sheet.set_defaults(run=calling("core.cli.organiser.sheet:run"))
