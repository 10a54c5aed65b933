"""Backups: all that a charter holds, in one file, taken while its backbone runs and lets people in.

The file is a zip archive without compression, each entry with its checksum: any computer opens it without Potluck.  Its
first entry says what it is.  Nothing stops the backbone meanwhile, and the file agrees with itself all the same: each
file of a charter is replaced as a whole or only appended to (`core.system.atomic_files`), and logs are read after what
refers to them.  So all that was acknowledged before the backup began stands in it, and of what came later a beginning.

Databases of SQLite are copied by SQLite.  Of the copies of the model only the newest one is taken, unless more is asked
for.
"""

import contextlib
import os
import shutil
import sqlite3
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.backbone.charter import Charter, load_charter
from core.backbone.kept_states import LOSSES, STATES, kept_copies
from core.base.ids import PeerId
from core.base.problems import BadInput, Busy, Damaged, NoSpace, Problem
from core.base.signing import SEED_BYTES, KeyPair
from core.storage.sealed_key import SEALED_BYTES_MAX, seal_key, unseal_key
from core.system.atomic_files import PRIVATE_FILE, make_directory, move_synced, problem_of, write_atomic

ABOUT: Final = "potluck-backup.json"
VERSION: Final = 1
SEALED: Final = ".sealed"
"""Suffix of a key that is under a passphrase."""
TRIES: Final = 5
"""How often a backup begins: a file may be replaced by one of another name in the middle."""
ENTRIES_MAX: Final = 1_000_000
_ABOUT_BYTES_MAX: Final = 64 * 1024
_BLOCK_BYTES: Final = 1 << 20
_SQLITE: Final = b"SQLite format 3\0"
_LEFT_OUT: Final = (".lock", ".part", "-wal", "-shm", "-journal")
_Hex = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class _Version(msgspec.Struct, frozen=True):
    version: Annotated[int, Meta(ge=1, le=2**31)]


class BackupAbout(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup says of itself."""

    version: Annotated[int, Meta(ge=1, le=2**31)] = VERSION
    collaboration: _Hex
    name: Annotated[str, Meta(max_length=400)]
    at: Annotated[float, Meta(ge=0, le=1e12)]
    """When it began, Unix seconds."""
    sealed: Annotated[dict[str, _Hex], Meta(max_length=100)] = {}
    """Names of the keys that are under a passphrase, with their public keys."""


@dataclass(frozen=True, slots=True)
class Backed:
    """What has become of a backup."""

    about: BackupAbout
    files: int
    size_bytes: int


def back_up(charter: Charter, file: Path, *, now: float, all_copies: bool = False, passphrase: bytes = b"") -> Backed:
    """Write all that a charter holds into one file, in the place of an earlier backup of it.

    Args:
        charter: The collaboration; its backbone may run.
        file: Where the backup goes.
        now: Unix seconds.
        all_copies: Take all copies of the model.
        passphrase: Seals the secret keys (`core.storage.sealed_key.check_passphrase`); empty: they lie open.

    Raises:
        BadInput: something else is there, or the place is within the charter.
        NoSpace: the disk is full; an earlier backup is still there.
        Busy: the charter changes all the time.
        UserProblem: the system does not allow it.
    """
    if charter.folder in file.parents:
        raise BadInput("A backup cannot lie in the folder that it is of.", hint="Name a file elsewhere.")
    if file.exists() and read_about(file).collaboration != charter.manifest.id.hex():
        raise BadInput("{file} is a backup of another collaboration.", file, hint="Name another file.")
    make_directory(file.parent)
    part = file.with_name(f".{file.name}.{os.getpid()}-{os.urandom(6).hex()}")
    try:
        for left in reversed(range(TRIES)):
            try:
                backed = _write(charter, part, now, all_copies=all_copies, passphrase=passphrase)
                break
            except FileNotFoundError as error:
                part.unlink(missing_ok=True)
                if not left:
                    raise Busy("The collaboration's files change all the time.", hint="Try again later.") from error
        move_synced(part, file)
    except OSError as error:
        raise problem_of(error, file) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    return backed


def restore(file: Path, folder: Path, passphrase: bytes = b"") -> BackupAbout:
    """Unpack a backup into a new folder, which holds a whole charter when this returns, and nothing of use before.

    Args:
        file: The backup.
        folder: A folder that is not there yet, or is empty.
        passphrase: Opens its keys, where they are sealed.

    Raises:
        BadInput: it is not a backup, a newer version wrote it, or it leads out of the folder.
        WrongPassphrase: its keys stay sealed.
        Damaged: it is not what was written.
        NoSpace: it does not fit on the disk.
        UserProblem: the system does not allow it.
    """
    about = read_about(file)
    try:
        make_directory(folder)
        with zipfile.ZipFile(file) as archive:
            entries = [entry for entry in archive.infolist() if entry.filename != ABOUT]
            _check_entries(file, entries, about)
            _check_room(sum(entry.file_size for entry in entries), folder)
            for entry in entries:
                _unpack(archive, entry, folder)
        for name, peer in about.sealed.items():
            _open_key(folder / name, passphrase, PeerId(bytes.fromhex(peer)))
        if load_charter(folder).manifest.id.hex() != about.collaboration:
            raise _damaged(file)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise _damaged(file) from error
    except OSError as error:
        raise problem_of(error, folder) from error
    return about


# --- writing ----------------------------------------------------------------------------------------------------------


def _write(charter: Charter, part: Path, now: float, *, all_copies: bool, passphrase: bytes) -> Backed:
    """Write the archive beside its place.

    Raises:
        FileNotFoundError: a file has gone meanwhile.
    """
    names = _names(charter.folder, all_copies=all_copies)
    _check_room(sum((charter.folder / name).stat().st_size for name in names), part.parent)
    keys = _keys(charter.folder, names) if passphrase else {}
    sealed = {name: key.peer_id.hex() for name, key in keys.items()}
    about = BackupAbout(collaboration=charter.manifest.id.hex(), name=charter.manifest.name, at=now, sealed=sealed)
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), PRIVATE_FILE)
    with os.fdopen(descriptor, "w+b") as out:
        with zipfile.ZipFile(out, "w", strict_timestamps=False) as archive:
            archive.writestr(ABOUT, msgspec.json.encode(about))
            for name in names:
                if name in keys:
                    archive.writestr(name + SEALED, seal_key(keys[name], passphrase))
                else:
                    _pack(archive, charter.folder / name, name, part)
        out.flush()
        os.fsync(out.fileno())
        size = out.tell() if out.seek(0, os.SEEK_END) else 0
    return Backed(about, len(names), size)


def _names(folder: Path, *, all_copies: bool) -> list[str]:
    """What is taken, in the order in which it is read: a log may say more than what refers to it, never less."""
    copies = [copy.path.name for copy in kept_copies(folder / STATES)]
    states = {LOSSES, *(copies if all_copies else copies[-1:])}
    found = []
    for directory, _, files in os.walk(folder, followlinks=True):
        inside = Path(directory).relative_to(folder)
        for name in files:
            left_out = name.startswith(".") or name.endswith(_LEFT_OUT)
            if not left_out and (inside != Path(STATES) or name in states) and Path(directory, name).is_file():
                found.append((inside / name).as_posix())
    return sorted(found, key=lambda name: (name.endswith(".log"), name))


def _keys(folder: Path, names: list[str]) -> dict[str, KeyPair]:
    found = {name: folder / name for name in names if name.endswith(".key") and "/" not in name}
    return {name: KeyPair(path.read_bytes()) for name, path in found.items() if path.stat().st_size == SEED_BYTES}


def _pack(archive: zipfile.ZipFile, path: Path, name: str, part: Path) -> None:
    """Copy a file as far as it goes now: what is appended meanwhile came too late."""
    with path.open("rb") as source:
        if source.read(len(_SQLITE)) == _SQLITE:
            copy = part.with_name(f"{part.name}-db")
            try:
                _copy_database(path, copy)
                archive.write(copy, name)
            finally:
                copy.unlink(missing_ok=True)
            return
        source.seek(0)
        entry = zipfile.ZipInfo.from_file(path, name, strict_timestamps=False)
        left = os.fstat(source.fileno()).st_size
        with archive.open(entry, "w", force_zip64=True) as target:
            while left and (block := source.read(min(left, _BLOCK_BYTES))):
                target.write(block)
                left -= len(block)


def _copy_database(path: Path, copy: Path) -> None:
    copy.touch(PRIVATE_FILE)
    try:
        with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(copy)) as target:
            source.backup(target)
    except sqlite3.Error as error:
        message = "The database {name} cannot be copied: {error}."
        raise Problem(message, path.name, error, hint="Try again later.") from error


# --- reading ----------------------------------------------------------------------------------------------------------


def read_about(file: Path) -> BackupAbout:
    """What a backup says of itself, so that a person is asked for a passphrase only where there is one.

    Raises:
        BadInput: it is not a backup, or a newer version wrote it.
    """
    no_backup = BadInput("{file} is not a backup of a collaboration.", file, hint="Make one with: potluck backup")
    try:
        with zipfile.ZipFile(file) as archive:
            entry = archive.getinfo(ABOUT)
            if entry.file_size > _ABOUT_BYTES_MAX or entry.compress_type != zipfile.ZIP_STORED:
                raise no_backup
            data = archive.read(entry)
        if msgspec.json.decode(data, type=_Version).version > VERSION:
            raise BadInput("A newer version of Potluck wrote the backup {file}.", file, hint="Update Potluck.")
        return msgspec.json.decode(data, type=BackupAbout)
    except FileNotFoundError as error:
        raise BadInput("There is no file {file}.", file, hint="Name the file of a backup.") from error
    except OSError as error:
        raise BadInput("{file} cannot be read.", file, hint="Check that it is a file that belongs to you.") from error
    except (zipfile.BadZipFile, KeyError, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise no_backup from error


def _check_entries(file: Path, entries: list[zipfile.ZipInfo], about: BackupAbout) -> None:
    """Refuse what no backup has: all that it unpacks to lies in the file itself, and goes into one folder."""
    whole = sum(entry.file_size for entry in entries) <= file.stat().st_size
    stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
    names = [entry.filename for entry in entries]
    sealed = {name + SEALED for name in about.sealed} <= {*names}
    if not (whole and stored and sealed and len(set(names)) == len(names) <= ENTRIES_MAX):
        raise _damaged(file)
    for name in names:
        parts = name.split("/")
        if not name.isprintable() or any(part.startswith(".") or not part or {*"\\:"} & {*part} for part in parts):
            raise BadInput("{file} has a file that leads out of the folder.", file, hint="Do not trust this file.")


def _check_room(needed: int, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        message = "{needed} MB are needed in {folder}, and {free} MB are free."
        raise NoSpace(message, -(-needed // 10**6), folder, free // 10**6, hint="Free some space.")


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path) -> None:
    path = folder / entry.filename
    make_directory(path.parent)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as target, archive.open(entry) as source:
        shutil.copyfileobj(source, target, _BLOCK_BYTES)
        target.flush()
        os.fsync(target.fileno())
    with contextlib.suppress(ValueError, OverflowError):  # copies of the model are listed with their times
        at = time.mktime((*entry.date_time, 0, 0, -1))
        os.utime(path, (at, at))


def _open_key(path: Path, passphrase: bytes, peer: PeerId) -> None:
    sealed = path.with_name(path.name + SEALED)
    with sealed.open() as file:
        keys = unseal_key(file.read(SEALED_BYTES_MAX), passphrase, peer)
    write_atomic(path, keys.seed)
    sealed.unlink()


def _damaged(file: Path) -> Damaged:
    return Damaged("The backup {file} is damaged.", file, hint="Take an earlier one.")
