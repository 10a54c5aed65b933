"""A service on D-Bus, for the senses that ask one."""

import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, Literal

from jeepney import (
    DBusAddress,
    DBusErrorResponse,
    Header,
    HeaderFields,
    MatchRule,
    Message,
    MessageFlag,
    message_bus,
    new_method_call,
)
from jeepney.io.blocking import open_dbus_connection
from jeepney.wrappers import unwrap_msg

from core.schedule.senses.findings import Absent

ANSWER_S: Final = 10.0
SIGNALS_MAX: Final = 1000
"""Upper bound on signals that came while an answer was awaited; the oldest go first."""
PAUSE_S: Final = 0.25
"""Least time between two times that signals are passed on: each time the sense may ask the service anew."""
_BUS: Final = "org.freedesktop.DBus"
_PROPERTIES: Final = "org.freedesktop.DBus.Properties"


class Service:
    """A connection to a bus on which a service runs.

    Args:
        bus: The session's or the system's.
        name: The service; it is not started.

    Raises:
        Absent: there is no such bus, or no such service on it.
    """

    def __init__(self, bus: Literal["session", "system"], name: str) -> None:
        try:
            self._connection = open_dbus_connection(_address(bus))
        except (OSError, RuntimeError) as error:
            raise Absent(f"no {bus} bus") from error
        self._name = name
        self._signals: deque[Message] = deque(maxlen=SIGNALS_MAX)
        self._ends = MatchRule(type="signal", sender=_BUS, interface=_BUS, member="NameOwnerChanged")
        self._ends.add_arg_condition(0, name)
        for rule in (MatchRule(type="signal", sender=name), self._ends):
            self._answer(message_bus.AddMatch(rule))
        try:
            (owner,) = self._answer(message_bus.GetNameOwner(name))
        except DBusErrorResponse as error:
            self.close()
            raise Absent(f"no {name}") from error
        # Anybody can send any signal straight to this connection, but none in the name of another one.
        for rule in (MatchRule(type="signal", sender=owner), self._ends):
            self._connection.filter(rule, queue=self._signals)

    def call(self, path: str, method: str, *arguments: Any, signature: str = "") -> tuple[Any, ...]:
        """Call a method.

        Args:
            path: The object.
            method: Its interface, a dot, and its name.
            arguments: Its arguments.
            signature: Their types.

        Raises:
            jeepney.DBusErrorResponse: the service answers with an error.
            TimeoutError: it does not answer.
        """
        interface, _, member = method.rpartition(".")
        return self._answer(new_method_call(DBusAddress(path, self._name, interface), member, signature, arguments))

    def properties(self, path: str, interface: str) -> dict[str, Any]:
        """Return all properties that an object has in one interface.

        Raises:
            jeepney.DBusErrorResponse: there is no such object.
            TimeoutError: the service does not answer.
        """
        (found,) = self.call(path, f"{_PROPERTIES}.GetAll", interface, signature="s")
        return {name: value for name, (_, value) in found.items()}

    def signals(self) -> Iterator[dict[str, tuple[Any, ...]]]:
        """Wait for signals of the service, and pass on all that have come: what the last one of each name says.

        They end when the service has gone, or another program has taken its name.
        """
        passed_at = -PAUSE_S
        while True:
            come = [self._connection.recv_until_filtered(self._signals)]
            time.sleep(max(0.0, passed_at + PAUSE_S - time.monotonic()))
            with suppress(TimeoutError):
                for _ in range(SIGNALS_MAX):
                    self._connection.recv_messages(timeout=0)
            come += self._signals
            self._signals.clear()
            if any(self._ends.matches(message) for message in come):
                return
            passed_at = time.monotonic()
            yield {_member(message.header): message.body for message in come}

    def close(self) -> None:
        """End the connection to the bus."""
        self._connection.close()

    def _answer(self, message: Message) -> tuple[Any, ...]:
        message.header.flags |= MessageFlag.no_auto_start
        answer: tuple[Any, ...] = unwrap_msg(self._connection.send_and_get_reply(message, timeout=ANSWER_S))
        return answer


def _address(bus: str) -> str:
    """Where the bus listens; a service of systemd's may have no variable that says so."""
    if bus == "system":
        return "SYSTEM"
    runtime = os.environ.get("XDG_RUNTIME_DIR", "/nonexistent")
    return os.environ.get("DBUS_SESSION_BUS_ADDRESS") or f"unix:path={runtime}/bus"


def _member(header: Header) -> str:
    return str(header.fields.get(HeaderFields.member, ""))
