"""Ctrl-C and a polite kill, as a Qt signal."""

import contextlib
import signal
import socket
from types import FrameType

from PySide6.QtCore import QObject, QSocketNotifier, Signal


class Interrupts(QObject):
    """Says when the process was asked to end.  Python's handlers run only when Qt's loop wakes: a socket wakes it."""

    came = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._read, self._write = socket.socketpair()
        self._read.setblocking(False)
        self._write.setblocking(False)
        self._notifier = QSocketNotifier(self._read.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._drain)
        self._before = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _nothing)

    def close(self) -> None:
        """Restore the handlers that were there before."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(self._before)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._read.close()
        self._write.close()

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._read.recv(64)
        self.came.emit()


def _nothing(number: int, frame: FrameType | None) -> None:
    """The wake-up socket carries the news."""
