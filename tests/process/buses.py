"""A private D-Bus, and services on it that do what a test says (python-dbusmock)."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator

import pytest

jeepney = pytest.importorskip("jeepney", reason="D-Bus is Linux's")

from jeepney.io.blocking import open_dbus_connection  # noqa: E402
from jeepney.wrappers import unwrap_msg  # noqa: E402

from tests.process.screens import running  # noqa: E402

MOCK = "org.freedesktop.DBus.Mock"
PYTHON = "/usr/bin/python3"
"""The system's own, for which distributions pack dbusmock."""
PATIENCE_S = 20.0


class Mock:
    """A service on the bus."""

    def __init__(self, address, name, path):
        self._connection = open_dbus_connection(address)
        self._name, self._path = name, path

    def call(self, member, *arguments, signature="", path=None, interface=MOCK):
        """Call a method of dbusmock, or one of the service."""
        address = jeepney.DBusAddress(path or self._path, self._name, interface)
        message = jeepney.new_method_call(address, member, signature, arguments)
        return unwrap_msg(self._connection.send_and_get_reply(message, timeout=PATIENCE_S))

    def update(self, interface, properties, path=None):
        """Change properties, by name: type and value; the service says so with a signal."""
        self.call("UpdateProperties", interface, properties, signature="sa{sv}", path=path)

    def signal(self, interface, member, types, *values):
        """Have the service say something."""
        told = [(kind, value) for kind, value in zip(types, values, strict=True)]
        self.call("EmitSignal", interface, member, types, told, signature="sssav")

    def method(self, interface, member, takes, gives, code):
        """Give the service a method."""
        self.call("AddMethod", interface, member, takes, gives, code, signature="sssss")

    def close(self):
        """End this connection; the service stays."""
        self._connection.close()


class Bus:
    """The bus, for a session and for the system at once."""

    def __init__(self, address):
        self.address = address
        self.environ = {name: value for name, value in os.environ.items() if name not in {"DISPLAY", "WAYLAND_DISPLAY"}}
        self.environ |= {"DBUS_SESSION_BUS_ADDRESS": address, "DBUS_SYSTEM_BUS_ADDRESS": address}

    @contextlib.contextmanager
    def service(self, name, path, interface=None, *, template=None) -> Iterator[Mock]:
        """Run a service until the block ends."""
        words = ["--template", template] if template else [name, path, interface or name]
        with running([PYTHON, "-m", "dbusmock", *words], self.environ), contextlib.ExitStack() as stack:
            mock = Mock(self.address, name, path)
            stack.callback(mock.close)
            until = time.monotonic() + PATIENCE_S
            while not self._is_there(mock, path):
                assert time.monotonic() < until, f"{name} did not start"
                time.sleep(0.1)
            yield mock

    @staticmethod
    def _is_there(mock, path):
        try:
            mock.call("GetAll", MOCK, signature="s", interface="org.freedesktop.DBus.Properties")
        except jeepney.DBusErrorResponse as error:
            return "ServiceUnknown" not in str(error)
        return True


@contextlib.contextmanager
def private_bus() -> Iterator[Bus]:
    """A bus that ends with the test."""
    if shutil.which("dbus-daemon") is None:
        pytest.skip("not installed: dbus-daemon")
    if subprocess.run([PYTHON, "-c", "import dbusmock"], capture_output=True, check=False).returncode != 0:
        pytest.skip("not installed: python3-dbusmock")
    words = ["dbus-daemon", "--session", "--nofork", "--print-address"]
    daemon = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        address = daemon.stdout.readline().decode().strip()
        assert address, "dbus-daemon did not start"
        yield Bus(address)
    finally:
        daemon.terminate()
        daemon.wait(PATIENCE_S)
        daemon.stdout.close()
