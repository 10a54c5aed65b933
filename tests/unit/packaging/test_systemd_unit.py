"""The unit of systemd by which a server runs a backbone: systemd itself reads it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.cli.program import parser

UNIT = Path(__file__).parents[3] / "packaging" / "systemd" / "potluck-backbone@.service"
INSTALLED = "/opt/potluck/.venv/bin/potluck"
EXPOSURE_MOST = 20
"""Tenths of what `systemd-analyze security` reckons, of 100; a service without any protection has 96."""


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="This needs systemd-analyze.")
def test_systemd_understands_the_unit_and_its_protection(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace(INSTALLED, sys.executable))  # verify looks whether it can be run
    for words in (["verify", "--man=no"], ["security", "--offline=true", f"--threshold={EXPOSURE_MOST}"]):
        done = subprocess.run(["systemd-analyze", *words, str(unit)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert UNIT.name not in done.stderr, done.stderr


def test_command_of_the_unit_is_one_of_ours() -> None:
    text = UNIT.read_text()
    started = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)
    options = re.search(r"^Environment=OPTIONS=(.*)$", text, re.MULTILINE)
    assert started is not None
    assert options is not None
    program, *words = started[1].replace("$OPTIONS", options[1]).replace("%S", "/var/lib").split()
    assert program == INSTALLED
    args = parser().parse_args(words)
    assert (str(args.charter), args.site) == ("/var/lib/potluck/%i", 8420)
