"""When an engine is started, and what is said until there is one."""

import time

from PySide6.QtCore import QObject, QTimer

from app.commands.line_command import LineCommand
from app.engine.engine_process import EngineProcess
from app.engine.store import Store
from core.api.joined import absence
from core.api.verdict import VerdictCode, not_connected

REFUSED = 2
"""Exit code of an engine that said in a sentence what a person has to mend."""
AGAIN_FIRST_S = 1
AGAIN_LONGEST_S = 60
GOOD_S = 120.0
"""Least time of a connection after whose end the next wait is the first again, seconds: the engine ended by chance."""


class Starter(QObject):
    """Starts an engine if none runs: when the window opens, after one was killed, and when the person asks.

    An engine that was told to quit, or that the person has ended, stays away.  After one that was killed the waits
    double.

    Args:
        process: The engine that it may start.
        store: Told why no engine is connected.
        quitting: Ends an engine of another version, which is in the way.
        may_start: False where the window only attaches to an engine.
    """

    def __init__(self, process: EngineProcess, store: Store, quitting: LineCommand, *, may_start: bool) -> None:
        super().__init__(process)
        self._quitting = quitting
        self._process = process
        self._store = store
        self._may_start = may_start
        self._reason = "connecting"
        self._tried = False
        self._ended = False
        """Whether the person has ended the engine by force: that is not a crash."""
        self._connected_at = 0.0
        self._wait_s = AGAIN_FIRST_S
        self._again = QTimer(self, singleShot=True)
        self._again.timeout.connect(self.start)
        process.died.connect(self._consider)

    def follow(self, reason: str) -> None:
        """The way to the engine changed.

        Args:
            reason: Why none is connected, as `core.api.verdict` names it; empty: one is.
        """
        if self._reason == "" and time.monotonic() - self._connected_at >= GOOD_S:
            self._wait_s = AGAIN_FIRST_S
        self._reason = reason
        self._consider()

    def start(self) -> None:
        """Start an engine, or say what prevents it; one of another version ends before."""
        if self._reason == "version":
            self._quitting.ask(["quit"], lambda _: self._begin())
        else:
            self._begin()

    def start_alone(self) -> None:
        """The person has left the last collaboration, and wants to train alone."""
        self._process.go_alone()
        self.start()

    def hold(self) -> None:
        """The person ends the engine by force: none is started until they ask for it."""
        self._ended = True
        self._again.stop()

    def _begin(self) -> None:
        self._tried, self._ended = True, False
        self._again.stop()
        why = self._process.start()
        self._store.miss(not_connected("refused", why=why) if why else not_connected("beginning"))

    def _consider(self) -> None:
        if not self._reason:
            self._tried, self._ended = True, False
            self._connected_at = time.monotonic()
            self._again.stop()
            self._process.forget_dead()
        elif self._reason in {"stopped", "killed"}:
            self._act_on_absence()
        else:
            self._store.miss(absence(self._reason, self._process.home))

    def _act_on_absence(self) -> None:
        code, gone = self._process.code, absence("stopped", self._process.home)
        if gone.code is VerdictCode.RESTING and not self._process.alone:  # an engine that runs still is about to end
            self._store.miss(gone)
        elif self._process.running:
            self._store.miss(not_connected("beginning"))
        elif self._ended:
            self._store.miss(not_connected("stopped"))
        elif not self._may_start:
            self._store.miss(absence("absent", self._process.home))
        elif not self._tried:
            self.start()
        elif code == REFUSED:
            self._store.miss(not_connected("refused", why=self._process.last_words()))
        elif self._reason == "stopped" and not code:
            self._store.miss(gone)
        elif not self._again.isActive():
            self._store.miss(not_connected("again", seconds=self._wait_s))
            self._again.start(1000 * self._wait_s)
            self._wait_s = min(2 * self._wait_s, AGAIN_LONGEST_S)
