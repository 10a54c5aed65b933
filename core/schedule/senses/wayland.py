"""Idle time of a session under Wayland, by the protocol ext-idle-notify-v1 (sway, KDE, Hyprland, labwc and others).

A client of its own, since few requests and two events are all it needs.  A message is the number of an object (four
bytes), the number of a request or event and the size of the whole (two bytes each, in one word), and arguments of four
bytes each; a string is its length, its bytes, a zero and padding.
"""

import contextlib
import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from core.schedule.sensed import Sensed
from core.schedule.senses.findings import Absent, Tell

IDLE_MS: Final = 1000
"""Time without a touch after which a person counts as idle."""
ANSWER_S: Final = 10.0
_HEADER: Final = struct.Struct("=II")
_DISPLAY, _REGISTRY, _SYNC, _SEAT, _NOTIFIER, _NOTIFICATION = range(1, 7)
"""Numbers of the objects; the first is everybody's, the others are chosen here."""
_SEAT_NAME, _NOTIFIER_NAME = "wl_seat", "ext_idle_notifier_v1"
_INPUT_ONLY_VERSION: Final = 2
"""From this version on a film that is played does not count as input."""


class WaylandIdle:
    """Watches a session.

    Args:
        environ: The session's environment, which says where the compositor listens.
    """

    name: Final = "input (Wayland)"
    is_coarse: Final = False

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._path = Path(environ.get("XDG_RUNTIME_DIR", "")) / environ.get("WAYLAND_DISPLAY", "wayland-0")

    def run(self, tell: Tell) -> None:
        """Watch input until the compositor goes.

        Raises:
            Absent: there is no compositor, or it does not have the protocol.
        """
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(str(self._path))
            except OSError as error:
                raise Absent("no compositor") from error
            connection.settimeout(ANSWER_S)
            _ask_for_notification(connection, _globals(connection))
            connection.settimeout(None)
            tell(Sensed(idle_s=0.0))
            for target, event, body in _events(connection):
                if target == _NOTIFICATION:
                    tell(Sensed(idle_s=IDLE_MS / 1000 if event == 0 else 0.0))
                elif target == _DISPLAY and event == 0:
                    raise ConnectionError(f"the compositor reports an error: {body[12:].decode(errors='replace')!r}")


def _globals(connection: socket.socket) -> dict[str, tuple[int, int]]:
    """Return number and version of what the compositor has, by the name of the interface; of several the first."""
    _send(connection, _DISPLAY, 1, struct.pack("=I", _REGISTRY))
    _send(connection, _DISPLAY, 0, struct.pack("=I", _SYNC))
    found: dict[str, tuple[int, int]] = {}
    for target, _, body in _events(connection):
        if target == _SYNC:
            return found
        if target == _REGISTRY:
            number, length = struct.unpack_from("=II", body)
            name = body[8 : 8 + length - 1].decode(errors="replace")
            (version,) = struct.unpack_from("=I", body, 8 + (length + 3) // 4 * 4)
            found.setdefault(name, (number, version))
    raise ConnectionError("the compositor has gone")


def _ask_for_notification(connection: socket.socket, found: Mapping[str, tuple[int, int]]) -> None:
    """Ask to be told when nobody has touched the computer for `IDLE_MS`, and when somebody does again."""
    if _NOTIFIER_NAME not in found or _SEAT_NAME not in found:
        raise Absent(f"no {_NOTIFIER_NAME}")
    version = min(found[_NOTIFIER_NAME][1], _INPUT_ONLY_VERSION)
    _bind(connection, found[_SEAT_NAME][0], _SEAT_NAME, 1, _SEAT)
    _bind(connection, found[_NOTIFIER_NAME][0], _NOTIFIER_NAME, version, _NOTIFIER)
    request = 2 if version >= _INPUT_ONLY_VERSION else 1
    _send(connection, _NOTIFIER, request, struct.pack("=III", _NOTIFICATION, IDLE_MS, _SEAT))


def _bind(connection: socket.socket, number: int, name: str, version: int, target: int) -> None:
    text = name.encode() + b"\0"
    padded = text.ljust((len(text) + 3) // 4 * 4, b"\0")
    _send(
        connection, _REGISTRY, 0, struct.pack("=II", number, len(text)) + padded + struct.pack("=II", version, target)
    )


def _send(connection: socket.socket, target: int, request: int, body: bytes) -> None:
    connection.sendall(_HEADER.pack(target, (_HEADER.size + len(body)) << 16 | request) + body)


def _events(connection: socket.socket) -> Iterator[tuple[int, int, bytes]]:
    """Receive events: object, number of the event, arguments; they end when the compositor goes."""
    held = b""
    with contextlib.suppress(ConnectionResetError):
        while got := connection.recv(4096):
            held += got
            while len(held) >= _HEADER.size:
                target, word = _HEADER.unpack_from(held)
                size = word >> 16
                if size < _HEADER.size:
                    raise ConnectionError("the compositor sends nonsense")
                if len(held) < size:
                    break
                yield target, word & 0xFFFF, held[_HEADER.size : size]
                held = held[size:]
