"""Runs the program without one of its defences: with one method replaced.

python -m tests.attacks.undefended DEFENCE WORDS...     as `python -m core WORDS...`

votes      the state with the greatest epoch is followed, whatever most peers say
voices     a peer counts for where the model is as soon as it says that it trains
modes      files are as readable as others are
guard      a mean may have any norm
proof      means are committed that no sums have proven
clip       parts become their weighted mean where the manifest has them clipped
copies     the backbone offers any copy of the model that calls itself by its name
patience   each member of a round is waited for as long as the timetable says, whatever it has given
"""

import os
import runpy
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final
from unittest.mock import patch

from core.averaging.aggregators import CenteredClip, WeightedMean
from core.averaging.allreduce.vectors import Vectors
from core.averaging.commit.proof import Doubts, Proof
from core.averaging.patience import Patience
from core.backbone import serve
from core.backbone.copy_check import CopyCheck
from core.swarm.presence import branches
from core.swarm.presence.branches import Voices, Weight
from core.swarm.words.states import StateName
from core.system import atomic_files


def without_votes() -> None:
    """Go where somebody is furthest."""
    branches.heaviest = lambda _here, names, _ways, **_: max(names.values(), default=None)


def without_voices() -> None:
    """Count all that train alike, without regard to rounds or to the backbone."""
    followed = branches.heaviest

    def weight(self: Voices, *, knows: bool) -> Weight:
        del knows
        return Weight(trains=self.trains, others=self.others)

    def disloyal(*args: Any, **more: Any) -> StateName | None:
        return followed(*args, **more | {"loyal": False})

    patch.object(Voices, "weight", weight).start()
    branches.heaviest = disloyal


def without_modes() -> None:
    """Write files for everybody: the mode of each, and the umask that holds for the others."""
    atomic_files.write_atomic.__kwdefaults__["mode"] = 0o644
    os.umask = lambda _: 0o022


def without_patience() -> None:
    """Learn nothing from rounds."""
    patch.object(Patience, "committed", lambda *_, **__: None).start()


def without_guard() -> None:
    """Take means of any norm."""
    patch.object(Vectors, "may_be_norm", lambda *_: True).start()


def without_proof() -> None:
    """Believe the means of each reducer."""
    patch.object(Proof, "doubts", lambda *_: Doubts((), (), {})).start()


def without_clip() -> None:
    """Take the weighted mean of parts where the manifest has them clipped."""
    patch.object(CenteredClip, "aggregate", lambda _, *parts: WeightedMean().aggregate(*parts)).start()


def without_check() -> None:
    """Find no fault in any copy."""

    async def unchecked(*_: object) -> CopyCheck:
        return CopyCheck()

    patch.object(serve, "check_copy", unchecked).start()


WITHOUT: Final[Mapping[str, Callable[[], None]]] = {
    "votes": without_votes,
    "voices": without_voices,
    "modes": without_modes,
    "copies": without_check,
    "patience": without_patience,
    "guard": without_guard,
    "proof": without_proof,
    "clip": without_clip,
}

if __name__ == "__main__":
    WITHOUT[sys.argv.pop(1)]()
    runpy.run_module("core", run_name="__main__")
