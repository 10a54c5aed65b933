"""Words leave the program whatever encoding its terminal or its caller has chosen."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.storage.settings import Settings, save_settings

NAME = "রাজু Łukasz 太郎"
BROKEN = "\udcff"
"""A byte of a file's name that no encoding has, as Python passes it on."""


def run(home: Path, *words: str, **environment: str) -> tuple[int, bytes, bytes]:
    command = [sys.executable, "-m", "core", *words]
    values = {**os.environ, "POTLUCK_HOME": str(home), **environment}
    done = subprocess.run(command, env=values, capture_output=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"LC_ALL": "C"},
        {"PYTHONIOENCODING": "ascii", "LC_ALL": "POSIX"},
    ],
)
def test_names_leave_whatever_the_terminal_says(tmp_path: Path, environment: dict[str, str]) -> None:
    save_settings(tmp_path / "settings.json", Settings(name=NAME))
    code, out, err = run(tmp_path, "settings", "name", **environment)
    assert (code, err) == (0, b"")
    assert NAME in out.decode()
    code, out, err = run(tmp_path, "settings", "name", "--json", **environment)
    assert (code, err) == (0, b"")
    assert out.isascii()
    assert json.loads(out)["settings"]["name"] == NAME
    code, out, err = run(tmp_path, "settings", f"{NAME}{BROKEN}", **environment)
    assert (code, out) == (2, b"")
    assert f"There is no setting '{NAME}" in err.decode()
