"""The engine watch: a worker whose engine says nothing computes nothing, since nobody could tell it to stop.

An engine that runs pings its worker every second (core.workers.worker).
"""

import threading
import time
from collections.abc import Callable
from typing import Final, NoReturn

import msgspec

from core.workers.frames import ToWorker

LOOK_S: Final = 0.5
SILENT_LOOKS: Final = 10
"""Looks in a row without a word after which nothing is computed.  Looks are counted, not seconds: while the whole
computer sleeps nobody looks."""
GIVEN_UP_LOOKS: Final = 120
"""Looks in a row without a word after which the devices' memory is given back, too."""


class EngineSilent(msgspec.Struct, frozen=True):
    """Nothing came from the engine for a while."""

    given_up: bool
    """Whether the silence is so long that the devices' memory is to be given back."""


class EngineHeard(msgspec.Struct, frozen=True):
    """The engine says something again; what it says follows."""


class EngineWatch:
    """Notices that the engine falls silent, and that it is heard again.

    Args:
        put: Takes what is noticed; never waits, for it is called under the lock that a listener needs.
    """

    def __init__(self, put: Callable[[EngineSilent | EngineHeard], None]) -> None:
        self._put = put
        self._lock = threading.Lock()
        self._looks = 0

    def hear(self) -> None:
        """A frame has come, which nobody has seen yet."""
        with self._lock:
            silent, self._looks = self._looks >= SILENT_LOOKS, 0
            if silent:
                self._put(EngineHeard())

    def look(self) -> None:
        """Look once whether a frame has come since the last look."""
        with self._lock:
            self._looks += 1
            if self._looks in {SILENT_LOOKS, GIVEN_UP_LOOKS}:
                self._put(EngineSilent(given_up=self._looks == GIVEN_UP_LOOKS))

    def run(self) -> NoReturn:
        """Look for ever, in a thread of its own."""
        while True:
            time.sleep(LOOK_S)
            self.look()


Heard = ToWorker | EngineSilent | EngineHeard
"""What a conversation hears: the engine's frames, and what the engine watch notices."""
