"""One window a home: a second start brings the first one's window to the front, with the link that it was given."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from app.forward import forward, server_name

LINE_BYTES_MAX = 1024


class SingleWindow(QObject):
    """The right to be the window of a home.

    Args:
        home: The home directory, absolute.
    """

    show_asked = Signal()
    """Another start asked for this window."""
    link_given = Signal(str)
    """Another start was given this link, of whatever form."""

    def __init__(self, home: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
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
        if forward(self._home, link):
            return False
        if not self._server.listen(self._name):
            QLocalServer.removeServer(self._name)  # left over from a crash: nobody answered
            self._server.listen(self._name)
        return True

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
