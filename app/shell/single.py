"""One window a home: a second start brings the first one's window to the front, with the link that it was given."""

import contextlib
import sys
import tempfile
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from app.shell.forward import forward, server_name
from core.api.joined import LINK_LETTERS_MAX

LINE_BYTES_MAX = 4 * LINK_LETTERS_MAX
LOCK_MS = 2000
"""The longest that one start waits for another to become the window, or to find it."""


class SingleWindow(QObject):
    """The right to be the window of a home.

    Args:
        home: The home directory, absolute.
    """

    show_asked = Signal()
    """Another start asked for this window."""
    link_given = Signal(str)
    """Another start was given this link, of whatever form."""

    def __init__(self, home: Path) -> None:
        super().__init__()
        self._home = home
        self._name = server_name(home)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._welcome)

    def claim(self, link: str = "") -> bool:
        """Become the window of the home; False if there is one, which is then asked to come to the front.

        Args:
            link: Passed on to the window that is there already; empty: none.
        """
        with contextlib.suppress(OSError):  # `listen` says why
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = QLockFile(str(Path(tempfile.gettempdir(), f"{self._name}.lock")))
        lock.tryLock(LOCK_MS)  # of two starts at once the later finds the earlier
        try:
            if forward(self._home, link):
                return False
            QLocalServer.removeServer(self._name)  # left over from a crash: nobody answered
            if not self._server.listen(self._name):
                sys.stderr.write(f"potluck: Another start will not find this window: {self._server.errorString()}\n")
            return True
        finally:
            lock.unlock()

    def release(self) -> None:
        """Give up the right to be the only window."""
        self._server.close()

    def _welcome(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.disconnected.connect(socket.deleteLater)
            socket.readyRead.connect(lambda caller=socket: self._read(caller))
            self.show_asked.emit()

    def _read(self, socket: QLocalSocket) -> None:
        if socket.canReadLine() or socket.bytesAvailable() > LINE_BYTES_MAX:
            link = bytes(socket.readLine(LINE_BYTES_MAX).data()).decode(errors="replace").strip()
            socket.close()
            if link:
                self.link_given.emit(link)
