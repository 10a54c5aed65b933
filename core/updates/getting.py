"""Gets a version: looks, downloads, unpacks beside, tries it, and moves it into place; nothing of it is seen before."""

import lzma
import os
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from core.api.program_folder import LAUNCHER, PROGRAM, ProgramFolder, numbers, this_system
from core.api.updates import UpdateProgress, UpdateState, UpdateView
from core.api.version import VERSION
from core.base.problems import BadInput, Busy, NoSpace, UserProblem, later
from core.system import atomic_files
from core.system.file_lock import held
from core.updates.offers import BYTES_MAX, OfferedVersion, best

MEMORY_BYTES_MAX: Final = 400_000
SPARE_BYTES: Final = 100_000_000
TRIAL_S: Final = 300.0
"""The first start of a program lets an antivirus read all of it."""
SAY_S: Final = 0.5
_GOES_ON: Final = later("This one goes on. Tell the people who make Potluck, with what potluck doctor says.")


class UpdateMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What a program remembers of its updates, in `updates/memory.json`."""

    installation: str = ""
    """A number that this installation has drawn, and never tells anybody."""
    on: bool = True
    looked_at: float = 0.0
    offered: str = ""
    """The version that the last look has found."""
    news: tuple[str, ...] = ()


def remembered(program: ProgramFolder) -> UpdateMemory:
    """What is remembered; a damaged file counts as none."""
    try:
        data = atomic_files.read_bounded(program.room / "memory.json", MEMORY_BYTES_MAX)
        return msgspec.json.decode(data or b"{}", type=UpdateMemory)
    except (ValueError, UserProblem):
        return UpdateMemory()


def keep(program: ProgramFolder, memory: UpdateMemory) -> None:
    """Remember it.

    Raises:
        NoSpace: the disk is full.
        UserProblem: the folder cannot be written.
    """
    atomic_files.make_directory(program.room)
    atomic_files.write_atomic(program.room / "memory.json", msgspec.json.encode(memory))


def viewed(program: ProgramFolder) -> UpdateView:
    """What is known of a newer version."""
    memory, newest, state, version = remembered(program), program.newest, UpdateState.CURRENT, ""
    if numbers(newest) > numbers(VERSION):
        state, version = UpdateState.READY, newest
    elif numbers(memory.offered) > numbers(VERSION) and not program.is_bad(memory.offered):
        state, version = UpdateState.OFFERED, memory.offered
    return UpdateView(
        state=state,
        version=version,
        news=memory.news if memory.offered == version else (),
        back_from=program.back_from,
        on=memory.on,
        looked_at=memory.looked_at,
    )


class Updating:
    """What a person or the daily look does with a program that updates itself.

    Args:
        program: The program.
        source: Opens the publisher's list (`core.updates.source.UpdateSource`).
        now: Unix seconds.
        tell: Hears how far a download is.
        sleep: Waits, seconds.
        grace_s: Time after which a slow server is given up, seconds.
    """

    def __init__(
        self,
        program: ProgramFolder,
        *,
        source: Callable[..., Any],
        now: Callable[[], float],
        tell: Callable[[UpdateProgress], object] = lambda _: None,
        sleep: Callable[[float], object] = time.sleep,
        grace_s: float = 30.0,
    ) -> None:
        self._program, self._source, self._now, self._tell = program, source, now, tell
        self._sleep, self._grace_s = sleep, grace_s
        self._said_at = 0.0

    def choose(self, *, on: bool) -> None:
        """Look for newer versions from now on by itself, or do not.

        Raises:
            UserProblem: the folder cannot be written.
        """
        keep(self._program, msgspec.structs.replace(remembered(self._program), on=on))

    async def look(self, *, get: bool) -> UpdateView:
        """Ask whether there is a newer version.

        Args:
            get: Have it here, too.

        Returns:
            What is known now.

        Raises:
            Busy: another program does this, or holds a file open.
            NoSpace: the disk is full.
            NotTrusted: what was answered is not what the publisher has signed.
            UserProblem: no connection, a wrong clock, no write permission, or the new version does not start.
        """
        atomic_files.make_directory(self._program.room)
        busy = Busy("Potluck is being updated already.", hint="Wait until the other window or command is ready.")
        async with held(self._program.room / "lock", patience_s=0.3, otherwise=busy):
            self._program.tidy()
            source = self._source(self._program, self._said, now=self._now, grace_s=self._grace_s)
            memory = remembered(self._program)
            if not memory.installation:
                memory = msgspec.structs.replace(memory, installation=os.urandom(16).hex())
                keep(self._program, memory)
            found = best(
                source.offered(),
                installation=memory.installation,
                above=self._program.newest,
                is_bad=self._program.is_bad,
            )
            # Read again, for the person may have chosen meanwhile.
            memory = msgspec.structs.replace(remembered(self._program), looked_at=self._now())
            if found is not None:
                memory = msgspec.structs.replace(memory, offered=found.version, news=tuple(found.news))
            elif memory.offered != self._program.newest:  # it was withdrawn, or did not come up
                memory = msgspec.structs.replace(memory, offered="", news=())
            keep(self._program, memory)
            if get and found is not None:
                self._get(source, found)
        return viewed(self._program)

    def _get(self, source: Any, found: OfferedVersion) -> None:
        """Have a version in its place, from an `UpdateSource`."""
        program, archive = self._program, found.archives[this_system()]
        size = source.size_of(archive)
        needed = 2 * size + archive.unpacked_bytes + SPARE_BYTES
        free = shutil.disk_usage(program.room).free
        if free < needed:
            message = "The new version needs {needed} GB of the disk for a while, and {free} GB are free."
            hint = "Free some space where {folder} lies, then try again: what is here already is kept."
            raise NoSpace(message, f"{needed / 1e9:.1f}", f"{free / 1e9:.1f}", program.folder, hint=hint)
        path = source.fetch(archive, BYTES_MAX)
        fresh = program.versions / f".new-{os.urandom(4).hex()}"
        try:
            atomic_files.make_directory(program.versions)
            _unpack(path, fresh, archive.unpacked_bytes)
            atomic_files.sync_all(fresh)
            self._try(fresh)
            atomic_files.move_patiently(fresh, program.path(found.version), sleep=self._sleep)
        except OSError as error:
            raise atomic_files.problem_of(error, fresh) from error
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        path.unlink(missing_ok=True)
        program.tidy()

    def _try(self, fresh: Path) -> None:
        """See that it starts at all, before anybody depends on it."""
        name = Path(os.environ.get(LAUNCHER, "potluck")).name
        environ = {key: value for key, value in os.environ.items() if key not in {PROGRAM, LAUNCHER, "PYTHONPATH"}}
        try:
            done = subprocess.run(
                [str(fresh / name), "--version"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=environ,
                check=False,
                timeout=TRIAL_S,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
            code = done.returncode
        except (OSError, subprocess.SubprocessError):
            code = -1
        if code:
            raise UserProblem(
                "The new version does not start on this computer, so it was not installed.",
                hint=_GOES_ON,
            )

    def _said(self, done: int, total: int) -> None:
        if time.monotonic() - self._said_at >= SAY_S or done >= total:
            self._said_at = time.monotonic()
            self._tell(UpdateProgress(done_bytes=done, total_bytes=total))


def this_program() -> ProgramFolder:
    """The program that runs.

    Raises:
        BadInput: it does not update itself.
    """
    program = ProgramFolder.here()
    if program is not None:
        return program
    raise BadInput(
        "This Potluck was not installed as a program that updates itself.",
        hint="Newer versions come the way it came: with apt upgrade, for example, or with git pull.",
    )


def _unpack(path: Path, fresh: Path, bytes_max: int) -> None:
    """Unpack an archive whose publisher has signed it; nothing of it comes to lie elsewhere (PEP 706)."""
    try:
        with tarfile.open(path, "r:xz") as archive:
            size = 0
            for entry in archive:
                size += entry.size
                if size > bytes_max:
                    larger = "The new version is larger than its publisher says, so it was not installed."
                    raise UserProblem(larger, hint=_GOES_ON)
                archive.extract(entry, fresh, filter="data")
    except (tarfile.TarError, lzma.LZMAError, EOFError, ValueError) as error:
        raise UserProblem("The new version cannot be unpacked, so it was not installed.", hint=_GOES_ON) from error
