"""The charters of this computer's person, in a file of the home, which commands write and the engine reads."""

import contextlib
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.hosting import BackboneState
from core.api.joined import KeptRefusal
from core.backbone.remembered import LOCK
from core.base.problems import Problem
from core.storage.paths import Home
from core.system.atomic_files import read_bounded, set_aside, write_atomic
from core.system.file_lock import is_held

CHARTERS_MAX: Final = 20
HOSTED: Final = "hosted.json"
"""File of a home: the list of charters."""
_BYTES_MAX: Final = 256 * 1024
WHY: Final = "hosting.json"
"""File of a charter: the problem that keeps its backbone from running."""


class Hosted(msgspec.Struct, frozen=True, kw_only=True):
    """A charter of this computer's person."""

    folder: Annotated[str, Meta(min_length=1, max_length=4096)]
    collaboration: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    """Hex digest of its manifest."""
    runs: bool = True
    """Whether its backbone is to run while the engine does."""

    @property
    def path(self) -> Path:
        """The charter's folder, as it was named."""
        return Path(self.folder)

    @property
    def state(self) -> BackboneState:
        """Whether its backbone runs, started by this engine or by hand."""
        if is_held(self.path / LOCK):
            return BackboneState.RUNS
        return BackboneState.WAITS if self.runs else BackboneState.OFF

    @property
    def refusal(self) -> KeptRefusal | None:
        """What its backbone said when it ended the last time; None: nothing, or it has listened since."""
        with contextlib.suppress(ValueError, Problem):
            data = read_bounded(self.path / WHY, _BYTES_MAX)
            return None if data is None else msgspec.json.decode(data, type=KeptRefusal)
        return None


_List = Annotated[list[Hosted], Meta(max_length=CHARTERS_MAX)]


def hosted_charters(home: Home) -> dict[str, Hosted]:
    """The charters of this computer's person, by their collaborations, the newest last; a damaged list is set aside."""
    path = home.directory / HOSTED
    try:
        data = read_bounded(path, _BYTES_MAX)
        return {} if data is None else {one.collaboration: one for one in msgspec.json.decode(data, type=_List)}
    except ValueError:
        set_aside(path)
        return {}


def host(home: Home, charter: Hosted) -> None:
    """Have the engine of a home run the backbone of a charter, or not.

    Args:
        home: The engine's; one that runs sees it within two seconds.
        charter: The charter, and whether its backbone is to run.

    Raises:
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    others = [one for one in hosted_charters(home).values() if one.collaboration != charter.collaboration]
    write_atomic(home.directory / HOSTED, msgspec.json.encode([*others, charter][-CHARTERS_MAX:]))
