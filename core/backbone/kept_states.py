"""The copies of the model that a backbone keeps in its charter (docs/protocols/states.md).

The newest is given to newcomers when nobody trains.  Older ones are for the organiser to go back to, lest one member
alone has the last word: the older, the fewer.  Their numbers tell their order, whatever clocks say.
"""

import contextlib
import logging
import os
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Final

import msgspec

from core.authority.decisions import GoBack
from core.backbone.derived_root import derive_root, new_origin
from core.base.ids import PeerId
from core.base.problems import BadInput, Damaged, Problem, RemoteProblem, WireProblem
from core.base.state_header import (
    HEADER_BYTES_MAX,
    ORIGIN_BYTES,
    StateHeader,
    epoch_of,
    header_of,
    names_digest,
    state_file_name,
)
from core.kept.state_files import DiskStateFile
from core.ledger.ledger import Ledger
from core.swarm.words.facts import StateKept
from core.swarm.words.orders import Keep
from core.swarm.words.states import StateName
from core.system.atomic_files import make_directory, move_synced, problem_of, read_bounded, set_aside, write_atomic

_LOG = logging.getLogger(__name__)
STATES: Final = "states"
LOSSES: Final = "losses.json"
BYTES_MAX: Final = 64 * 1024
"""Upper bound on what is read of what stands beside the copies, bytes."""
REFUSED: Final = "refused.safetensors"
AGES: Final = 4
"""Ratio of the ages at which older copies are kept: the oldest of those that came 1 to 3 copies ago stays, of 4 to 15,
of 16 to 63 and so on, six of a thousand.

The copy with the highest epoch of each span stays too, until the newest is as far: the model may have gone back against
the organiser's will.  A peer that has copies of any epochs kept can at most double their number."""


@dataclass(frozen=True, slots=True)
class KeptCopy:
    """A copy in a charter."""

    number: int
    """The greatest came last."""
    path: Path

    @property
    def epoch(self) -> int:
        """Epoch of its state, according to the file's name."""
        return epoch_of(_split(self.path)[1]) or 0

    @property
    def lineage(self) -> str:
        """Beginning of its state's lineage, 8 hex digits, according to the file's name."""
        return _split(self.path)[1].split("-")[2].partition(".")[0]

    @property
    def came(self) -> float:
        """When it came, Unix seconds; 0: it is gone."""
        try:
            return self.path.stat().st_mtime
        except OSError:
            return 0.0


def kept_copies(folder: Path) -> list[KeptCopy]:
    """The copies in a folder, the first one first; what cannot be listed counts as none."""
    try:
        found = [(*_split(path), path) for path in folder.iterdir()]
    except OSError:
        return []
    numbered = [(number, path) for number, name, path in found if number.isdecimal() and epoch_of(name) is not None]
    return sorted((KeptCopy(int(number), path) for number, path in numbered), key=lambda copy: copy.number)


def losses_of(folder: Path) -> dict[int, float]:
    """Held-out losses of the copies that were measured, by their numbers; none where that cannot be read."""
    try:
        return msgspec.json.decode(read_bounded(folder / LOSSES, BYTES_MAX) or b"{}", type=dict[int, float])
    except (ValueError, Problem):
        return {}


def note_loss(folder: Path, number: int, loss: float | None) -> None:
    """Note the loss of a copy beside those of others that are still there; a copy without one is kept all the same.

    Args:
        folder: Folder of the copies.
        number: The copy's.
        loss: Held-out loss; None: it was not measured.
    """
    if loss is None:
        return
    losses, there = losses_of(folder) | {number: loss}, {copy.number for copy in kept_copies(folder)}
    try:
        kept = {one: measured for one, measured in losses.items() if one in there}
        write_atomic(folder / LOSSES, msgspec.json.encode(kept))
    except Problem as problem:
        _LOG.warning("the loss of a copy of the model is not noted: %s", problem)


def way_back(folder: Path, number: int, manifest: bytes, chosen: GoBack | None = None) -> GoBack:
    """What moderators sign to have everybody go back to a copy: the same wherever that copy is.

    Args:
        folder: Folder of the copies.
        number: The copy's.
        manifest: The collaboration's id.
        chosen: To what everybody has gone back before, since each going back has a root of its own; None: nowhere.

    Raises:
        BadInput: there is no such copy, or it is another collaboration's, which somebody has put there.
        Damaged: it is not what was written.
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    copies = {copy.number: copy for copy in kept_copies(folder)}
    if number not in copies:
        raise BadInput("There is no copy {number}.", number, hint="List them with: potluck copies --charter DIR")
    part = folder / f".root.{os.getpid()}-{token_hex(6)}"  # a backbone that starts deletes what is torn
    try:
        header = _header(copies[number].path)
        if header is not None and header.manifest != manifest.hex():  # nobody could load it
            message, hint = "The checkpoint {name} is of another collaboration.", "Choose another one."
            raise BadInput(message, copies[number].path.name, hint=hint)
        return derive_root(copies[number].path, part, new_origin(header, manifest, chosen))
    except OSError as error:
        raise problem_of(error, copies[number].path) from error
    finally:
        part.unlink(missing_ok=True)


def begin_with(folder: Path, source: Path, *, manifest: bytes) -> KeptCopy:
    """Make the state of another collaboration the first copy of a new one, under a name of its own.

    Args:
        folder: Folder of the copies, which holds none.
        source: The state, whole.
        manifest: Id of the new collaboration.

    Raises:
        Damaged: it is not a state.
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    make_directory(folder)
    part = folder / "root.part"
    try:
        root = derive_root(source, part, manifest[-ORIGIN_BYTES:], manifest=manifest)
        path = folder / f"{1:06d}-{state_file_name(root.epoch, root.root, root.digest)}"
        move_synced(part, path)
    except OSError as error:
        raise problem_of(error, part) from error
    return KeptCopy(1, path)


class KeptStates:
    """Keeps copies of the model in a charter: the newest, and a few older ones.

    Args:
        folder: The charter's.
        manifest: The collaboration's id; a copy of another is not kept.
        admitted: Peers that were ever let in, for who gave a copy has written its ledger; None: all.
    """

    def __init__(self, folder: Path, *, manifest: bytes, admitted: Container[PeerId] | None = None) -> None:
        self._admitted = admitted
        self._folder = folder / STATES
        self._manifest = manifest.hex()
        self.wanted = frozenset[bytes]()
        """Lineages of copies to which moderators have gone back, or may: these are not deleted."""

    def newest(self) -> StateKept | None:
        """The copy that was taken last, of those that are whole; None: there is none.  Damaged ones are set aside."""
        for _, path in sorted(self._numbered().items(), reverse=True):
            try:
                header, file = _header(path), DiskStateFile(path, None)
                if header is not None and names_digest(_split(path)[1], file.digest):
                    if header.manifest == self._manifest:
                        return StateKept(_named(header), file, self._credited(header))
                    _LOG.warning("%s is another collaboration's: nobody is offered it", path.name)
                    continue
                _LOG.warning("a damaged copy of the model is set aside as %s", set_aside(path).name)
            except (OSError, Problem) as error:  # newcomers are welcome even if a copy cannot be read
                _LOG.warning("the copy of the model %s cannot be read: %s", path.name, error)
        return None

    def go_back(self, back: GoBack) -> StateKept | None:
        """Make the derived root of a copy the newest one; None: it is there, or its copy is not here.

        Args:
            back: What moderators have decided.

        Raises:
            Damaged: the copy is not what was written, or leads to another root.
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        sources: list[tuple[int, Path]] = []
        wrong: Damaged | None = None
        for number, path in sorted(self._numbered().items(), reverse=True):
            with contextlib.suppress(OSError):
                header = _header(path)
                lineage = b"" if header is None else bytes.fromhex(header.lineage)
                if not back.undoes(lineage):
                    return None
                if lineage == back.source:
                    sources.append((number, path))
        for number, path in sources:
            try:
                return self._root_of(number, path, back)
            except Damaged as problem:
                wrong = problem
        if wrong is not None:
            raise wrong
        return None

    def _root_of(self, source: int, path: Path, back: GoBack) -> StateKept:
        part = self._folder / "root.part"
        number = 1 + max(self._numbered())
        try:
            if derive_root(path, part, back.root[-ORIGIN_BYTES:]) != back:
                raise Damaged("The copy {name} is not the one to which moderators want to go back.", path.name)
            root = self._folder / f"{number:06d}-{state_file_name(back.epoch, back.root, back.digest)}"
            move_synced(part, root)
        except OSError as error:
            raise problem_of(error, part) from error
        finally:
            part.unlink(missing_ok=True)
        note_loss(self._folder, number, losses_of(self._folder).get(source))
        header = _header(root)
        assert header is not None
        return StateKept(_named(header), DiskStateFile(root, back.digest), self._credited(header))

    def keep(self, copy: Keep, loss: float | None = None) -> StateKept:
        """Take a copy into the folder, and delete those of which there are enough of about their age.

        Args:
            copy: What was fetched.
            loss: Its held-out loss; None: it was not measured.

        Raises:
            RemoteProblem: it calls itself otherwise than it was called, and is deleted.
            Damaged: it cannot be read.
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        location = Path(copy.location)
        number = 1 + max(self._numbered(), default=0)
        name = state_file_name(copy.name.epoch, copy.name.lineage, copy.digest)
        path = self._folder / f"{number:06d}-{name}"
        try:
            header = _header(location)
            if header is None or (_named(header), header.manifest) != (copy.name, self._manifest):
                location.unlink()
                raise RemoteProblem("The copy of the model names another state than was promised.")
            make_directory(self._folder)
            move_synced(location, path)
        except OSError as error:
            raise problem_of(error, location) from error
        kept = StateKept(copy.name, DiskStateFile(path, copy.digest), self._credited(header))
        self._thin(number)
        note_loss(self._folder, number, loss)
        return kept

    def refuse(self, copy: Keep) -> Path:
        """Set a copy aside that nobody shall be offered, in the place of the one before it; it counts among no copies.

        Args:
            copy: What was fetched.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        path = self._folder / REFUSED
        try:
            make_directory(self._folder)
            move_synced(Path(copy.location), path)
        except OSError as error:
            raise problem_of(error, path) from error
        return path

    def _thin(self, newest: int) -> None:
        numbered = self._numbered()
        epochs = {number: epoch_of(_split(path)[1]) or 0 for number, path in numbered.items()}
        ages = {number: _generation(newest - number) for number in numbered}
        oldest = {ages[number]: number for number in sorted(numbered, reverse=True)}
        further = [number for number in numbered if epochs[number] > epochs[newest]]
        furthest = {ages[number]: number for number in sorted(further, key=lambda number: (epochs[number], -number))}
        starts = {lineage.hex()[:8] for lineage in self.wanted}
        for number, path in numbered.items():
            if number not in {*oldest.values(), *furthest.values()} and KeptCopy(number, path).lineage not in starts:
                with contextlib.suppress(OSError):  # Windows keeps what somebody reads; the next copy tries again
                    path.unlink()

    def _credited(self, header: StateHeader) -> tuple[PeerId, ...]:
        """Peers that have contributed to a state, as its ledger says; none where that cannot be read."""
        with contextlib.suppress(WireProblem):
            gave = Ledger.from_bytes(header.ledger, epoch_max=header.epoch).givers()
            return tuple(peer for peer in gave if self._admitted is None or peer in self._admitted)
        return ()

    def _numbered(self) -> dict[int, Path]:
        return {copy.number: copy.path for copy in kept_copies(self._folder)}


def _split(path: Path) -> tuple[str, str]:
    """The number of a copy, and the name of its state's file."""
    number, _, name = path.name.partition("-")
    return number, name


def _generation(copies_ago: int) -> int:
    """0 for the newest itself, 1 for those before it up to 3 copies ago, 2 up to 15."""
    generation = 0
    while copies_ago >= AGES**generation:
        generation += 1
    return generation


def _header(path: Path) -> StateHeader | None:
    """What the state in a file says of itself; None: it is not a state."""
    with path.open("rb") as file:
        head = file.read(HEADER_BYTES_MAX)
    try:
        header = header_of(head)
        _named(header)
    except (WireProblem, ValueError):
        return None
    return header


def _named(header: StateHeader) -> StateName:
    return StateName(header.epoch, bytes.fromhex(header.lineage))
