"""The command that tries mutants, when it is interrupted."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.__main__ import INTERRUPTED
from tests.mutants.table import ROOT

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="no signals as on POSIX"),
]
PROGRAM = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("tests.mutants", run_name="__main__", alter_sys=True)
"""
"""The command as a terminal starts it: a child of a process that ignores SIGINT, as under nohup, ignores it, too."""
COMMAND = [sys.executable, "-c", PROGRAM, "--only", "idle-member-gets-credit"]
TIMEOUT_S = 60.0


@pytest.mark.parametrize(("after", "way"), [("Mutants: 1.", signal.SIGTERM), ("They pass", signal.SIGINT)])
def test_interrupted_command_leaves_nothing_behind(tmp_path: Path, after: str, way: signal.Signals) -> None:
    environment = {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(COMMAND, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert any(line.startswith(after) for line in process.stdout)
        process.send_signal(way)
        output, _ = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, output) == (INTERRUPTED, "Interrupted.\n")
    assert list(tmp_path.iterdir()) == []
