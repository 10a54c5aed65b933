"""Names of the files in which experts are kept: engine and worker find the newest one of each by them."""

import contextlib
import os
import re
from pathlib import Path
from typing import Final

from core.experts.hosting import Expert

KEPT: Final = 2
"""Number of files of one expert that are kept, those that were written last."""
_NAME: Final = re.compile(r"expert-(\d{1,2}(?:-\d{1,3}){1,3})-v(\d{15})-([0-9a-f]{32})\.safetensors")


def expert_file(folder: Path, expert: Expert, *, version: int, root: bytes) -> Path:
    """Where the state of an expert goes.

    Args:
        folder: The one of all its files.
        expert: Its layer and place.
        version: Number of updates that it has had.
        root: `core.base.content.root_digest` of the file.
    """
    own = "-".join(map(str, (expert[0], *expert[1])))
    return folder / f"expert-{own}-v{version:015d}-{root.hex()[:32]}.safetensors"


def expert_files(folder: Path) -> dict[Expert, list[Path]]:
    """The files of each expert that has some in a folder, the one that was written last at the end.

    Not the highest version is the newest: an expert may have begun anew, and a stranger's file may say what it likes.
    """
    found: dict[Expert, list[Path]] = {}
    for path in sorted(folder.glob("expert-*.safetensors"), key=written_at):
        if match := _NAME.fullmatch(path.name):
            layer, *place = map(int, match[1].split("-"))
            found.setdefault((layer, tuple(place)), []).append(path)
    return found


def keep_newest(folder: Path, expert: Expert, newest: Path) -> None:
    """Keep `KEPT` files of an expert, of which this one is the newest, even if the clock was ahead before."""
    at = written_at(newest)
    others = [path for path in expert_files(folder).get(expert, ()) if path != newest]
    for old in others[: 1 - KEPT]:
        with contextlib.suppress(OSError):  # Windows keeps what somebody reads; the next save tries again
            old.unlink()
    for other in others[1 - KEPT :]:
        if 0 < at <= written_at(other):
            with contextlib.suppress(OSError):
                os.utime(other, (at - 1, at - 1))


def written_at(path: Path) -> float:
    """When a file was written, Unix seconds; 0: the other process, worker or engine, has dropped it just now."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def has_named_digest(path: Path, root: bytes) -> bool:
    """Whether the `root_digest` of a file is the one in its name; a name without one, as of incoming files, passes."""
    match = _NAME.fullmatch(path.name)
    return match is None or root.hex().startswith(match[3])


def version_of(path: Path) -> int:
    """The version in the name of a file that `expert_files` has found."""
    match = _NAME.fullmatch(path.name)
    assert match is not None
    return int(match[2])
