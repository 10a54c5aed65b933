"""A learner that computes nothing for a while: as the engine said, or because the engine says nothing.

The watch begins before torch is loaded, which takes seconds: nothing here loads it.
"""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from core.workers.frames import ToWorker

if TYPE_CHECKING:
    from core.training.learner import Learner

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


class Standstill:
    """From now on the learner computes nothing, its data thread included, until `end`.

    A contribution that is out counts again: its round goes on without this worker.

    Args:
        learner: Stands still.
    """

    def __init__(self, learner: "Learner") -> None:
        self._held = learner.replicas.held
        learner.replicas.rest()
        learner.take_back()
        if learner.flights is not None:
            learner.flights.under_way.drop()
        for replica in self._held.each:
            replica.data.stop()
        learner.data.rest()
        self._held.arrange(withdrawn=True)

    def end(self) -> None:
        """Have the learner as it was; its data goes on with `start`.  Another device than the first may be gone.

        Raises:
            WorkerProblem: the first device cannot be used any more, or has no room.
        """
        self._held.arrange()


class Unattended:
    """Whether the engine is silent: then a learner computes nothing; what it has computed and contributed stays.

    Args:
        learner: No device of it computes while something is heard.
    """

    def __init__(self, learner: "Learner") -> None:
        self._learner = learner
        self.silent = False

    def hear(self, noticed: EngineSilent | EngineHeard) -> None:
        """Have the learner rest, give its devices' memory back, or be as it was.

        Raises:
            WorkerProblem: the first device cannot be used any more, or has no room.
        """
        match noticed:
            case EngineSilent(given_up=True):
                self._learner.replicas.held.arrange(withdrawn=True)
            case EngineSilent():
                self.silent = True
                for replica in self._learner.replicas.held.each:
                    replica.data.stop()
                self._learner.data.rest()
            case EngineHeard() if self.silent:
                self.silent = False
                self._learner.replicas.held.arrange()
                self._learner.data.go_on()
                for replica in self._learner.replicas.held.each:
                    replica.data.start()
