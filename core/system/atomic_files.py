"""Files that survive a power cut: written whole or not at all, and set aside when they turn out damaged."""

import contextlib
import errno
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from core.base.problems import Busy, NoSpace, UserProblem

PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700
UMASK: Final = "POTLUCK_UMASK"
"""The environment variable with the umask that the person had before the program made everything private."""

_MOVES_MAX: Final = 12
"""Number of attempts to move what another program holds open, together about fifteen seconds."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_FULL_WINDOWS = frozenset({39, 112})
"""ERROR_HANDLE_DISK_FULL and ERROR_DISK_FULL."""

_SCARCE: Final = {
    errno.EMFILE: "Potluck may not open any more files.",
    errno.ENFILE: "No program of this computer may open any more files.",
    errno.ENOMEM: "This computer has no memory left.",
}
_SCARCE_HINTS: Final = {
    errno.EMFILE: "Allow it more (on Linux: ulimit -n 4096), and start it again.",
    errno.ENFILE: "End programs that you do not need.",
    errno.ENOMEM: "End programs that you do not need.",
}
_NO_FOLDER: Final = frozenset({errno.ENOTDIR, errno.EEXIST})
_NO_FOLDER_HINT: Final = "A file is where a folder has to be: name another folder."
_TEMPORARY: Final = re.compile(r"^\..+\.(\d{1,10})-[0-9a-f]{12}$")
"""Number of the process that writes it."""


def make_directory(path: Path, *, mode: int = PRIVATE_DIRECTORY) -> None:
    """Create `path` and its parents, for its owner only or as `mode` says; one that stands already keeps its mode.

    Raises:
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    try:
        made = [each for each in (path, *path.parents) if not each.exists()] if mode & ~PRIVATE_DIRECTORY else []
        path.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        for each in made:
            each.chmod(mode)  # parents are made by the umask alone
    except OSError as error:
        raise problem_of(error, path) from error


def public_file() -> int:
    """The mode of a file that is made to be given away or served: what the person's own umask leaves of 0644."""
    return 0o644 & ~_users_umask()


def public_directory() -> int:
    """The mode of a folder that is made to be given away or served."""
    return 0o755 & ~_users_umask()


def write_atomic(path: Path, data: bytes | memoryview, *, mode: int = PRIVATE_FILE) -> None:
    """Replace the file at `path` by one that holds `data`.

    Whatever happens on the way, `path` holds either what it held before or all of `data`.

    Raises:
        NoSpace: the disk is full; what was at `path` is still there.
        UserProblem: the system does not allow it; what was at `path` is still there.
    """
    _write(path, data, mode=mode, place=os.replace)


def write_new(path: Path, data: bytes) -> None:
    """Make a file that holds `data`, never over another one, and never visible half written.

    Raises:
        FileExistsError: something is at `path` already; it is untouched.
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    _write(path, data, mode=PRIVATE_FILE, place=_place_new)


def move_synced(source: Path, path: Path) -> None:
    """Move a whole file to its place on the same disk, so that it is there after a power cut.

    Raises:
        OSError: the system does not allow it, or the disk is full.
    """
    _sync(source, os.O_RDWR)
    source.replace(path)
    _sync_directory(path.parent)


def sync_all(folder: Path) -> None:
    """Have all files of a folder on the disk, so that whatever is moved to its place is whole there after a power cut.

    Raises:
        OSError: the disk takes them no more.
    """
    if hasattr(os, "sync"):
        os.sync()  # one call in the place of ten thousand
        return
    for directory, _, names in os.walk(folder):
        for name in names:
            _sync(Path(directory, name), os.O_RDWR)


def move_patiently(source: Path, path: Path, *, sleep: Callable[[float], object]) -> None:
    """Move a file or a folder to its place on the same disk, again and again while another program holds it open.

    Args:
        source: What is moved.
        path: Its place.
        sleep: Waits, seconds.

    Raises:
        Busy: the other program does not let go.
        OSError: the system does not allow it.
    """
    for attempt in range(_MOVES_MAX):
        try:
            source.replace(path)
        except PermissionError:
            sleep(min(2.0, 0.1 * 2**attempt))
        else:
            return
    hint = "Wait a minute and try again: what is here already is kept."
    raise Busy("Another program holds {path} open, an antivirus for example.", source, hint=hint)


def append_synced(path: Path, data: bytes) -> None:
    """Append `data` to the file at `path`, which is made if there is none.

    When this returns, the data survives a power cut.  When it raises, some of it may be there: each reader must tell a
    whole record from the beginning of one.

    Raises:
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    new = not path.exists()
    make_directory(path.parent)
    try:
        _write_synced(path, data, mode=PRIVATE_FILE, how=os.O_APPEND)
        if new:
            _sync_directory(path.parent)
    except OSError as error:
        raise problem_of(error, path) from error


def read_bounded(path: Path, bytes_max: int) -> bytes | None:
    """All of the file at `path`; None when there is none.

    Raises:
        ValueError: there are more than `bytes_max` bytes, so this program did not write it.
        UserProblem: the system does not allow it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(bytes_max + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        hint = _NO_FOLDER_HINT if error.errno in _NO_FOLDER else "Check that the file belongs to you."
        raise UserProblem("{path} could not be read: {error}.", path, error.strerror or error, hint=hint) from error
    if len(data) > bytes_max:
        raise ValueError(f"{path} has more than {bytes_max} bytes")
    return data


def delete_torn(folder: Path) -> None:
    """Delete what processes that were killed were writing in `folder` and below, whole or not: nobody misses it.

    This process itself must not be writing there yet.
    """
    import psutil  # noqa: PLC0415 - the command line reads this file before anything is installed

    for directory, _, names in os.walk(folder):
        for named in filter(None, map(_TEMPORARY.match, names)):
            number = int(named[1])
            if number == os.getpid() or not psutil.pid_exists(number):  # numbers come again
                with contextlib.suppress(OSError):  # the next start tries again
                    Path(directory, named[0]).unlink()


def set_aside(path: Path, *, why: str = "damaged") -> Path:
    """Rename a file that cannot be used to `<name>.damaged-<unix seconds of its last change>`, so that nothing is lost.

    Args:
        path: A file or folder.
        why: The word in the name.

    Returns:
        Where it is now.

    Raises:
        UserProblem: the system does not allow it.
    """
    try:
        stem = f"{path.name}.{why}-{int(path.stat().st_mtime)}"
        target = path.with_name(stem)
        number = 1
        while target.exists():
            number += 1
            target = path.with_name(f"{stem}-{number}")
        path.rename(target)
    except OSError as error:
        raise problem_of(error, path) from error
    return target


def _write(path: Path, data: bytes | memoryview, *, mode: int, place: Callable[[Path, Path], None]) -> None:
    """Write `data` beside `path`, then let `place` bring it there."""
    make_directory(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(6).hex()}")
    try:
        try:
            _write_synced(temporary, data, mode=mode)
            place(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_directory(path.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise problem_of(error, path) from error


def _write_synced(path: Path, data: bytes | memoryview, *, mode: int, how: int = os.O_EXCL) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | how | getattr(os, "O_BINARY", 0), mode)
    with open(descriptor, "wb", buffering=0) as file:  # noqa: PTH123 - a descriptor, not a path
        if mode & ~PRIVATE_FILE and os.name != "nt":
            os.fchmod(descriptor, mode)  # others are meant to read it, whatever the umask says
        view = memoryview(data)
        while view:
            view = view[os.write(file.fileno(), view) :]
        os.fsync(file.fileno())


def _place_new(temporary: Path, path: Path) -> None:
    """Give `temporary` its name, failing when the name is taken."""
    if os.name == "nt":
        temporary.rename(path)  # fails there when `path` exists
        return
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}:
            raise
        _copy_new(temporary, path)  # a file system without hard links


def _copy_new(temporary: Path, path: Path) -> None:
    """Like `_place_new`, but visible half written for a moment."""
    _write_synced(path, temporary.read_bytes(), mode=temporary.stat().st_mode & 0o777)


def _sync_directory(path: Path) -> None:
    """Make the renaming itself durable, where the system lets a directory be synced."""
    if os.name != "nt":
        _sync(path, os.O_RDONLY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def problem_of(error: OSError, path: Path) -> UserProblem:
    """Return the sentence about a file that could not be written, for the person at the computer.

    Args:
        error: What the system said.
        path: The file.
    """
    if error.errno in _FULL or getattr(error, "winerror", None) in _FULL_WINDOWS:
        hint = "Nothing was lost. Free some space where {folder} lies; if Potluck has ended, start it again."
        return NoSpace("The disk is full.", path.parent, hint=hint)
    if lacking := scarcity_of(error):
        return lacking
    return UserProblem(
        "{path} could not be written: {error}.",
        path,
        error.strerror or error,
        hint=_NO_FOLDER_HINT
        if error.errno in _NO_FOLDER
        else "Check that the folder belongs to you and is not read-only.",
    )


def scarcity_of(error: OSError) -> UserProblem | None:
    """Return the problem that this computer lacks files or memory; None: the file itself is the trouble.

    Args:
        error: What the system said.
    """
    if error.errno not in _SCARCE:
        return None
    return UserProblem(_SCARCE[error.errno], hint=_SCARCE_HINTS[error.errno])


def system_error_of(error: Exception) -> OSError | None:
    """Return the system's error that a library of Rust or C++ tells in words, with its number; None: it tells of none.

    Args:
        error: What the library raised.
    """
    if isinstance(error, OSError):
        return error
    told = str(error)
    numbers = (int(number) for number in re.findall(r"\((?:os error )?(\d{1,3})\)", told))
    return next((OSError(one, os.strerror(one)) for one in numbers if os.strerror(one) in told), None)


def _users_umask() -> int:
    """The umask that the person had; unknown: that of most systems."""
    try:
        return int(os.environ.get(UMASK, ""), 8) & 0o777
    except ValueError:
        return 0o022
