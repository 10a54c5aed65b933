"""`potluck backup` and `potluck restore`."""

import argparse
import asyncio
import getpass
import shlex
import sys
from pathlib import Path
from typing import Final

from core.backbone.backup import back_up, read_about, restore
from core.backbone.charter import AUTHORITY, MANIFEST, load_charter
from core.base.problems import BadInput, printable
from core.cli.organiser import charter as founding
from core.cli.printing.say import say_json
from core.net.clock import Clock
from core.storage.sealed_key import LETTERS_MAX, check_passphrase

OPEN: Final = "Its secret keys lie open in the file: keep it like a key, or seal them with --seal."
SEALED: Final = (
    "The passphrase seals its secret keys alone.  Anybody who has the file can read all else: invitations that hold, "
    "names, the model, client secrets (ways.toml), passwords of mirrors (copies.json) and the page's accounts "
    "(site.sqlite)."
)


def run_backup(args: argparse.Namespace) -> int:
    """Run `potluck backup`; see `potluck backup --help`.

    Raises:
        BadInput: there is no such collaboration, or the file cannot be its backup.
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    charter, file = load_charter(_charter(args)), Path(args.file).expanduser().absolute()
    passphrase = new_passphrase() if args.seal else b""
    done = back_up(charter, file, now=Clock().now(), all_copies=args.copies, passphrase=passphrase)
    if args.json:
        facts = {"file": str(file), "files": done.files, "bytes": done.size_bytes, "sealed": bool(passphrase)}
        say_json({"event": "backed_up", "collaboration": done.about.collaboration, **facts})
        return 0
    print(f"{printable(done.about.name)} is kept in {file}: {done.files} files, {done.size_bytes / 1e6:.1f} MB.")
    print(SEALED if passphrase else OPEN)
    return 0


def run_restore(args: argparse.Namespace) -> int:
    """Run `potluck restore`; see `potluck restore --help`.

    Raises:
        BadInput: the file is not a backup, or something is where the folder should be.
        Damaged: the file is.
        NoSpace: it does not fit on the disk.
    """
    file, folder = (path.expanduser().absolute() for path in (args.file, args.folder))
    founding.check_free(folder)
    about = read_about(file)
    passphrase = asked_passphrase() if about.sealed else b""
    asyncio.run(_restore(file, folder, passphrase))
    command = f"potluck backbone --charter {shlex.quote(str(folder))}"
    if args.json:
        say_json({"event": "restored", "collaboration": about.collaboration, "charter": str(folder), "at": about.at})
        return 0
    print(f"{printable(about.name)} is restored in {folder}, with its members, names and invitations.")
    print("Who came in after that backup needs an invitation again.")
    print(f"\nNext:  {command}")
    print(
        "Start it only where the other one has ended for good: both have the key backbone.key, and members would be "
        "sent to one or the other by chance."
    )
    return 0


async def _restore(file: Path, folder: Path, passphrase: bytes) -> None:
    async with founding.workplace(folder) as work:
        restore(file, work / "charter", passphrase)
        founding.move(work / "charter", folder)


def _charter(args: argparse.Namespace) -> Path:
    """The folder that a person has named, or the one that `potluck found` makes for a collaboration of this name."""
    named = Path(args.charter).expanduser().absolute()
    if (named / MANIFEST).exists() or (named / AUTHORITY).exists():
        return named
    asked = (argparse.Namespace(charter=None, home=None, with_engine=engine) for engine in (False, True))
    places = [founding.place(each, args.charter) for each in asked]
    return next((place for place in places if (place / MANIFEST).exists()), named)


def new_passphrase() -> bytes:
    """A passphrase for a new seal, which a person types twice, or a program gives as one line.

    Raises:
        BadInput: it cannot be used, or the second one is another.
    """
    said = _line("Passphrase (four words or more): ")
    passphrase = check_passphrase(said)
    if sys.stdin.isatty() and _line("The same again: ") != said:
        raise BadInput("The two passphrases differ.", hint="Try again.")
    return passphrase


def asked_passphrase() -> bytes:
    """The passphrase of a seal, as the person says it."""
    return _line("Passphrase: ").encode(errors="replace")


def _line(question: str) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(question).strip()
    return sys.stdin.readline(LETTERS_MAX + 2).strip()
