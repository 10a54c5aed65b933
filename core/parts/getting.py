"""Gets a training part: looks whether there is room, downloads, unpacks beside, tries it, and moves it into place."""

import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from core.api.training_part import PartProgress
from core.base.problems import BadInput, Busy, NoSpace, UserProblem
from core.parts import choice, part
from core.parts.wheels import CHUNK_BYTES, Pin, Wheel, WheelSource, pins_of
from core.system import atomic_files
from core.system.file_lock import held

SAY_S: Final = 0.5
TRIAL_S: Final = 300.0
"""The first import of torch reads all of it from the disk."""
UNPACKED: Final = 4
"""About how many times its size a wheel takes once it is unpacked."""
SPARE_BYTES: Final = 100_000_000
TRIAL: Final = "import torch, transformers"

Tell = Callable[[PartProgress], object]


class Getting:
    """One attempt to get a training part.

    Args:
        home: The home.
        build: Build of torch, as `core.parts.choice` calls it.
        tell: Hears how far it is.
        folder: A folder with the wheels: nothing else is asked; None: as pip's settings say.
        locked: The folder of the lock.
        sleep: Waits, seconds.
    """

    def __init__(
        self,
        home: Path,
        build: str,
        tell: Tell,
        *,
        folder: Path | None = None,
        locked: Path = part.LOCKED,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._home, self._build, self._folder, self._locked = home, build, folder, locked
        self._tell, self._sleep = tell, sleep
        self._room = part.room(home)
        self._cache = self._room / "downloads"
        self._said_at = 0.0
        self._began = (0.0, 0)
        """When the present step began, and with how many bytes done."""

    async def run(self) -> Path:
        """Get it and make it the one that is used; what was begun before goes on.

        Returns:
            Its folder.

        Raises:
            Busy: another program is getting it, or holds a file open.
            NoSpace: the disk is full.
            UserProblem: no connection, a file with another hash, or torch does not start; the sentence says what to do.
        """
        try:
            name = part.folder_name(self._build, self._locked)
        except OSError:
            message = "This version of Potluck does not know the hashes of the build {build}, so it is not installed."
            raise BadInput(message, self._build, hint="See what can be had: potluck training-part show") from None
        atomic_files.make_directory(self._cache)
        hint = "Wait until the other window or command is ready."
        busy = Busy("The training part is being downloaded already.", hint=hint)
        async with held(self._room / "lock", patience_s=0.3, otherwise=busy):
            fresh = self._room / f".new-{os.urandom(4).hex()}"
            try:
                self._unpack(self._download(), fresh)
                atomic_files.sync_all(fresh)
                self._try(fresh)
                if (self._room / name).exists():
                    self._move(self._room / name, self._room / f".old-{os.urandom(4).hex()}")
                self._move(fresh, self._room / name)
            except OSError as error:
                raise atomic_files.problem_of(error, self._room / name) from error
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
            atomic_files.write_atomic(self._room / part.CURRENT, name.encode())
            part.remove(self._home, keep=name)
        return self._room / name

    def _download(self) -> Sequence[Wheel]:
        """Have all wheels here, with the right hashes."""
        self._say("looking", 0, 0)
        with WheelSource(self._cache, self._build, folder=self._folder, sleep=self._sleep) as source:
            files = [self._locked / f"{name}.txt" for name in (choice.lock_name(self._build), *part.ADDED)]
            pins = [pin for file in files for pin in pins_of(file.read_text("utf-8"), source.holds)]
            wheels = [source.find(pin) for pin in pins if not _is_builder(pin)]
            total, done = sum(one.size_bytes for one in wheels), sum(one.here_bytes for one in wheels)
            self._check_room(total, done)
            self._began = (time.monotonic(), done)
            for wheel in wheels:
                others = done - wheel.here_bytes
                source.fetch(wheel, partial(self._say_more, others, total))
                done = others + wheel.here_bytes
                self._say("downloading", done, total)
        return wheels

    def _check_room(self, total: int, done: int) -> None:
        needed, free = total - done + UNPACKED * total + SPARE_BYTES, shutil.disk_usage(self._room).free
        if free < needed:
            message = "The training part needs {needed} GB of the disk for a while, and {free} GB are free."
            hint = "Free some space where {folder} lies, then try again: what is here already is kept."
            raise NoSpace(message, f"{needed / 1e9:.1f}", f"{free / 1e9:.1f}", self._room, hint=hint)

    def _unpack(self, wheels: Sequence[Wheel], fresh: Path) -> None:
        """Unpack all of them into one folder (PEP 427), and write down what came of it."""
        archives = [zipfile.ZipFile(wheel.path) for wheel in wheels]
        done, total = 0, sum(entry.file_size for archive in archives for entry in archive.infolist())
        self._began = (time.monotonic(), 0)
        for archive in archives:
            with archive:
                for entry in archive.infolist():
                    done += entry.file_size
                    self._say("unpacking", done, total)
                    target = _target(entry.filename, fresh)
                    if target is None or entry.is_dir():
                        continue
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(entry) as read, target.open("wb") as write:
                        shutil.copyfileobj(read, write, CHUNK_BYTES)
                    if entry.external_attr >> 16 & 0o100:
                        target.chmod(0o755)
        count, size = part.measured(fresh)
        told = part.PartFile(build=self._build, files=count, size_bytes=size)
        (fresh / part.TOLD).write_bytes(msgspec.json.encode(told))

    def _try(self, fresh: Path) -> None:
        """See that it starts: a driver, or a library of the system, may not fit."""
        self._say("trying", 0, 0)
        paths = os.pathsep.join(filter(None, (str(fresh), os.environ.get("PYTHONPATH"))))
        try:
            done = subprocess.run(
                [sys.executable, "-c", TRIAL],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
                check=False,
                timeout=TRIAL_S,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
            code, said = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            code, said = -1, f"no answer in {TRIAL_S:.0f} s".encode()
        if code != 0:
            why = [f"exit code {code}", *said.decode(errors="replace").strip().splitlines()][-1]
            message = "The build {build} is here, but does not start: {why}"
            hint = "Take the one for the processor: potluck training-part get --build cpu"
            raise UserProblem(message, self._build, why[:200], hint=hint)

    def _move(self, source: Path, target: Path) -> None:
        atomic_files.move_patiently(source, target, sleep=self._sleep)

    def _say_more(self, others: int, total: int, here: int) -> None:
        self._say("downloading", others + here, total)

    def _say(self, step: str, done: int, total: int) -> None:
        """Tell how far a step is, not too often."""
        now = time.monotonic()
        if now - self._said_at < SAY_S and done < total:
            return
        self._said_at = now
        began, before = self._began
        rate = (done - before) / (now - began) if now > began else 0.0
        rest_s = (total - done) / rate if rate > 0 and total else None
        share = min(1.0, done / total) if total else 0.0
        self._tell(PartProgress(step=step, done_bytes=done, total_bytes=total, rest_s=rest_s, share=share))


def _is_builder(pin: Pin) -> bool:
    """Whether it is setuptools, and the base has it: torch needs that to compile, and the base to be built."""
    try:
        return pin.name == "setuptools" and metadata.version(pin.name) == pin.version
    except metadata.PackageNotFoundError:
        return False


def _target(name: str, folder: Path) -> Path | None:
    """Where a file of a wheel goes; None: it is of no use here (scripts, headers).

    Raises:
        BadInput: it would lie outside.
    """
    pieces = PurePosixPath(name).parts
    if not pieces or ".." in pieces or PurePosixPath(name).is_absolute() or "\\" in name or ":" in name:
        raise BadInput("A package names a file outside of its folder: {name}.", name, hint="It was not installed.")
    if pieces[0].endswith(".data"):
        return folder.joinpath(*pieces[2:]) if len(pieces) > 2 and pieces[1] in {"purelib", "platlib"} else None
    return folder.joinpath(*pieces)
