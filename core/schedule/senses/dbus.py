"""A service on D-Bus, for the senses that ask one."""

import os
from collections import deque
from collections.abc import Iterator
from typing import Any, Final, Literal

from jeepney import DBusAddress, Header, HeaderFields, MatchRule, Message, MessageFlag, message_bus, new_method_call
from jeepney.io.blocking import open_dbus_connection
from jeepney.wrappers import unwrap_msg

from core.schedule.senses.findings import Absent

ANSWER_S: Final = 10.0
SIGNALS_MAX: Final = 1000
"""Upper bound on signals that came while an answer was awaited; the oldest go first."""
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
        self._connection.filter(MatchRule(type="signal"), queue=self._signals)
        self._ends = MatchRule(type="signal", interface="org.freedesktop.DBus", member="NameOwnerChanged")
        self._ends.add_arg_condition(0, name)
        for rule in (MatchRule(type="signal", sender=name), self._ends):
            self._answer(message_bus.AddMatch(rule))
        if not self._answer(message_bus.NameHasOwner(name))[0]:
            self.close()
            raise Absent(f"no {name}")

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

    def signals(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Wait for signals of the service: the name of each, and what it says; they end when the service has gone."""
        while True:
            message = self._connection.recv_until_filtered(self._signals)
            if self._ends.matches(message):
                if not message.body[2]:
                    return
                continue
            yield _member(message.header), message.body

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
