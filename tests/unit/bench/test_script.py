"""Scripts that measure rivals: their figures, and what becomes of those that fail."""

import asyncio
import sys
import time
from pathlib import Path

import psutil
import pytest

from core.base.problems import BadInput, Problem
from tests.bench.averaging.rivals import median_of
from tests.bench.script import figures_of


def figures(folder: Path, code: str, limit_s: float = 30.0) -> dict[str, object]:
    script = folder / "measure.py"
    script.write_text(code)
    return asyncio.run(figures_of(Path(sys.executable), script, ["7"], limit_s=limit_s))


def test_the_last_object_counts(tmp_path):
    code = 'import sys\nprint(\'{"a": 1}\')\nprint(\'{"a": \' + sys.argv[1] + "}")\nprint("done")'
    assert figures(tmp_path, code) == {"a": 7}


def test_a_script_that_prints_nothing_is_told(tmp_path):
    with pytest.raises(Problem, match="printed no figures"):
        figures(tmp_path, "print('nothing')")


def test_a_script_that_hangs_is_ended(tmp_path):
    with pytest.raises(Problem, match="too long"):
        figures(tmp_path, "import time\ntime.sleep(600)", limit_s=0.5)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no groups of processes to end")
def test_a_script_that_fails_leaves_nothing_running(tmp_path):
    code = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout=subprocess.DEVNULL)
open("child", "w").write(str(child.pid))
raise SystemExit("failed")
"""
    with pytest.raises(Problem, match="printed no figures"):
        figures(tmp_path, code)
    child = int((tmp_path / "child").read_text())
    for _ in range(1000):
        try:
            if psutil.Process(child).status() == psutil.STATUS_ZOMBIE:
                break
        except psutil.NoSuchProcess:
            break
        time.sleep(0.02)
    else:
        psutil.Process(child).kill()
        pytest.fail("its child is still there")


def test_a_script_that_is_not_there_is_told(tmp_path):
    with pytest.raises(BadInput):
        asyncio.run(figures_of(Path(sys.executable), tmp_path / "none.py", [], limit_s=1.0))


def test_a_python_that_cannot_be_run_is_told(tmp_path):
    (tmp_path / "python").write_bytes(b"\x7fELF")
    (tmp_path / "python").chmod(0o755)
    (tmp_path / "measure.py").touch()
    with pytest.raises(BadInput, match="cannot be run"):
        asyncio.run(figures_of(tmp_path / "python", tmp_path / "measure.py", [], limit_s=1.0))


@pytest.mark.parametrize(
    ("spread", "median"), [({"med": 2, "min": 1, "max": 3}, 2.0), (None, None), ({}, None), (3, 3.0)]
)
def test_medians_are_found(spread, median):
    assert median_of(spread) == median
