"""A charter: the folder in which an organiser holds a collaboration.

manifest.json      signed
authority.key      the authority's secret seed, mode 0600
invitations.json   what lets people in (core.backbone.invitations)
records.signed     what the authority has decided since (core.base.authority_records)
admitted.log       who was let in (core.backbone.admission_log)
revoked.log        who was shut out (core.backbone.revocations)
blobs/             files named by the hex digest of their content
shards/N/          shards of the source N of its text, which the backbone gives to members (core.backbone.offers)
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
from core.base.authority_records import (
    RECORDS_BYTES_MAX,
    REVOKED_MAX,
    AuthorityRecords,
    read_records,
    sign_records,
)
from core.base.content import digest
from core.base.ids import PeerId
from core.base.manifest import Manifest, read_manifest, sign_manifest
from core.base.problems import BadInput, Damaged, Problem, RemoteProblem
from core.base.signing import SEED_BYTES, Ed25519Verifier, KeyPair
from core.net.clock import Clock
from core.system.atomic_files import make_directory, read_bounded, write_atomic
from core.system.file_chunks import file_digest

MANIFEST = "manifest.json"
AUTHORITY = "authority.key"
BLOBS = "blobs"
RECORDS = "records.signed"
SHARDS = "shards"


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


def read_charter_records(charter: Charter) -> tuple[bytes, AuthorityRecords]:
    """The newest records of the authority, signed and read; empty: nothing has been decided.

    Args:
        charter: The collaboration.

    Raises:
        Damaged: the file is unreadable, or not the authority's.
    """
    manifest = charter.manifest
    try:
        signed = read_bounded(charter.folder / RECORDS, RECORDS_BYTES_MAX) or b""
        if not signed:
            return b"", AuthorityRecords()
        return signed, read_records(
            signed, authority_id=manifest.authority_id, manifest_id=manifest.id, verifier=Ed25519Verifier()
        )
    except (ValueError, RemoteProblem) as error:
        raise Damaged(f"The file {RECORDS} of the collaboration in {charter.folder} is damaged.") from error


def revoke(charter: Charter, keys: Sequence[PeerId], *, now: float, undo: bool = False) -> AuthorityRecords:
    """Revoke the passes of keys, which get no other; peers learn it from a backbone that runs, within seconds.

    Args:
        charter: The collaboration.
        keys: The keys.
        now: Unix seconds: no list's number is smaller, so that one made from an earlier copy of the charter counts too.
        undo: Let the keys in again.

    Raises:
        Damaged: the records are unreadable.
        NoSpace: the disk is full; the first keys may be shut out.
    """
    _, known = read_charter_records(charter)
    log = Revocations(charter.folder)
    gone = dict.fromkeys(keys) if undo else {}
    log.append([Revocation(at=now, key=key.hex(), undone=True) for key in gone])
    wanted = dict.fromkeys([*map(PeerId, known.revoked), *keys])  # the list may be older than the log
    log.append([Revocation(at=now, key=key.hex()) for key in wanted if key not in log.keys and key not in gone])
    times, revoked = list(log.keys.values())[:-REVOKED_MAX], tuple(log.keys)[-REVOKED_MAX:]
    since = int(min(times[-1], now)) + 10 if times else 0  # the desk may be renewing one before it reads the log
    records = AuthorityRecords(number=max(known.number + 1, int(now)), revoked=revoked, passes_since=since)
    write_atomic(charter.folder / RECORDS, sign_records(records, charter.authority, charter.manifest.id))
    return records


def revoked_keys(charter: Charter) -> set[PeerId]:
    """All keys that are shut out: those of the log, and those of the list, which is older than the log.

    Raises:
        Damaged: the records are unreadable.
    """
    return {*Revocations(charter.folder).keys, *map(PeerId, read_charter_records(charter)[1].revoked)}


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
        where = f"The folder {folder} holds no collaboration." if folder.is_dir() else f"There is no folder {folder}."
        raise BadInput(where, hint=f"Name the folder of a collaboration: it holds {MANIFEST} and {AUTHORITY}.")
    try:
        seed = (folder / AUTHORITY).read_bytes()
        data = (folder / MANIFEST).read_bytes()
    except OSError as error:
        why = f"{Path(error.filename).name}: {error.strerror}" if error.filename and error.strerror else str(error)
        raise Damaged(
            f"The collaboration in {folder} cannot be read ({why}).", hint="Bring back a copy of it."
        ) from error
    if len(seed) != SEED_BYTES:
        raise Damaged(f"The collaboration in {folder} has a damaged key.")
    read_invitations(folder)
    manifest = read_manifest(data, Ed25519Verifier())
    check_manifest(manifest)
    for name, hexed in manifest.blobs.items():
        try:
            whole = file_digest(folder / BLOBS / hexed).hex() == hexed
        except OSError:
            whole = False
        if not whole:
            raise Damaged(f"The file {name} of the collaboration in {folder} is missing or damaged.")
    return Charter(folder, manifest, KeyPair(seed))
