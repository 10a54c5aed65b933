"""Finds a model on this computer: a volunteer's, an organiser's copy of it, or that of a run of `potluck train`."""

import argparse
import contextlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.backbone.charter import MANIFEST, admissions, load_charter
from core.backbone.kept_states import STATES
from core.backbone.offers import EXPERTS
from core.base.content import chunk_digests, root_digest
from core.base.manifest import Manifest, read_manifest
from core.base.problems import BadInput, Damaged, Problem, WireProblem, quoted
from core.base.signing import Ed25519Verifier
from core.base.state_header import HEADER_BYTES_MAX, StateHeader, epoch_of, header_of, names_digest
from core.engine.remembered.collaborations import Collaborations
from core.ledger.board import Board
from core.ledger.ledger import ROWS_MAX
from core.storage.paths import ALONE, FOUNDED, Home
from core.system.atomic_files import problem_of
from core.system.file_chunks import file_chunks

ALONE_EXPERTS: Final = "experts.safetensors"
"""File of the experts of a run of `potluck train`, beside its states."""
LOOKS: Final = 3
"""How often states are looked for: an engine that trains deletes old ones meanwhile."""


@dataclass(frozen=True, slots=True)
class KeptModel:
    """What lies on this computer of a collaboration."""

    manifest: Manifest
    manifest_path: Path
    blobs: Path
    states: Path
    board: Board
    """Knows the names of those who took part."""
    experts: Path
    """Files of the experts of a mixture, or the one file of a run without others; whether there are any or not."""
    home: Home | None = None
    """The home of an engine that takes part in it; None: it is an organiser's folder, or a run without others."""
    copies: tuple[Path, ...] = ()
    """Folders of earlier states: of charters of the same collaboration, whose backbone keeps copies."""

    @property
    def epochs(self) -> tuple[int, ...]:
        """Epochs of all states that are kept, the earliest first."""
        found = (
            epoch_of(_state_name(path)) for folder in (self.states, *self.copies) for path in _newest_first(folder)
        )
        return tuple(sorted({epoch for epoch in found if epoch is not None}))

    def files(self, epoch: int | None = None) -> list[Path]:
        """Files of the states, the newest first.

        Args:
            epoch: That of the states, wherever they are kept; None: the newest are meant.
        """
        if epoch is None:
            return _newest_first(self.states)
        paths = [path for folder in (self.states, *self.copies) for path in _newest_first(folder)]
        return [path for path in paths if epoch_of(_state_name(path)) == epoch]


@dataclass(frozen=True, slots=True)
class KeptState:
    """A state that was found whole."""

    path: Path
    header: StateHeader


def kept_model(args: argparse.Namespace) -> KeptModel:
    """The collaboration that a person means.

    Args:
        args: home, collaboration (its name, or how its id begins) and charter (a folder); all may be None.

    Raises:
        BadInput: there is none, or several are called so.
        Damaged: the organiser's folder is.
    """
    if args.charter is not None:
        return _of_charter(args.charter.expanduser().absolute())
    home = Home.find(args.home)
    found = _in_home(home)
    if args.collaboration:
        found = [
            kept
            for kept in found
            if kept.manifest.name == args.collaboration or kept.manifest.id.hex().startswith(args.collaboration)
        ]
    else:
        current = Collaborations(home).current
        joined = [kept for kept in found if current is not None and kept.manifest.id == current.manifest_id]
        found = (joined or found)[:1]
    if not found:
        called = "This computer has taken part in no collaboration called {name}, and trained none alone."
        none = "This computer has taken part in no collaboration, and trained none alone."
        raise BadInput(
            called if args.collaboration else none,
            quoted(args.collaboration or "", 60),
            hint="See those of this computer with: potluck collaborations"
            if args.collaboration
            else "Take part with: potluck join LINK, or try it out with: potluck demo",
        )
    if len(found) > 1:
        message = "Several collaborations are called {name}."
        hint = "Name one by how its id begins, such as {id}."
        raise BadInput(message, quoted(args.collaboration, 60), found[0].manifest.id.hex()[:8], hint=hint)
    return found[0]


def newest_state(kept: KeptModel, into: Path, *, origin: bytes = b"", epoch: int | None = None) -> KeptState:
    """A copy of the newest state that is whole, for the original may be deleted by an engine that trains.

    Args:
        kept: The collaboration.
        into: The folder that the copy goes to.
        origin: Of another origin no state counts; empty: any.
        epoch: Of another epoch no state counts; None: any.

    Raises:
        BadInput: there is no state yet, or none of that epoch.
        Damaged: all that there are.
        NoSpace: the disk is full.
    """
    damaged = False
    for _ in range(LOOKS):
        paths = kept.files(epoch)
        for path in paths:
            copy = into / _state_name(path)
            try:
                shutil.copyfile(path, copy)
                state = _checked(copy, kept.manifest)
                if bytes.fromhex(state.header.lineage).endswith(origin):
                    return state
                copy.unlink()
            except FileNotFoundError:
                continue
            except (WireProblem, Damaged):
                damaged = True
            except OSError as error:
                raise problem_of(error, copy) from error
        if damaged or not paths:
            break
    if damaged:
        raise Damaged(
            "The states of {name} in {states} are damaged.", kept.manifest.name, kept.states, hint="Check the disk."
        )
    if epoch is not None and kept.epochs:
        kept_ones = ", ".join(map(str, kept.epochs))
        message = "The model of step {epoch} is not kept on this computer."
        raise BadInput(message, epoch, kept_ones, hint="Those of these steps are: {kept_ones}.")
    message = "There is no model of {name} on this computer yet."
    raise BadInput(message, kept.manifest.name, hint="Let Potluck train until a step has been taken, then try again.")


def _of_charter(folder: Path) -> KeptModel:
    charter = load_charter(folder)
    board = Board(folder / "board.json", target_samples=charter.manifest.target_samples)
    board.named(dict(admissions(charter).newest_names(ROWS_MAX)))
    return KeptModel(charter.manifest, charter.manifest_path, charter.blobs, folder / STATES, board, folder / EXPERTS)


def _in_home(home: Home) -> list[KeptModel]:
    """All collaborations and runs of `potluck train` that have left something here, the newest first."""
    found, copies = [], _copies(home)
    for path in (*home.directory.glob("state/*/manifest.json"), *home.directory.glob(f"{ALONE}/*/charter/{MANIFEST}")):
        try:
            signed = path.read_bytes()
            manifest = read_manifest(signed, Ed25519Verifier())
        except (OSError, Problem):
            continue
        name = manifest.id.hex()
        joined = path.parent == home.state(name)
        board = Board(home.board(name), target_samples=manifest.target_samples)
        blobs = home.blobs if joined else path.parent / "blobs"
        states = (path.parent if joined else path.parent.parent) / "states"
        experts = path.parent / EXPERTS if joined else path.parent.parent / ALONE_EXPERTS
        earlier = copies.get(signed, ()) if joined else ()
        found.append(KeptModel(manifest, path, blobs, states, board, experts, home if joined else None, earlier))
    return sorted(found, key=lambda kept: _changed_at(kept.states), reverse=True)


def _copies(home: Home) -> dict[bytes, tuple[Path, ...]]:
    """Folders of the copies that backbones of this home keep, by the signed text of the collaboration."""
    found: dict[bytes, tuple[Path, ...]] = {}
    for path in (
        *home.directory.glob(f"embedded/*/charter/{MANIFEST}"),
        *home.directory.glob(f"{FOUNDED}/*/{MANIFEST}"),
    ):
        with contextlib.suppress(OSError):
            signed = path.read_bytes()
            found[signed] = (*found.get(signed, ()), path.parent / STATES)
    return found


def _changed_at(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0


def _newest_first(folder: Path) -> list[Path]:
    """The states in a folder: a backbone numbers its copies, a worker's are ordered by epoch and time."""
    try:
        paths = [path for path in folder.iterdir() if epoch_of(_state_name(path)) is not None]
        return sorted(paths, key=_order, reverse=True)
    except OSError:
        return []


def _order(path: Path) -> tuple[int, int, int]:
    number = path.name.partition("-")[0]
    return int(number) if number.isdecimal() else 0, epoch_of(_state_name(path)) or 0, path.stat().st_mtime_ns


def _state_name(path: Path) -> str:
    """The name of a state's file without the number that a backbone gives to its copies."""
    number, _, name = path.name.partition("-")
    return name if number.isdecimal() else path.name


def _checked(copy: Path, manifest: Manifest) -> KeptState:
    """A state that is what its name says.

    Raises:
        Damaged: it is not.
        WireProblem: it is not a state.
    """
    with copy.open("rb") as file:
        header = header_of(file.read(HEADER_BYTES_MAX))
    whole = names_digest(copy.name, root_digest(chunk_digests(file_chunks(copy))))
    if not whole or header.manifest != manifest.id.hex():
        copy.unlink()
        raise Damaged("The state {name} is not what was written.", copy.name)
    return KeptState(copy, header)
