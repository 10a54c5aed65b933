"""When an engine is started, and what is said until there is one."""

from PySide6.QtCore import QObject, Signal

from app import text
from app.engine_process import EngineProcess
from app.link import Link, LinkState
from core.api.snapshot import ProblemView


class Starter(QObject):
    """Starts an engine once, if none runs when the window opens; later only when the person asks.

    Args:
        process: The engine that it may start.
        may_start: False where the window only attaches to an engine.
    """

    changed = Signal(int, object)
    """The step of `StartPage.show_step`, and what is in the way of the start, a `ProblemView` or None."""

    def __init__(self, process: EngineProcess, *, may_start: bool, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process = process
        self._may_start = may_start
        self._tried = False
        self._met = False
        self._connected = False
        self._step = 0
        self._problem: ProblemView | None = None
        process.died.connect(self._died)

    def follow(self, link: Link) -> None:
        """The way to the engine changed."""
        self._connected = link.state is LinkState.CONNECTED
        match link.state:
            case LinkState.CONNECTED:
                self._met, self._step, self._problem = True, 2, None
            case LinkState.CONNECTING:
                self._step = 1
            case LinkState.REFUSED:
                self._problem = link.problem
            case LinkState.ABSENT:
                self._absent()
        self.changed.emit(self._step, self._problem)

    def start(self) -> None:
        """Start an engine, or say what prevents it."""
        self._tried = True
        self._met = False
        self._step = 0
        self._problem = self._process.start()
        self.changed.emit(self._step, self._problem)

    def _absent(self) -> None:
        if self._process.running or self._problem is not None:
            return
        if self._met:
            self._problem = text.engine_gone()
        elif not self._may_start:
            self._problem = text.engine_absent()
        elif not self._tried:
            self.start()

    def _died(self, problem: ProblemView) -> None:
        if not self._connected:  # else another engine was first, and is as good
            self._problem = problem
            self.changed.emit(self._step, self._problem)
