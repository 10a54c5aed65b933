"""The copies of the model that a backbone keeps in its charter (docs/protocols/states.md).

The newest is given to newcomers when nobody trains.  Older ones are for the organiser to go back to, lest a member that
was alone with the backbone for a while has the last word: the older, the fewer.  Their numbers tell their order,
whatever clocks say, and wherever the charter is moved.
"""

import contextlib
import logging
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from core.base.ids import PeerId
from core.base.problems import Busy, Problem, RemoteProblem, WireProblem
from core.base.state_header import HEADER_BYTES_MAX, StateHeader, epoch_of, header_of, names_digest, state_file_name
from core.kept.state_files import DiskStateFile
from core.ledger.credits import OTHERS
from core.ledger.ledger import Ledger
from core.swarm.words.facts import StateKept
from core.swarm.words.orders import Keep
from core.swarm.words.states import StateName
from core.system.atomic_files import make_directory, move_synced, problem_of, read_bounded, set_aside, write_atomic
from core.system.file_lock import held

_LOG = logging.getLogger(__name__)
STATES: Final = "states"
CHOSEN: Final = "chosen"
LOSSES: Final = "losses.json"
BYTES_MAX: Final = 64 * 1024
"""Upper bound on what is read of what stands beside the copies, bytes."""
LOCK: Final = "copies.lock"
LOCK_S: Final = 600.0
"""A copy of the largest models takes no longer to be hashed and synced."""
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


def kept_copies(folder: Path) -> list[KeptCopy]:
    """The copies in a folder, the first one first; what cannot be listed counts as none."""
    try:
        found = [(*_split(path), path) for path in folder.iterdir()]
    except OSError:
        return []
    numbered = [(number, path) for number, name, path in found if number.isdecimal() and epoch_of(name) is not None]
    return sorted((KeptCopy(int(number), path) for number, path in numbered), key=lambda copy: copy.number)


def changing_copies(folder: Path) -> AbstractAsyncContextManager[None]:
    """Hold the lock of those who change copies: the backbone, and the command that goes back to one.

    Args:
        folder: The charter's.
    """
    busy = Busy("Another program changes the copies of the model.", hint="Try again in some minutes.")
    return held(folder / LOCK, patience_s=LOCK_S, otherwise=busy)


def next_number(folder: Path) -> int:
    """The number of the next copy; that of a choice whose copy never came is nobody's."""
    return 1 + max(chosen_copy(folder)[0], *(copy.number for copy in kept_copies(folder)), 0)


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


def chosen_copy(folder: Path) -> tuple[int, bool]:
    """The number of the copy to which the organiser has gone back last, 0 for none; and whether all have followed."""
    try:
        number, _, followed = (read_bounded(folder / CHOSEN, BYTES_MAX) or b"0").partition(b" ")
        return int(number), bool(followed)
    except (ValueError, Problem) as error:
        _LOG.warning("which copy of the model was chosen cannot be read: %s", error)
        return 0, False


class KeptStates:
    """Keeps copies of the model in a charter: the newest, a few older ones, and what the organiser chose.

    Args:
        folder: The charter's.
        manifest: The collaboration's id; a copy of another is not kept.
    """

    def __init__(self, folder: Path, *, manifest: bytes) -> None:
        self._folder = folder / STATES
        self._manifest = manifest.hex()
        self._heeded = 0
        """The copy that the organiser had chosen at the last look."""

    def newest(self) -> StateKept | None:
        """The copy that was taken last, of those that are whole; None: there is none.  Damaged ones are set aside."""
        copies, (number, followed) = self._numbered(), chosen_copy(self._folder)
        self._heeded = number if number in copies else 0
        return self._whole(sorted(copies.items(), reverse=True), chosen=0 if followed else self._heeded)

    def _whole(self, copies: Iterable[tuple[int, Path]], *, chosen: int) -> StateKept | None:
        """The first of these that is whole."""
        for number, path in copies:
            try:
                header, file = _header(path), DiskStateFile(path, None)
                if header is not None and names_digest(_split(path)[1], file.digest):
                    return StateKept(_named(header), file, _credited(header), chosen=number == chosen)
                _LOG.warning("a damaged copy of the model is set aside as %s", set_aside(path).name)
            except (OSError, Problem) as error:  # newcomers are welcome even if a copy cannot be read
                _LOG.warning("the copy of the model %s cannot be read: %s", path.name, error)
        return None

    def chosen(self) -> StateKept | None:
        """The copy to which the organiser has gone back since the last look; None: to none."""
        number, followed = chosen_copy(self._folder)
        copies = [copy for copy in self._numbered().items() if copy[0] == number]
        if number == self._heeded or not copies:
            return None
        self._heeded = number
        return None if followed else self._whole(copies, chosen=number)

    def followed(self) -> None:
        """Note that all have gone back: a backbone that starts again does not have them go back once more.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        if self._heeded and chosen_copy(self._folder) == (self._heeded, False):
            write_atomic(self._folder / CHOSEN, b"%d followed" % self._heeded)

    def keep(self, copy: Keep, loss: float | None = None) -> StateKept:
        """Take a copy into the folder, and delete those of which there are enough of about their age.

        Args:
            copy: What was fetched.
            loss: Its held-out loss; None: it was not measured.

        Raises:
            Busy: the organiser has gone back to an earlier copy meanwhile.
            RemoteProblem: it calls itself otherwise than it was called, and is deleted.
            Damaged: it cannot be read.
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        location = Path(copy.location)
        if chosen_copy(self._folder)[0] in self._numbered().keys() - {self._heeded}:
            raise Busy("The organiser has gone back to an earlier copy meanwhile.")
        number = next_number(self._folder)
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
        kept = StateKept(copy.name, DiskStateFile(path, copy.digest), _credited(header))
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
        for number, path in numbered.items():
            if number not in {*oldest.values(), *furthest.values(), self._heeded}:
                with contextlib.suppress(OSError):  # Windows keeps what somebody reads; the next copy tries again
                    path.unlink()

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


def _credited(header: StateHeader) -> tuple[PeerId, ...]:
    """Peers that have contributed to a state, as its ledger says; none where that cannot be read."""
    try:
        rows = Ledger.from_bytes(header.ledger, epoch_max=header.epoch).rows
    except WireProblem:
        return ()
    return tuple(peer for peer, row in rows.items() if row.samples and peer != OTHERS)
