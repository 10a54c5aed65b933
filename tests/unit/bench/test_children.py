"""How processes of a measurement end."""

import asyncio
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.bench import children as children_module
from tests.bench.children import children

ROOT = Path(__file__).parents[3]


def test_child_without_a_parent_ends_quietly():
    code = (
        "import sys\n"
        "from tests.bench.children import say\n"
        "from tests.bench.averaging.messages import Ended\n"
        "sys.stdin.read()\n"
        "say(Ended())\n"
        "sys.stderr.write('still here')\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    child.stdin.close()
    with child.stderr:
        said = child.stderr.read()
    assert (child.wait(timeout=60), said) == (1, "")


def test_busy_children_are_not_awaited_when_a_measurement_is_cancelled(monkeypatch):
    monkeypatch.setattr(children_module, "END_S", 600.0)
    pids: list[int] = []

    def busy(_index, _order):
        return [sys.executable, "-c", "import time; time.sleep(600)"]

    async def measure() -> None:
        async with asyncio.timeout(60), children("unused", 2, inside=busy) as group:
            pids.extend(child.pid for child in group)
            raise KeyError

    with pytest.raises(KeyError):
        asyncio.run(measure())
    assert len(pids) == 2
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []
