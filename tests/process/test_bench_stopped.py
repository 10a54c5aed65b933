"""A measurement that is stopped on its way: one sentence, the exit code of an interruption, and nothing is left."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.bench.network import lines
from tests.bench.program import STOPPED
from tests.process.swarm import ENVIRONMENT

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals, and no pty to follow the progress on"),
]

ENDLESS = ("--rounds", "100000", "--numel", "200000")
RIVAL = """
import pathlib, subprocess, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--logdir") + 1])
(folder / "log").write_text("a rival's log")
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("the rival runs", file=sys.stderr, flush=True)
child.wait()
"""
"""Stands where a script would that measures hivemind."""


@dataclass
class Measurement:
    """One that runs, and shows its progress to a terminal."""

    process: "subprocess.Popen[str]"
    terminal: int
    """The other end of its stderr."""
    shown: str = ""

    def until(self, words: str) -> None:
        """Read on until the words are shown."""
        while words not in self.shown:
            assert self._read(), f"it ended; shown was {self.shown}"

    def end(self) -> int:
        """Its exit code, once everything that it shows is read."""
        while self._read():
            pass
        return self.process.wait(timeout=60)

    def _read(self) -> bool:
        try:
            piece = os.read(self.terminal, 4096)
        except OSError:  # so a terminal on Linux says that nobody writes any more
            return False
        self.shown += piece.decode()
        return bool(piece)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[object]:
    """Starts `python -m tests.bench averaging`, with a folder of its own for what lies about for a time."""
    started: list[Measurement] = []
    (tmp_path / "temporary").mkdir()

    def begin(*words: str) -> Measurement:
        terminal, inside = os.openpty()
        # In the background of a script Ctrl-C is ignored, and by what is started from there too.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench", "averaging", "--json", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=inside,
            text=True,
            env={**ENVIRONMENT, "TMPDIR": str(tmp_path / "temporary")},
            start_new_session=True,
        )
        signal.signal(signal.SIGINT, before)
        os.close(inside)
        started.append(Measurement(process, terminal))
        return started[-1]

    yield begin
    for measurement in started:
        family = family_of(measurement)
        measurement.process.kill()
        measurement.process.communicate()
        os.close(measurement.terminal)
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()


def family_of(measurement: Measurement) -> list[psutil.Process]:
    """All that it has started, and what that has started."""
    if measurement.process.poll() is not None:
        return []
    return psutil.Process(measurement.process.pid).children(recursive=True)


def is_alive(member: psutil.Process) -> bool:
    try:
        return bool(member.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def stop(measurement: Measurement, number: signal.Signals) -> None:
    """Ctrl-C in a terminal reaches the whole group, a polite request the one process that it is meant for."""
    while not (family := family_of(measurement)):  # what sets a line up lives for a moment only
        assert measurement.process.poll() is None
    if number is signal.SIGINT:
        os.killpg(measurement.process.pid, number)
    else:
        measurement.process.send_signal(number)
    assert measurement.end() == 130, measurement.shown
    assert measurement.process.stdout is not None
    assert measurement.process.stdout.read() == ""
    said = measurement.shown.rpartition("\x1b[K")[2]  # the last bar is wiped away before
    assert said.strip() == STOPPED
    assert "Traceback" not in measurement.shown
    # Nobody has waited for a killed rival's own children: they may need a moment, and nobody may ever bury them.
    for _ in range(1000):
        left = [member for member in family if is_alive(member)]
        if not left:
            break
        time.sleep(0.02)
    assert left == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("when", ["starting 2 peers", "round 1 of"])
def test_it_ends_with_all_that_it_has_started(start, tmp_path, number, when):
    measurement = start("--peers", "2", *ENDLESS)
    measurement.until(when)
    stop(measurement, number)
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_rival_ends_too(start, tmp_path, number):
    (tmp_path / "bench_allreduce.py").write_text(RIVAL)
    (tmp_path / "bench_gloo.py").write_text("print('{}')")
    rival = ("--hivemind", sys.executable, "--peers-scripts", str(tmp_path))
    measurement = start("--peers", "2", "--rounds", "1", "--numel", "1000", *rival)
    measurement.until("the rival runs")
    stop(measurement, number)
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.skipif(lines.missing() is not None, reason=lines.missing() or "")
@pytest.mark.parametrize("when", ["starting 2 peers", "round 1 of"])
def test_the_lines_of_a_fleet_go_too(start, when):
    measurement = start("--fleet", "100*2", "--warm", "0", *ENDLESS)
    measurement.until(when)
    stop(measurement, signal.SIGTERM)
    left = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True).stdout
    assert f"plb{measurement.process.pid}-" not in left
