"""Keys and households that are shut out: the second file of the admission log, asked whenever a pass is wanted.

`revoked.log` in the charter has a line of JSON for each decision, appended and synced, and is never thinned.  Each of
the log's two files has one writer: the organiser's commands, under their lock, write this one, and the backbone writes
`admitted.log`.  The backbone reads what is new here before each answer.  A decision names a key, or a household
(`core.base.rate_limit.household`), from which no new key is let in; who was let in from there before stays.
"""

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.ids import PeerId
from core.base.problems import ShutOut, UserProblem
from core.system.atomic_files import append_synced

_LOG = logging.getLogger(__name__)
REVOKED: Final = "revoked.log"


class Revocation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key or a household is shut out, or let in again."""

    at: Annotated[float, Meta(ge=0, le=1e12)]
    """When, Unix seconds."""
    key: Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")] = ""
    household: Annotated[str, Meta(pattern="^[0-9a-f]*$")] = ""
    """`household_mark`; empty: the decision is about the key."""
    undone: bool = False
    """Let in again."""


class Revocations:
    """All that are shut out, by key and by household.

    Args:
        folder: The charter's.

    Raises:
        UserProblem: the file is there and cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / REVOKED
        self._read_bytes = 0
        self.keys: dict[PeerId, float] = {}
        """When each key was shut out, Unix seconds, in the order of the decisions."""
        self.households: dict[str, float] = {}
        """The same of households, by `household_mark`."""
        self.refresh()

    def refresh(self) -> None:
        """Read what was decided since the last look.

        Raises:
            UserProblem: the file cannot be read, so nobody knows who is shut out.
        """
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, 2)
                if size < self._read_bytes:  # an earlier copy of the charter was brought back
                    self._read_bytes = 0
                file.seek(self._read_bytes)
                data = file.read(size - self._read_bytes)
        except FileNotFoundError:
            return
        except OSError as error:
            raise UserProblem("{path} could not be read: {error}.", self._path, error.strerror or error) from error
        whole = data[: data.rfind(b"\n") + 1]  # a command may be writing the rest
        self._read_bytes += len(whole)
        unreadable = sum(not self._heed(line) for line in whole.splitlines() if line)
        if unreadable:
            hint = "see with potluck people who is shut out, and revoke again"
            _LOG.warning("%d lines of %s cannot be read: %s", unreadable, self._path, hint)

    def append(self, decisions: Sequence[Revocation]) -> None:
        """Write decisions down, which count from now on.

        Raises:
            NoSpace: the disk is full; the first decisions may count.
        """
        if decisions:
            lines = b"".join(msgspec.json.encode(each) + b"\n" for each in decisions)
            append_synced(self._path, b"\n" + lines)  # first the end of what may be half a line
            self.refresh()

    def _heed(self, line: bytes) -> bool:
        try:
            decision = msgspec.json.decode(line, type=Revocation)
        except msgspec.MsgspecError:
            return False
        if decision.undone:
            self.keys.pop(PeerId(bytes.fromhex(decision.key)), None)
            self.households.pop(decision.household, None)
        elif decision.key:
            self.keys.setdefault(PeerId(bytes.fromhex(decision.key)), decision.at)
        elif decision.household:
            self.households.setdefault(decision.household, decision.at)
        return True


def household_mark(secret: bytes, household: str) -> str:
    """What the log keeps in the place of an address, which is personal: a keyed hash (BLAKE2b), 16 digits.

    It tells who came from one household.  A copy of the log without the secret cannot be compared with addresses.

    Args:
        secret: The seed of the collaboration's authority, 32 bytes.
        household: As `core.base.rate_limit.household` has it.
    """
    return hashlib.blake2b(household.encode(), key=secret, digest_size=8, person=b"potluck house").hexdigest()


def shut_out() -> ShutOut:
    """The problem that the organiser has shut this computer's key, or its household, out."""
    return ShutOut(
        "The organiser has shut this computer out of the collaboration.",
        hint="Only the organiser can let it in again.",
    )
