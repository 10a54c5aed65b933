"""Whether an engine lives, told from real processes, and its end by force."""

import os
import signal
import subprocess
import sys
import time

import msgspec
import psutil
import pytest

from core.api.commands import EngineFile
from core.api.joined import absence
from core.api.places import engine_file
from core.api.running import end_by_force, living, why_none_answers
from core.api.verdict import VerdictCode

ENGINE = """
import socket, subprocess, sys
door = socket.create_server(("127.0.0.1", 0))
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(door.getsockname()[1], child.pid, flush=True)
child.wait()
"""
"""Holds a port and has a child, and answers nobody."""


@pytest.fixture
def hung(tmp_path):
    """A process that says nothing, as `engine.json` names it, and the number of its child."""
    with subprocess.Popen([sys.executable, "-c", ENGINE], stdout=subprocess.PIPE) as process:
        port, child = map(int, process.stdout.readline().split())
        if hasattr(signal, "SIGSTOP"):
            os.kill(process.pid, signal.SIGSTOP)
        file = EngineFile(process.pid, port, "token", 5, psutil.Process(process.pid).create_time())
        engine_file(tmp_path).write_bytes(msgspec.json.encode(file))
        yield file, child
        for number in (process.pid, child):
            if psutil.pid_exists(number):
                psutil.Process(number).kill()


def test_a_hung_engine_is_told_from_one_that_ended(hung, tmp_path):
    file, _ = hung
    assert absence(why_none_answers(tmp_path), tmp_path).code is VerdictCode.NO_ANSWER
    psutil.Process(file.pid).kill()
    while living(file) is not None:  # nobody has waited for it: a zombie has ended, too
        time.sleep(0.01)
    assert why_none_answers(tmp_path) == "killed"
    engine_file(tmp_path).unlink()
    assert why_none_answers(tmp_path) == "stopped"


def test_end_by_force_leaves_no_process(hung, tmp_path):
    file, child = hung
    assert end_by_force(tmp_path, file)
    assert living(file) is None
    assert why_none_answers(tmp_path) == "stopped", "the person has ended it"
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE


def test_a_process_that_got_the_number_later_is_spared(hung, tmp_path):
    file, child = hung
    earlier = msgspec.structs.replace(file, started=file.started - 100, port=1)
    assert living(earlier) is None
    assert end_by_force(tmp_path, earlier)
    assert psutil.pid_exists(file.pid)
    assert psutil.pid_exists(child)


def test_engine_is_known_by_its_port_when_the_clock_moved(hung):
    file, _ = hung
    assert living(msgspec.structs.replace(file, started=file.started + 7200)) is not None


def test_the_way_to_another_computer_is_not_ended(hung, tmp_path):
    file, child = hung
    assert not end_by_force(tmp_path, msgspec.structs.replace(file, far=True))
    assert psutil.pid_exists(file.pid)
    assert psutil.pid_exists(child)
