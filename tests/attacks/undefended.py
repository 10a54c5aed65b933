"""Runs the program without one of its defences: with one method replaced.

python -m tests.attacks.undefended DEFENCE WORDS...     as `python -m core WORDS...`

voices     a peer counts for where the model is as soon as it says that it trains
patience   each member of a round is waited for as long as the timetable says, whatever it has given
"""

import runpy
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from core.averaging.patience import Patience
from core.swarm import branches
from core.swarm.branches import Voices, Weight
from core.swarm.states import StateName


def without_voices() -> None:
    """Count all that train alike, without regard to rounds or to the backbone."""
    followed = branches.heaviest

    def weight(self: Voices, *, knows: bool) -> Weight:
        del knows
        return Weight(trains=self.trains, others=self.others)

    def disloyal(*args: Any, **more: Any) -> StateName | None:
        return followed(*args, **more | {"loyal": False})

    Voices.weight = weight  # type: ignore[method-assign]
    branches.heaviest = disloyal


def without_patience() -> None:
    """Learn nothing from rounds."""
    Patience.committed = lambda *_, **__: None  # type: ignore[method-assign]


WITHOUT: Final[Mapping[str, Callable[[], None]]] = {"voices": without_voices, "patience": without_patience}

if __name__ == "__main__":
    WITHOUT[sys.argv.pop(1)]()
    runpy.run_module("core", run_name="__main__")
