"""One call of a running engine, for commands that are to be quick: without a lasting connection, and without a loop."""

import socket
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

import msgspec

from core.api.commands import ENGINE_MESSAGE_BYTES_MAX, EngineFile, EngineMessage
from core.control.engine_file import (
    NotRunning,
    crowded,
    engine_of,
    gone,
    no_answer,
    not_running,
    problem_of_engine,
    refused,
)
from core.storage.paths import Home

CALL_TIMEOUT_S: Final = 10.0
CONNECT_TIMEOUT_S: Final = 5.0
LOOPBACK: Final = "127.0.0.1"
HEAD_BYTES_MAX: Final = 64 * 1024
_CHUNK_BYTES: Final = 256 * 1024


def call_once(
    home: Home,
    method: str,
    params: Mapping[str, float | str | bool] = MappingProxyType({}),
    *,
    kind: Any = Any,
    timeout_s: float = CALL_TIMEOUT_S,
    any_version: bool = False,
) -> Any:
    """Ask the engine that runs on `home` for something.

    Args:
        home: The home in which `engine.json` tells the engine's address.
        method: Name of the request, as in `core.api.commands`.
        params: Parameters of the request.
        kind: Type of the answer.
        timeout_s: Upper bound on each wait for the answer, seconds.
        any_version: For what every version understands: to quit.

    Returns:
        The answer, of the type `kind`.

    Raises:
        NotRunning: there is none, or it ended.
        NoAnswer: it says nothing.
        Problem: the engine's, with its code, message and hint; or it speaks another protocol, or refuses this client.
    """
    file = engine_of(home, any_version=any_version)
    request = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params)})
    try:
        status, body = _posted(file, request, timeout_s)
    except TimeoutError:
        raise no_answer() from None
    except OSError:
        raise not_running() from None
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        raise crowded()
    if status != HTTPStatus.OK:
        raise refused(file)
    try:
        message = msgspec.json.decode(body, type=EngineMessage)
        if message.error is None:
            return msgspec.json.decode(message.result, type=kind)
    except msgspec.DecodeError:
        raise gone() from None  # it ended in the middle of its answer
    raise problem_of_engine(message.error)


def _posted(file: EngineFile, request: bytes, timeout_s: float) -> tuple[int, bytes]:
    """The answer to a POST: its status, and what follows its head.

    Raises:
        NotRunning: what answers is not an engine.
        OSError: nothing answers.
    """
    head = (
        f"POST /control HTTP/1.0\r\nHost: {LOOPBACK}:{file.port}\r\nAuthorization: Bearer {file.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(request)}\r\n\r\n"
    )
    with socket.create_connection((LOOPBACK, file.port), min(timeout_s, CONNECT_TIMEOUT_S)) as connection:
        connection.settimeout(timeout_s)
        connection.sendall(head.encode("latin-1") + request)
        answer = bytearray()
        while chunk := connection.recv(_CHUNK_BYTES):
            answer += chunk
            if len(answer) > HEAD_BYTES_MAX + ENGINE_MESSAGE_BYTES_MAX:
                raise not_running()
    first, _, _ = bytes(answer[:HEAD_BYTES_MAX]).partition(b"\r\n")
    _, found, body = bytes(answer).partition(b"\r\n\r\n")
    words = first.split()
    if not found or len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        raise NotRunning("Another program answers where Potluck did.", hint="Start it with: potluck")
    return int(words[1]), body
