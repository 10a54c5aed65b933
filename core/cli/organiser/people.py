"""The command `potluck people`, and `potluck leaderboard` of a charter: what a backbone has kept."""

import argparse
import sys
from pathlib import Path

from core.api.moderation import PersonView
from core.api.numbers import amount, moment_text
from core.backbone.charter import admissions, load_charter, revoked_keys
from core.backbone.moderators.seen_parts import DISTANCES, read_distances
from core.backbone.people import BOARD, PEOPLE, people_view, read_people
from core.backbone.remembered import LOCK
from core.base.names import BACKBONE_NAME
from core.base.problems import printable
from core.cli.printing.people_tables import parts_text
from core.cli.printing.say import say_json
from core.cli.printing.tables import leaderboard_text
from core.ledger.board import Board
from core.ledger.ledger import ROWS_MAX
from core.system.file_lock import is_held

NOT_SEEN = "This backbone has averaged nobody's parts: rounds of few volunteers need no help."
NOT_RUNNING = "No backbone runs on this charter: this is what the last one has seen."


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
        self.log = admissions(charter)
        self.board = Board(self.folder / BOARD, target_samples=charter.manifest.target_samples)
        self.board.named(dict(self.log.newest_names(ROWS_MAX)))
        self.revoked = revoked_keys(charter)
        self.distances = read_distances(self.folder / DISTANCES)

    def people(self) -> list[PersonView]:
        """All but the backbone: those here first, then those who gave most."""
        stays, rows = read_people(self.folder / PEOPLE), self.board.ledger.rows
        return people_view(self.log, rows, stays, self.distances, self.revoked, runs=self.runs)


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
        print(
            printable(f"{one.name}{_computers(one)}{' (shut out)' if one.shut_out else ''}: {_when(one)}; {_gave(one)}")
        )
    print(parts_text([(one.name, one.parts) for one in people], NOT_SEEN))
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


def _computers(one: PersonView) -> str:
    return f", {one.computers} computers" if one.computers > 1 else ""


def _when(one: PersonView) -> str:
    if one.came is None:
        return "never seen"
    if one.here:
        return f"here since {moment_text(one.came)}"
    if one.left is None:  # the backbone was killed, and nobody knows what came after
        return f"came {moment_text(one.came)}, and was here when the backbone looked last"
    return f"last here {moment_text(one.left)}"


def _gave(one: PersonView) -> str:
    return f"{amount(one.samples)} samples, {one.share:.1%} of all" if one.samples else "has given nothing yet"
