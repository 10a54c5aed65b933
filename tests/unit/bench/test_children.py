"""What a process of a measurement does when nobody listens any more."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_who_speaks_to_nobody_ends_quietly():
    code = (
        "import sys\n"
        "from core.bench.children import say\n"
        "from core.bench.words import Ended\n"
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
