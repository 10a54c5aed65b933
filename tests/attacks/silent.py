"""Runs the program as a member that is silent in rounds: the program with one method replaced.

python -m tests.attacks.silent WHAT WORDS...     as `python -m core WORDS...`

mute       it offers its contribution and says that it is there, and sends no part and no mean
nomeans    it gives its part as others do, and makes no mean for them
"""

import runpy
import sys
from collections.abc import Sequence
from typing import Any, Final
from unittest.mock import patch

from core.averaging.messages import Mean, Part
from core.base.machine import Send
from core.swarm.rounds.rounds import Rounds

KEPT_BACK: Final = {"mute": (Part, Mean), "nomeans": (Mean,)}
_handle = Rounds.handle


def keep_back(*kinds: type[Part | Mean]) -> None:
    """Let no message of these kinds leave any round."""

    def handle(self: Rounds, event: Any, now: float) -> Sequence[Any]:
        said = _handle(self, event, now)
        return [one for one in said if not (isinstance(one, Send) and isinstance(one.message, kinds))]

    patch.object(Rounds, "handle", handle).start()


if __name__ == "__main__":
    keep_back(*KEPT_BACK[sys.argv.pop(1)])
    runpy.run_module("core", run_name="__main__")
