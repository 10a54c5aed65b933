"""The control socket: one plain thread that reads it, and Qt signals of what came.

Reconnecting is the same as connecting: the engine sends a whole snapshot at once, so nothing is kept from before.
"""

import contextlib
import itertools
import random
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from PySide6.QtCore import QObject, Signal
from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect

from app.engine import reports
from app.words import text
from core.api.commands import ENGINE_MESSAGE_BYTES_MAX, EngineFile, EngineMessage, ModelEvaluation
from core.api.moderation import ModerationOutcome, PageView
from core.api.running import may_answer, read_engine_file, why_none_answers
from core.api.settings import PortTest, SettingsView, Wish
from core.api.snapshot import PROTOCOL_VERSION, Notice, ProblemView, Snapshot

OPEN_TIMEOUT_S = 3.0
QUIET_S = 1.0
"""Silence after which the engine is asked whether it lives, seconds."""
UNANSWERED_MAX = 3
"""Times `QUIET_S` without an answer after which it does not answer.  They are counted one by one: while the whole
computer sleeps, nobody waits."""
CLOSE_TIMEOUT_S = 0.5
RETRY_FIRST_S = 0.1
RETRY_MAX_S = 2.0
PENDING_MAX = 64
"""Calls whose answers are awaited; more are not sent."""
RESULTS: Mapping[str, Any] = MappingProxyType(
    {
        "evaluate": ModelEvaluation,
        "settings": SettingsView,
        "configure": SettingsView,
        "test_port": PortTest,
        "moderate": ModerationOutcome,
        "page": PageView,
        **reports.KINDS,
    }
)
"""Types of the methods' results; other results are not used here."""


class Client(QObject):
    """Talks to the engine of one home, from `start` to `stop`.

    Signals come in the thread of the receiver.

    Args:
        home: Where `engine.json` is looked for.
        chance: For the jitter between attempts.
    """

    snapshot_came = Signal(object)
    """The newest one: those that came while the receiver was busy are left out."""
    _arrived = Signal()
    notice_came = Signal(object)
    show_asked = Signal()
    link_changed = Signal(str)
    """Why no engine is connected, as `core.api.verdict` names the reasons; empty: one is."""
    answered = Signal(str, object)
    """A method, and its result, of the type that RESULTS names, else None."""
    failed = Signal(str, object)
    """A method, and a ProblemView."""

    def __init__(self, home: Path, chance: random.Random, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._home = home
        self._chance = chance
        self._stopped = threading.Event()
        self._hurry = threading.Event()
        self._lock = threading.Lock()
        self._socket: ClientConnection | None = None
        self._link = "connecting"
        self._numbers = itertools.count(1)
        self._pending: dict[int, str] = {}
        self._newest: msgspec.Raw | None = None
        self.engine: EngineFile | None = None
        """The engine that was looked for last; None: there was none yet."""
        self._arrived.connect(self._hand_over)
        self._thread = threading.Thread(target=self._run, name="control", daemon=True)

    def start(self) -> None:
        """Begin to look for the engine."""
        self._thread.start()

    def stop(self) -> None:
        """Leave; the engine goes on.  No signal is sent any more."""
        self._stopped.set()
        self._hurry.set()
        with self._lock:
            socket = self._socket
        if socket is not None:
            socket.close()
        if self._thread.is_alive():
            self._thread.join(OPEN_TIMEOUT_S)

    def hurry(self) -> None:
        """Try to connect now, instead of after the back-off."""
        self._hurry.set()

    def call(self, method: str, params: Wish | None = None) -> None:
        """Ask the engine; `answered` or `failed` follows."""
        number = next(self._numbers)
        with self._lock:
            socket = self._socket if len(self._pending) < PENDING_MAX else None
            if socket is not None:
                self._pending[number] = method
        if socket is None:
            self.failed.emit(method, text.engine_away())
            return
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
        try:
            socket.send(msgspec.json.encode(request).decode())
        except (WebSocketException, OSError):
            with self._lock:
                known = self._pending.pop(number, None)
            if known:
                self.failed.emit(method, text.engine_away())

    def _run(self) -> None:
        retry_s = RETRY_FIRST_S
        while not self._stopped.is_set():
            link = self._visit()
            if link == "connecting":
                retry_s = RETRY_FIRST_S
            self._say(link)
            self._hurry.wait(retry_s * self._chance.uniform(0.7, 1.3))
            self._hurry.clear()
            retry_s = min(retry_s * 1.6, RETRY_MAX_S)

    def _say(self, link: str) -> None:
        if link != self._link and not self._stopped.is_set():
            self._link = link
            self.link_changed.emit(link)

    def _visit(self) -> str:
        """Connect and read to the end; returns why no engine is connected then."""
        file = read_engine_file(self._home)
        if file is None:
            return "stopped"
        if file.protocol != PROTOCOL_VERSION:
            return "version"
        if not may_answer(file):
            return "killed"
        self.engine = file
        try:
            socket = _open(file)
        except InvalidStatus as error:
            return "full" if error.response.status_code == 503 else why_none_answers(self._home, refused=True)
        except (WebSocketException, OSError, ValueError):
            return why_none_answers(self._home)
        silent = False
        with socket:
            with self._lock:
                self._socket = socket
            if not self._stopped.is_set():
                self._say("")
                silent = self._read(socket)
        self._forget()
        return why_none_answers(self._home) if silent else "connecting"

    def _forget(self) -> None:
        with self._lock:
            self._socket = None
            lost, self._pending = self._pending, {}
        for method in lost.values():
            if method == "quit":
                self._emit_answer(method, None)
            elif not self._stopped.is_set():
                self.failed.emit(method, text.engine_away())

    def _read(self, socket: ClientConnection) -> bool:
        """Take what the engine says, to its end; returns whether that is only its silence."""
        asked, unanswered = None, 0
        try:
            while not self._stopped.is_set():
                try:
                    frame = socket.recv(timeout=QUIET_S)
                except TimeoutError:
                    if asked is None or asked.is_set():
                        asked, unanswered = socket.ping(), 0
                    unanswered += 1
                    if unanswered >= UNANSWERED_MAX:
                        return True
                    continue
                asked = None
                with contextlib.suppress(msgspec.DecodeError):  # a newer engine may send unknown notifications
                    self._take(msgspec.json.decode(frame, type=EngineMessage))
        except (WebSocketException, OSError):
            pass
        return False

    def _take(self, message: EngineMessage) -> None:
        match message.method:
            case "snapshot":
                with self._lock:
                    waits, self._newest = self._newest is not None, message.params
                if not waits:
                    self._arrived.emit()
            case "notice":
                self.notice_came.emit(msgspec.json.decode(message.params, type=Notice))
            case "show":
                self.show_asked.emit()
            case None:
                self._take_answer(message)

    def _hand_over(self) -> None:
        """In the receiver's thread: read what came last."""
        with self._lock:
            newest, self._newest = self._newest, None
        if newest is not None and not self._stopped.is_set():
            with contextlib.suppress(msgspec.DecodeError):
                self.snapshot_came.emit(msgspec.json.decode(newest, type=Snapshot))

    def _take_answer(self, message: EngineMessage) -> None:
        with self._lock:
            method = self._pending.pop(message.id or 0, None)
        if method is None:
            return
        if message.error is not None:
            problem = message.error.data or ProblemView("error", message.error.message)
            self.failed.emit(method, problem)
            return
        kind = RESULTS.get(method)
        self._emit_answer(method, msgspec.json.decode(message.result, type=kind) if kind is not None else None)

    def _emit_answer(self, method: str, result: object) -> None:
        if not self._stopped.is_set():
            self.answered.emit(method, result)


def _open(file: EngineFile) -> ClientConnection:
    return connect(
        f"ws://127.0.0.1:{file.port}/control",
        additional_headers={"Authorization": f"Bearer {file.token}"},
        open_timeout=OPEN_TIMEOUT_S,
        close_timeout=CLOSE_TIMEOUT_S,
        max_size=ENGINE_MESSAGE_BYTES_MAX,
        compression=None,
        ping_interval=None,  # `_read` asks sooner
        proxy=None,
    )
