"""The command `potluck people`, and `potluck leaderboard` of a charter: what a backbone has kept."""

import argparse
import sys
import time
from pathlib import Path

import msgspec

from core.api.numbers import amount
from core.backbone.admission_log import AdmissionLog
from core.backbone.charter import load_charter, revoked_keys
from core.backbone.names import BACKBONE_NAME
from core.backbone.people import BOARD, PEOPLE, read_people
from core.backbone.serve import LOCK
from core.cli.printing.say import say_json
from core.cli.printing.tables import clean, leaderboard_text
from core.ledger.board import Board
from core.ledger.ledger import ROWS_MAX, LedgerRow
from core.system.file_lock import is_held

NOT_RUNNING = "No backbone runs on this charter: this is what the last one has seen."


class Person(msgspec.Struct, frozen=True):
    """An account that was let in, with all its computers."""

    name: str
    key: str
    """The first one of the account."""
    here: bool
    came: float | None
    """When the last stay began, Unix seconds; None: was never seen."""
    left: float | None
    """When it ended; None: it has not, as far as the backbone knew."""
    samples: int
    share: float
    """Part of all samples, 0 to 1."""
    revoked: bool
    computers: int
    """Number of its keys, without those that it has ended itself."""


class _Kept:
    """What lies in a charter about its people.

    Raises:
        BadInput: it is not a charter; so does Damaged.
    """

    def __init__(self, folder: Path) -> None:
        charter = load_charter(folder.expanduser().absolute())
        self.folder = charter.folder
        self.authority = charter.manifest.authority_id
        self.runs = is_held(self.folder / LOCK)
        self.log = AdmissionLog(self.folder)
        self.board = Board(self.folder / BOARD, target_samples=charter.manifest.target_samples)
        self.board.named(dict(self.log.newest_names(ROWS_MAX)))
        self.revoked = revoked_keys(charter)

    def people(self) -> list[Person]:
        """All but the backbone: those here first, then those who gave most."""
        stays, rows = read_people(self.folder / PEOPLE), self.board.ledger.rows
        total = sum(row.samples for row in rows.values())
        people, accounts = [], self.log.accounts
        names = {accounts.of(key): name for key, name in self.log.newest_names(ROWS_MAX) if name != BACKBONE_NAME}
        for account, name in names.items():
            keys, lasting = accounts.keys(account), accounts.lasting(account)
            samples = sum(rows.get(key, LedgerRow()).samples for key in keys)
            known = [stays[key] for key in keys if key in stays]
            # Of several computers the one counts that is here, or was here last.
            stay = max(known, key=lambda one: (one.left is None, one.left or one.came), default=None)
            came, left = (None, None) if stay is None else (stay.came, stay.left)
            here = self.runs and stay is not None and left is None
            share = samples / total if total else 0.0
            revoked = all(key in self.revoked for key in lasting)
            computers = sum(key not in accounts.ended for key in keys)
            people.append(Person(name, keys[0].hex(), here, came, left, samples, share, revoked, computers))
        return sorted(people, key=lambda one: (not one.here, -one.samples, one.name))


def run(args: argparse.Namespace) -> int:
    """Run `potluck people`; see `potluck people --help`.

    Raises:
        BadInput: the folder is not a charter; so does Damaged.
    """
    kept = _Kept(args.charter)
    people = kept.people()
    if args.json:
        say_json({"event": "people", "backbone_runs": kept.runs, "people": people})
        return 0
    here = sum(one.here for one in people)
    print(f"{amount(here)} of {amount(len(people))} are here." if kept.runs else NOT_RUNNING)
    for one in people:
        print(clean(f"{one.name}{_computers(one)}{' (shut out)' if one.revoked else ''}: {_when(one)}; {_gave(one)}"))
    if households := len(kept.log.revocations.households):
        are = "households are" if households > 1 else "household is"
        print(f"{amount(households)} {are} shut out: nobody new comes in from there.")
    return 0


def leaderboard(args: argparse.Namespace) -> None:
    """Run `potluck leaderboard --charter DIR`.

    Raises:
        BadInput: the folder is not a charter; so does Damaged.
    """
    kept = _Kept(args.charter)
    backbones = kept.log.keys_of(BACKBONE_NAME)
    standings = kept.board.standings(kept.authority, relayed={}, without=backbones, revoked=kept.revoked)
    if args.json:
        say_json({"event": "leaderboard", "backbone_runs": kept.runs, "leaderboard": standings})
        return
    if not kept.runs:
        print(NOT_RUNNING, file=sys.stderr)
    print(leaderboard_text(standings))


def _computers(one: Person) -> str:
    return f", {one.computers} computers" if one.computers > 1 else ""


def _when(one: Person) -> str:
    if one.came is None:
        return "never seen"
    if one.here:
        return f"here since {_moment(one.came)}"
    if one.left is None:  # the backbone was killed, and nobody knows what came after
        return f"came {_moment(one.came)}, and was here when the backbone looked last"
    return f"last here {_moment(one.left)}"


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _gave(one: Person) -> str:
    return f"{amount(one.samples)} samples, {one.share:.1%} of all" if one.samples else "has given nothing yet"
