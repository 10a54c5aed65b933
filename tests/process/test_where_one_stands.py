"""Potluck runs nothing of what lies in the folder where it is started: another person may have put it there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process
ROOT = Path(__file__).parents[2]
SCRIPT = "import sys\nfrom core.__main__ import main\nsys.exit(main())\n"
"""As pip makes it for `project.scripts`."""


def test_children_import_nothing_from_where_one_stands(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "potluck"
    program.write_text(SCRIPT)
    shared = tmp_path / "shared"
    (shared / "core").mkdir(parents=True)
    (shared / "core" / "__init__.py").write_text("open('taken', 'w')\n")
    paths = os.pathsep.join((str(ROOT), *(path for path in sys.path if path.endswith("-packages"))))
    environ = {**os.environ, "PYTHONPATH": paths, "POTLUCK_HOME": str(tmp_path / "home"), "POTLUCK_KEYRING": "off"}
    environ.pop("PYTHONSAFEPATH", None)
    words = [sys.executable, str(program), "devices"]
    done = subprocess.run(words, cwd=shared, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "cpu" in done.stdout
    assert not (shared / "taken").exists()
