"""For how long nobody who looks after a collaboration has been heard of: no desk, and no new word of the moderators.

What counts is the time since this computer first asked in vain, so that one that was off for a month blames nobody.
"""

import contextlib
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.problems import Problem
from core.control.notices import NoticeRing
from core.system.atomic_files import read_bounded, write_atomic

SILENT_S: Final = 7 * 24 * 3600.0
"""Time after which the person is told, once, how anybody goes on."""
SILENCE: Final = "silence.json"
_BYTES_MAX: Final = 1024


class _Silence(msgspec.Struct, frozen=True, kw_only=True):
    since: Annotated[float, Meta(ge=0, le=1e12)]
    """When a desk was first asked in vain, Unix seconds."""
    told: bool = False


def heard(folder: Path) -> None:
    """A desk has answered, or moderators have said something new.

    Args:
        folder: What this computer keeps of the collaboration.
    """
    with contextlib.suppress(OSError):
        (folder / SILENCE).unlink(missing_ok=True)


def asked_in_vain(folder: Path, name: str, notices: NoticeRing, now: float) -> None:
    """No desk has answered; after some days tell the person.

    Args:
        folder: What this computer keeps of the collaboration.
        name: The collaboration's.
        notices: Takes the sentence.
        now: Unix seconds.
    """
    known: _Silence | None = None
    with contextlib.suppress(ValueError, Problem):
        known = msgspec.json.decode(read_bounded(folder / SILENCE, _BYTES_MAX) or b"", type=_Silence)
    since, told = (now, False) if known is None else (min(known.since, now), known.told)  # a clock may go back
    if not told and now - since >= SILENT_S:
        notices.tell("warning", "authority.silent", name=name)
        told = True
    after = _Silence(since=since, told=told)
    if after != known:
        with contextlib.suppress(Problem):  # on a full disk it is told again
            write_atomic(folder / SILENCE, msgspec.json.encode(after))
