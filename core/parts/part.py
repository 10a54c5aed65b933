"""Where the training part lies, which one is used, and whether it is whole.

A folder of packages, without an interpreter of its own: the base's own Python runs it (docs/decisions/0025).
"""

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

import resources
from core.api.sentence import later
from core.api.training_part import PartBuild, PartState, PartView
from core.parts import choice
from core.system import atomic_files

FOLDER: Final = "training-part"
CURRENT: Final = "current"
TOLD: Final = "part.json"
LOCKED: Final = Path(resources.__file__).parent / "locked"
TOLD_BYTES_MAX: Final = 4096
ADDED: Final = ("build", "run")
"""Files of the lock with what training adds to the base, besides torch; a package that is there already is left out."""
TITLES: Final = {"cpu": "Processor", "mps": "Apple graphics", "xpu": "Intel graphics"}
MEGABYTES: Final = {
    "cpu": (300, 1070),
    "mps": (200, 900),
    "xpu": (2000, 7000),
    "cu": (2900, 6500),
    "rocm": (5000, 20_000),
}
"""About what each kind of build takes: to download, and on the disk."""
LACKING: Final[Mapping[PartState, str]] = MappingProxyType(
    {
        PartState.MISSING: later("The training part is not here: this computer averages what others train."),
        PartState.OLD: later("The training part here belongs to another version of Potluck or Python."),
        PartState.DAMAGED: later("The training part is damaged: a file is missing, or has another size."),
    }
)
GET_IT: Final = later("Get it in the window, or with: potluck training-part get")
"""What to do about it."""
_NAME: Final = re.compile(r"(?P<build>[a-z0-9.]{1,20})-[0-9a-f]{12}")


class PartFile(msgspec.Struct, frozen=True):
    """`part.json`: what a training part is made of."""

    build: str
    files: int
    """Number of files that were unpacked; Python adds its own, in `__pycache__`."""
    size_bytes: int
    """Their size, together."""


def room(home: Path) -> Path:
    """The folder of everything about training parts in a home."""
    return home / FOLDER


def folder_name(build: str, locked: Path = LOCKED) -> str:
    """The name of a training part of this version: another lock, or another Python, has another one.

    Raises:
        OSError: the lock has no such build.
    """
    digest = hashlib.sha256(f"{sys.implementation.cache_tag} {sys.platform}".encode())
    for name in (*ADDED, choice.lock_name(build)):
        lines = (locked / f"{name}.txt").read_text("utf-8").splitlines()
        digest.update("\n".join(line for line in lines if not line.startswith("#")).encode())
    return f"{build}-{digest.hexdigest()[:12]}"


def current(home: Path, locked: Path = LOCKED) -> tuple[PartState, Path | None]:
    """The training part that is to be used, as far as it can be found out at once; None: there is none."""
    try:
        name = (room(home) / CURRENT).read_bytes()[:100].decode("ascii", "replace").strip()
    except OSError:
        return PartState.MISSING, None
    named = _NAME.fullmatch(name)
    path = room(home) / name
    if named is None or not path.is_dir():
        return PartState.MISSING, None
    try:
        fits = folder_name(named["build"], locked) == name
    except OSError:
        fits = False
    return (PartState.HERE if fits else PartState.OLD), path


def use(home: Path, *, locked: Path = LOCKED, whole: bool = False) -> None:
    """Have this process and those that it starts find the training part, if there is one that fits.

    In those it comes before the base's packages; here it comes last, for the few small packages that an engine imports.

    Args:
        home: The home.
        locked: The folder of the lock.
        whole: Whether each of its files is looked at first, and a damaged one is left alone.
    """
    state, path = current(home, locked)
    used = [str(path)] if path is not None and state is PartState.HERE and (not whole or is_whole(path)) else []
    ours = str(room(home)) + os.sep
    sys.path[:] = [each for each in sys.path if not each.startswith(ours)] + used
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [*used, *(each for each in given if each and not each.startswith(ours))]
    if paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    else:
        os.environ.pop("PYTHONPATH", None)
    importlib.invalidate_caches()


def state_of(home: Path, locked: Path = LOCKED) -> PartState:
    """Whether this computer can train; every file of the training part is looked at."""
    state, path = current(home, locked)
    if path is not None and state is PartState.HERE:
        return PartState.HERE if is_whole(path) else PartState.DAMAGED
    if own_torch(home):
        return PartState.OWN
    return state


def own_torch(home: Path) -> bool:
    """Whether torch can be imported without a training part of this home."""
    found = importlib.util.find_spec("torch")
    return found is not None and not str(found.origin).startswith(str(room(home)) + os.sep)


def view(home: Path) -> PartView:
    """What there is here, and what can be got."""
    state, (_, path) = state_of(home), current(home)
    told = told_of(path) if path is not None else None
    hardware = choice.look()
    fitting = choice.builds_for(hardware)
    known = [build for build in fitting if (LOCKED / f"{choice.lock_name(build)}.txt").is_file()]
    better = fitting[0] if known[:1] != [fitting[0]] else ""
    return PartView(
        state=state,
        build=told[0] if told is not None else "",
        disk_bytes=told[2] if told is not None else 0,
        folder=str(path or ""),
        builds=tuple(map(build_view, known)),
        better=better and title_of(better),
        advice=choice.advice_of(hardware),
    )


def build_view(build: str) -> PartBuild:
    """The build in words, with about what it takes."""
    known = next((numbers for start, numbers in MEGABYTES.items() if build.startswith(start)), MEGABYTES["cpu"])
    download, disk = (1_000_000 * number for number in known)
    return PartBuild(name=build, title=title_of(build), download_bytes=download, disk_bytes=disk)


def title_of(build: str) -> str:
    """The kind of device that a build runs on."""
    if build.startswith("cu"):
        return f"NVIDIA graphics (CUDA {build[2:-1]}.{build[-1]})"
    if build.startswith("rocm"):
        return f"AMD graphics (ROCm {build[4:]})"
    return TITLES.get(build, build)


def told_of(path: Path) -> tuple[str, int, int] | None:
    """Build, number of files and size as `part.json` has them; None: that cannot be read."""
    with contextlib.suppress(OSError, ValueError, msgspec.DecodeError):
        data = atomic_files.read_bounded(path / TOLD, TOLD_BYTES_MAX)
        told = msgspec.json.decode(data or b"", type=PartFile)
        return told.build, told.files, told.size_bytes
    return None


def is_whole(path: Path) -> bool:
    """Whether a training part has all its files, in their sizes."""
    told = told_of(path)
    return told is not None and told[1:] == measured(path)


def measured(path: Path) -> tuple[int, int]:
    """Number of files in a training part and their size, without what Python has added."""
    sizes = list(_sizes(path))
    return len(sizes), sum(sizes)


def remove(home: Path, *, keep: str = "") -> bool:
    """Delete every training part and what is left of attempts; what another program holds open goes the next time.

    Args:
        home: The home.
        keep: Name of the training part that stays, if one does.

    Returns:
        Whether all is gone.
    """
    if not keep:
        (room(home) / CURRENT).unlink(missing_ok=True)
    stays = {keep, "lock", *([CURRENT] if keep else [])}
    for found in room(home).iterdir() if room(home).is_dir() else ():
        with contextlib.suppress(OSError):
            if found.name in stays:
                continue
            # Under another name first: nobody takes a half deleted one for whole.
            old = found.rename(found.with_name(f".old-{os.urandom(4).hex()}"))
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    return not room(home).is_dir() or {path.name for path in room(home).iterdir()} <= stays


def _sizes(folder: Path) -> Iterator[int]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    yield from _sizes(Path(entry.path))
            elif entry.name != TOLD:
                yield entry.stat(follow_symlinks=False).st_size
