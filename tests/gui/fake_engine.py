"""A control service like an engine's, with snapshots of its own making.

In a test: `with FakeService(home) as service`.  As a process, in place of `python -m core`:
`PYTHONPATH=. python tests/gui/fake_engine.py engine --home DIR --embedded [--fail SENTENCE]`.
"""

import argparse
import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

import msgspec
import psutil
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request as HttpRequest
from websockets.http11 import Response
from websockets.sync.server import Server, ServerConnection, serve

from core.api.commands import ERROR_METHOD, ERROR_PROBLEM, METHODS, EngineFile, EngineRequest
from core.api.places import engine_file
from core.api.snapshot import PROTOCOL_VERSION, Notice, ProblemView, Snapshot
from core.api.verdict import contributing, paused

TOKEN = "a-token-for-tests"
TARGET = 2048
REPORTS = frozenset(("history", "receipts", "machine", "trust", "activity", "moderation", "people", "copies", "team"))
"""What pages ask by themselves."""


def _examples():
    spec = importlib.util.spec_from_file_location("gui_examples", Path(__file__).with_name("examples.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _Once:
    """Takes one answer."""

    said = ""

    def send(self, text: str) -> None:
        self.said = text


class FakeService:
    """Serves one home, like core/control: a snapshot on connect, answers, notifications."""

    def __init__(self, home: Path, snapshot: Snapshot | None = None, *, protocol: int = PROTOCOL_VERSION) -> None:
        self.home = home
        self.snapshot = snapshot or _examples().snapshot()
        self.protocol = protocol
        self.calls: list[str] = []
        self.settings = _examples().settings()
        self.page = {"address": "https://potluck.example.org/m/in?code=x"}
        self.pid: int | None = None
        """None: a process of its own stands for the engine, and ends as one is told to."""
        self._body: subprocess.Popen[bytes] | None = None
        self.headers: list[Headers] = []
        self.refuse: ProblemView | None = None
        self.quit_asked = threading.Event()
        self._lock = threading.Lock()
        self._clients: set[ServerConnection] = set()
        self._server: Server | None = None

    def __enter__(self) -> Self:
        self._server = serve(self._talk, "127.0.0.1", 0, process_request=self._admit, compression=None)
        self._socket_handler, self._server.handler = self._server.handler, self._receive
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        port = self._server.socket.getsockname()[1]
        if self.pid is None:
            self._body = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
        engine = psutil.Process(self.pid if self._body is None else self._body.pid)
        file = EngineFile(engine.pid, port, TOKEN, self.protocol, engine.create_time())
        self.home.mkdir(parents=True, exist_ok=True)
        engine_file(self.home).write_bytes(msgspec.json.encode(file))
        return self

    def __exit__(self, *_error: object) -> None:
        engine_file(self.home).unlink(missing_ok=True)
        self._end()
        self._server.shutdown()
        for client in self.clients:
            client.close()

    @property
    def clients(self) -> tuple[ServerConnection, ...]:
        with self._lock:
            return tuple(self._clients)

    def put(self, snapshot: Snapshot) -> None:
        """Tell every client of a new one."""
        self.snapshot = snapshot
        self.tell("snapshot", snapshot)

    def tell(self, method: str, params: object) -> None:
        for client in self.clients:
            self._send(client, {"jsonrpc": "2.0", "method": method, "params": params})

    def drop_clients(self) -> None:
        """As if the engine had been killed and another one had taken its place."""
        for client in self.clients:
            client.close()

    def _receive(self, connection: socket.socket, address: object) -> None:
        """One call by HTTP, as commands make it, or else a WebSocket."""
        if connection.recv(4, socket.MSG_PEEK) != b"POST":
            self._socket_handler(connection, address)
            return
        with self._server.lock:  # as the other way does: the end waits for all of these
            self._server.handler_threads.discard(threading.current_thread())
        with connection, connection.makefile("rwb") as stream:
            head = dict(line.split(b": ", 1) for line in iter(stream.readline, b"\r\n") if b": " in line)
            body = stream.read(int(head[b"Content-Length"]))
            allowed = head[b"Authorization"].strip() == f"Bearer {TOKEN}".encode()
            stream.write(b"HTTP/1.1 200 OK\r\n\r\n" if allowed else b"HTTP/1.1 401 No\r\n\r\n")
            if allowed:
                once = _Once()
                self._answer(once, msgspec.json.decode(body, type=EngineRequest))
                stream.write(once.said.encode())

    def _admit(self, connection: ServerConnection, request: HttpRequest) -> Response | None:
        if request.path != "/control" or "Origin" in request.headers:
            return connection.respond(403, "no\n")
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return connection.respond(401, "no\n")
        self.headers.append(request.headers)
        return None

    def _talk(self, client: ServerConnection) -> None:
        self._send(client, {"jsonrpc": "2.0", "method": "snapshot", "params": self.snapshot})
        with self._lock:
            self._clients.add(client)
        try:
            for frame in client:
                self._answer(client, msgspec.json.decode(frame, type=EngineRequest))
        except ConnectionClosed:
            pass
        finally:
            with self._lock:
                self._clients.discard(client)

    def _answer(self, client: ServerConnection, request: EngineRequest) -> None:
        if request.method not in REPORTS:
            self.calls.append(request.method)
        base = {"jsonrpc": "2.0", "id": request.id}
        if request.method not in METHODS:
            self._send(client, base | {"error": {"code": ERROR_METHOD, "message": "There is no such method."}})
            return
        if self.refuse is not None:
            error = {"code": ERROR_PROBLEM, "message": self.refuse.message, "data": self.refuse}
            self._send(client, base | {"error": error})
            return
        results = {
            **_examples().reports(),
            "snapshot": self.snapshot,
            "notices": [],
            "evaluate": {
                "epoch": 40,
                "score": {"loss": 4.81},
                "meaning": {
                    "name": "masked-word loss",
                    "unit": "nats",
                    "baselines": {"word frequencies": {"loss": 6.31}},
                },
            },
            "show": {"clients": len(self.clients)},
            "settings": self.settings,
            "page": self.page,
            "test_port": {"port": 24_000, "sentence": "Others have called and got through."},
        }
        if request.method == "configure":
            self.settings = results["configure"] = _with(self.settings, **request.params)
        self._send(client, base | {"result": results.get(request.method)})
        self._carry_out(request.method)

    def _carry_out(self, method: str) -> None:
        match method:
            case "pause":
                self.put(_with(self.snapshot, verdict=paused(), contributing=False))
            case "resume":
                self.put(_with(self.snapshot, verdict=_examples().TRAINING, contributing=True))
            case "show":
                self.tell("show", {})
            case "quit":
                self.quit_asked.set()
                self._end()

    def _end(self) -> None:
        if self._body is not None:
            self._body.kill()
            self._body.communicate()

    @staticmethod
    def _send(client: ServerConnection, message: dict) -> None:
        with contextlib.suppress(ConnectionClosed):
            client.send(msgspec.json.encode(message).decode())


def _with(struct: msgspec.Struct, **changes: object) -> msgspec.Struct:
    return msgspec.structs.replace(struct, **changes)


def _advance(service: FakeService, step: int) -> None:
    """A collaboration that trains: an epoch takes 32 steps."""
    examples = _examples()
    epoch, part = divmod(step, 32)
    if not service.snapshot.contributing:
        return
    samples = part * TARGET // 32
    verdict = contributing("training", others=2, samples=samples, target=TARGET, epoch=epoch)
    service.put(examples.snapshot(verdict, epoch=epoch, samples=samples))
    if part == 0 and epoch:
        service.tell("notice", Notice(epoch, 1.0, "info", f"Epoch {epoch} is done."))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["engine"])
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--embedded", action="store_true")
    parser.add_argument("--fail", default="")
    options = parser.parse_args()
    if options.fail:
        sys.stderr.write(f"{options.fail}\n")
        return 2
    examples = _examples()
    service = FakeService(options.home, examples.starting())
    service.pid = os.getpid()
    with service:
        step = 0
        while not service.quit_asked.wait(0.2):
            step += 1
            if step > 5:
                _advance(service, step - 6)
    return 0


if __name__ == "__main__":
    sys.exit(main())
