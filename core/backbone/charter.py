"""A charter: the folder in which an organiser holds a collaboration.

manifest.json      signed
authority.key      the authority's secret seed, mode 0600
invitations.json   what lets people in (core.backbone.invitations)
records.signed     what moderators have said since (core.authority.records)
admitted.log       who was let in (core.backbone.admission_log)
revoked.log        who was shut out (core.backbone.revocations)
blobs/             files named by the hex digest of their content
shards/N/          shards of the source N of its text, which the backbone gives to members (core.backbone.offers)
"""

import contextlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from core.authority.changes import ISSUING_S, new_decisions
from core.authority.decisions import REVOKED_MAX
from core.authority.documents import Document
from core.authority.records import BUNDLE_BYTES_MAX, AuthorityRecords
from core.backbone.admission_log import AdmissionLog
from core.backbone.invitations import (
    EARLIER_INVITATION,
    INVITATIONS,
    Invitation,
    first_invitation,
    read_invitations,
    write_invitations,
)
from core.backbone.revocations import Revocation, Revocations
from core.backbone.support import check_manifest
from core.base.content import digest
from core.base.ids import PeerId
from core.base.manifest import Manifest, read_manifest, sign_manifest
from core.base.problems import BadInput, Busy, Damaged, Problem, RemoteProblem
from core.base.signing import SEED_BYTES, Ed25519Verifier, KeyPair
from core.net.clock import Clock
from core.system.atomic_files import make_directory, read_bounded, write_atomic
from core.system.file_chunks import file_digest
from core.system.file_lock import held

MANIFEST = "manifest.json"
AUTHORITY = "authority.key"
BLOBS = "blobs"
RECORDS = "records.signed"
SHARDS = "shards"
LOCK = "organiser.lock"
LOCK_S = 10.0


@dataclass(frozen=True, slots=True)
class Charter:
    """An organiser's folder, opened: the manifest and the authority's keys."""

    folder: Path
    manifest: Manifest
    authority: KeyPair

    @property
    def invitations(self) -> list[Invitation]:
        """What lets people in now, the oldest first; read again each time, for the organiser may have changed it.

        Raises:
            Damaged: the file is missing or unreadable.
        """
        return read_invitations(self.folder)

    @property
    def invite(self) -> str:
        """The secret of the oldest invitation; empty: all were withdrawn."""
        return next((invitation.secret for invitation in self.invitations), "")

    @property
    def manifest_path(self) -> Path:
        """The signed manifest as a file."""
        return self.folder / MANIFEST

    @property
    def blobs(self) -> Path:
        """The folder whose files newcomers download, each named by its digest in hex."""
        return self.folder / BLOBS


def read_charter_records(charter: Charter) -> AuthorityRecords:
    """What moderators have said.

    Args:
        charter: The collaboration.

    Raises:
        Damaged: the file is unreadable, or not the authority's.
    """
    records = AuthorityRecords(charter.manifest.authority_id, charter.manifest.id)
    try:
        records.learn(read_bounded(charter.folder / RECORDS, BUNDLE_BYTES_MAX) or b"", None)
        records.forget(Clock().now())
    except (ValueError, RemoteProblem) as error:
        raise Damaged(
            "The file {records} of the collaboration in {folder} is damaged.", RECORDS, charter.folder
        ) from error
    return records


class CharterRecords:
    """What moderators have said, read again when a command or the backbone has written it.

    Args:
        charter: The collaboration.
    """

    def __init__(self, charter: Charter) -> None:
        self._charter = charter
        self._stamp: tuple[int, int] | None = None
        self._records = AuthorityRecords(charter.manifest.authority_id, charter.manifest.id)

    def read(self) -> AuthorityRecords:
        """The newest.

        Raises:
            Damaged: the file is unreadable, or not the authority's.
        """
        try:
            known = (self._charter.folder / RECORDS).stat()
            stamp = (known.st_mtime_ns, known.st_ino)
        except OSError:
            stamp = (0, 0)
        if stamp != self._stamp:
            self._records = read_charter_records(self._charter)
            self._stamp = stamp
        return self._records


def revoke(charter: Charter, keys: Sequence[PeerId], *, now: float, undo: bool = False) -> AuthorityRecords:
    """Revoke the passes of keys, which get no other; peers learn it from a backbone that runs, within seconds.

    Where the founder's key does not decide alone, this backbone lets the keys in no more, and the rest is proposed.

    Args:
        charter: The collaboration.
        keys: The keys.
        now: Unix seconds.
        undo: Let the keys in again.

    Raises:
        Damaged: the records are unreadable.
        NotTrusted: the founder's key is not a moderator's any more.
        NoSpace: the disk is full; the first keys may be shut out.
    """
    records = read_charter_records(charter)
    known = records.decisions
    log = Revocations(charter.folder)
    gone = dict.fromkeys(keys) if undo else {}
    log.append([Revocation(at=now, key=key.hex(), undone=True) for key in gone])
    wanted = dict.fromkeys([*map(PeerId, known.revoked), *keys])  # the list may be older than the log
    log.append([Revocation(at=now, key=key.hex()) for key in wanted if key not in log.keys and key not in gone])
    times, revoked = list(log.keys.values())[:-REVOKED_MAX], tuple(log.keys)[-REVOKED_MAX:]
    since = int(min(times[-1], now)) + ISSUING_S if times else 0  # the desk may renew one before it reads the log
    keep_document(
        charter, records, new_decisions(records, charter.authority, now, revoked=revoked, passes_since=float(since))
    )
    return records


def only_command(charter: Charter) -> AbstractAsyncContextManager[None]:
    """Hold the lock that a change of the charter's decisions needs."""
    busy = Busy("Another command changes this collaboration.", hint="Try again in a moment.")
    return held(charter.folder / LOCK, patience_s=LOCK_S, otherwise=busy)


async def merged_records(charter: Charter, learned: AuthorityRecords) -> bytes:
    """What the charter has, with what moderators elsewhere have said, which it has from now on.

    Args:
        charter: The collaboration.
        learned: What its backbone knows.

    Raises:
        Damaged: the charter's records are unreadable.
        Busy: a command changes them for long.
        NoSpace: the disk is full.
    """
    kept, known = read_charter_records(charter), learned.to_bytes()
    if kept.to_bytes() == known or not _merged(kept, known):
        return kept.to_bytes()
    async with only_command(charter):
        records = read_charter_records(charter)
        _merged(records, known)
        _write(charter, records)
    return records.to_bytes()


def _merged(records: AuthorityRecords, known: bytes) -> bool:
    """Take what a backbone knows, and say whether it is new; the charter may have replaced some of it meanwhile."""
    try:
        return records.learn(known, None)
    except RemoteProblem:
        return False


def keep_document(charter: Charter, records: AuthorityRecords, document: Document) -> None:
    """Take what the founder's key has signed into the charter, where a backbone finds it.

    Args:
        charter: The collaboration.
        records: What is known, which then knows it too.
        document: With the signature.

    Raises:
        NoSpace: the disk is full.
    """
    records.take(document, Clock().now())
    _write(charter, records)


def _write(charter: Charter, records: AuthorityRecords) -> None:
    """Write what moderators have said, and into the log, which has room for all, whom they have shut out."""
    log, revoked = Revocations(charter.folder), [*map(PeerId, records.decisions.revoked)]
    at = float(records.decisions.number)
    log.append([Revocation(at=at, key=key.hex()) for key in revoked if key not in log.keys])
    before = read_charter_records(charter).decisions.pardoned
    pardoned = [key for key in map(PeerId, records.decisions.pardoned) if key not in before]
    spared = [key for key in pardoned if key in log.keys and key not in revoked]
    log.append([Revocation(at=at, key=key.hex(), undone=True) for key in spared])
    write_atomic(charter.folder / RECORDS, records.to_bytes())


def revoked_keys(charter: Charter) -> set[PeerId]:
    """All keys that are shut out: those of the log, and those of the list, which is older than the log.

    Raises:
        Damaged: the records are unreadable.
    """
    return {*Revocations(charter.folder).keys, *map(PeerId, read_charter_records(charter).decisions.revoked)}


def admissions(charter: Charter) -> AdmissionLog:
    """Who was let in, as the charter's backbone counts it: without what stolen keys have told.

    Raises:
        UserProblem: the log is unreadable, or who was shut out; so does Damaged for the records.
    """
    log = AdmissionLog(charter.folder)
    log.believe(read_charter_records(charter).chain.stolen)
    return log


def new_authority() -> KeyPair:
    """A key of its own for each collaboration."""
    return KeyPair.generate()


def keep_blobs(folder: Path, files: Mapping[str, Path]) -> dict[str, str]:
    """Copy files under their digests into a charter's folder; returns the digests in hex, by name.

    Raises:
        NoSpace: the disk is full.
    """
    blobs = folder / BLOBS
    make_directory(blobs)
    names: dict[str, str] = {}
    for name, path in files.items():
        data = path.read_bytes()
        hexed = digest(data).hex()
        write_atomic(blobs / hexed, data)
        names[name] = hexed
    return names


def found(folder: Path, manifest: Manifest, authority: KeyPair, invitation: Invitation | None = None) -> Charter:
    """Write a charter with one invitation; the manifest comes last, so one that has it is whole.

    Args:
        folder: The charter's, with its blobs.
        manifest: What is signed.
        authority: Signs it.
        invitation: Lets people in first; None: `first_invitation`.

    Raises:
        BadInput: the manifest names a codec or an aggregator that there is not.
        NoSpace: the disk is full; nothing is left of the charter but its blobs.
    """
    check_manifest(manifest)
    try:
        write_atomic(folder / AUTHORITY, authority.seed)
        write_invitations(folder, [invitation or first_invitation(Clock().now())])
        write_atomic(folder / MANIFEST, sign_manifest(manifest, authority))
    except Problem:
        for name in (MANIFEST, INVITATIONS, AUTHORITY):
            with contextlib.suppress(OSError):
                (folder / name).unlink(missing_ok=True)
        raise
    return Charter(folder, manifest, authority)


def load_charter(folder: Path) -> Charter:
    """Read a charter.

    Raises:
        Damaged: a file is missing or unreadable, or a blob is not what its name says.
        BadInput: there is no such folder, or the manifest is none.
        NotTrusted: the manifest was changed after it was signed.
    """
    if not any((folder / name).exists() for name in (AUTHORITY, INVITATIONS, EARLIER_INVITATION, MANIFEST)):
        raise BadInput(
            "The folder {folder} holds no collaboration." if folder.is_dir() else "There is no folder {folder}.",
            folder,
            MANIFEST,
            AUTHORITY,
            hint="Name the folder of a collaboration: it holds {manifest} and {authority}.",
        )
    try:
        seed = (folder / AUTHORITY).read_bytes()
        data = (folder / MANIFEST).read_bytes()
    except OSError as error:
        why = f"{Path(error.filename).name}: {error.strerror}" if error.filename and error.strerror else str(error)
        raise Damaged(
            "The collaboration in {folder} cannot be read ({why}).", folder, why, hint="Bring back a copy of it."
        ) from error
    if len(seed) != SEED_BYTES:
        raise Damaged("The collaboration in {folder} has a damaged key.", folder)
    read_invitations(folder)
    manifest = read_manifest(data, Ed25519Verifier())
    check_manifest(manifest)
    for name, hexed in manifest.blobs.items():
        try:
            whole = file_digest(folder / BLOBS / hexed).hex() == hexed
        except OSError:
            whole = False
        if not whole:
            raise Damaged("The file {name} of the collaboration in {folder} is missing or damaged.", name, folder)
    return Charter(folder, manifest, KeyPair(seed))
