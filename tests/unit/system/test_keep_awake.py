"""A lock of logind, taken by systemd's own program over a real bus that belongs to the test."""

import contextlib
import os
import select
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.system.keep_awake import KeepAwake

jeepney = pytest.importorskip("jeepney")
pytestmark = pytest.mark.skipif(
    not (shutil.which("systemd-inhibit") and shutil.which("dbus-daemon")), reason="needs systemd-inhibit and D-Bus"
)
ANSWER_S = 20.0


class Logind:
    """The one call of logind that takes a lock, which lasts as long as the caller keeps a file open."""

    def __init__(self, address: str) -> None:
        from jeepney.io.blocking import open_dbus_connection

        self.locks, given = os.pipe()
        self.asked: list[tuple[str, ...]] = []
        self._given = given
        self._bus = open_dbus_connection(address, enable_fds=True)
        name = jeepney.bus_messages.message_bus.RequestName("org.freedesktop.login1")
        self._bus.send_and_get_reply(name)
        self.taken = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Leave the bus."""
        self._thread.join(ANSWER_S)
        self._bus.close()
        os.close(self.locks)

    def _serve(self) -> None:
        while not self.taken.is_set():
            message = self._bus.receive()
            if message.header.fields.get(jeepney.HeaderFields.member) == "Inhibit":
                self.asked.append(message.body)
                self._bus.send(jeepney.new_method_return(message, "h", (self._given,)))
                os.close(self._given)
                self.taken.set()

    def released(self) -> bool:
        """Whether the lock was let go within the time."""
        ready, _, _ = select.select([self.locks], [], [], ANSWER_S)
        return bool(ready) and os.read(self.locks, 1) == b""


@pytest.fixture
def logind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Logind]:
    address = f"unix:path={tmp_path / 'bus'}"
    daemon = subprocess.Popen(["dbus-daemon", "--session", "--nofork", f"--address={address}"])
    try:
        for _ in range(200):
            if (tmp_path / "bus").exists():
                break
            threading.Event().wait(0.05)
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
        with contextlib.closing(Logind(address)) as service:
            yield service
    finally:
        daemon.terminate()
        daemon.wait()


def test_awake_is_held_until_it_is_released(logind: Logind) -> None:
    awake = KeepAwake()
    awake.hold(True)
    assert logind.taken.wait(ANSWER_S)
    assert awake.held
    assert logind.asked[0][0] == "sleep:idle"
    assert not select.select([logind.locks], [], [], 0.2)[0], "the lock lasts"
    awake.hold(False)
    assert not awake.held
    assert logind.released()


def test_awake_without_a_program_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PATH", "")
    awake = KeepAwake()
    awake.hold(True)
    awake.hold(True)
    assert not awake.held
    assert caplog.text.count("cannot be kept awake") == 1
    awake.hold(False)


def test_awake_that_the_system_refuses_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path / 'nobody'}")
    awake = KeepAwake()
    awake.hold(True)
    while awake.held:
        threading.Event().wait(0.02)
    for _ in range(3):
        awake.hold(True)
    assert not awake.held
    assert caplog.text.count("does not let Potluck") == 1
    awake.hold(False)


def test_awake_ends_although_its_program_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = tmp_path / "systemd-inhibit"
    hanging.write_text("#!/bin/sh\ntrap '' TERM HUP\nexec sleep 600\n")
    hanging.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    awake = KeepAwake()
    awake.hold(True)
    assert awake.held
    awake.hold(False)
    assert not awake.held


def test_awake_without_processes_to_spare_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_words: object, **_options: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    awake = KeepAwake()
    awake.hold(True)
    awake.hold(True)
    assert caplog.text.count("cannot be kept awake") == 1
