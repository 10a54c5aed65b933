"""The training part as `potluck training-part` tells of it, for the window and for scripts."""

from enum import StrEnum
from typing import Final

import msgspec

NO_PART: Final = "no_part"
"""Reason of a verdict: this computer averages, since it has nothing that trains."""
NEEDS_PART: Final = "training_part"
"""Reason of a verdict, and code of a problem: nothing goes on without what trains."""


class PartState(StrEnum):
    """Whether this computer has what trains."""

    OWN = "own"
    """Potluck's own Python has torch: nothing has to be got."""
    HERE = "here"
    MISSING = "missing"
    OLD = "old"
    """It belongs to another version of Potluck or of Python."""
    DAMAGED = "damaged"
    """A file of it is missing, or has another size."""


class PartBuild(msgspec.Struct, frozen=True, kw_only=True):
    """A build of torch that can be got."""

    name: str
    """As in `--build`."""
    title: str
    """What it runs on, in English."""
    download_bytes: int
    """About this much is downloaded."""
    disk_bytes: int
    """About this much of the disk it takes."""


class PartView(msgspec.Struct, frozen=True, kw_only=True):
    """What there is, and what can be got."""

    state: PartState
    build: str = ""
    """Name of the build that is here; empty: none is, or the one of Potluck's own Python."""
    disk_bytes: int = 0
    """Size of its files."""
    folder: str = ""
    builds: tuple[PartBuild, ...] = ()
    """The builds that fit this computer and whose hashes are known, the best first."""
    better: str = ""
    """What the build is called that would fit better, whose hashes are not known; empty: none would."""
    advice: str = ""
    """What a person could do so that a card can train."""

    @property
    def trains(self) -> bool:
        """Whether this computer can train now."""
        return self.state in {PartState.OWN, PartState.HERE}


class PartProgress(msgspec.Struct, frozen=True, tag_field="event", tag="progress", kw_only=True):
    """How far `potluck training-part get` is; a line every half second at most."""

    step: str
    """ "looking", "downloading", "unpacking" or "trying"."""
    done_bytes: int = 0
    total_bytes: int = 0
    rest_s: float | None = None
    """Seconds that the step still takes; None: not known yet."""
    share: float = 0.0
    text: str = ""
