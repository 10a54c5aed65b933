"""What Potluck writes is for its owner only."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.process.swarm import CORE, ENVIRONMENT, end, found

pytestmark = [pytest.mark.process, pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")]


def readable_by_others(folder: Path) -> list[str]:
    return [str(path) for path in [folder, *folder.rglob("*")] if stat.S_IMODE(path.lstat().st_mode) & 0o077]


@pytest.mark.parametrize("defended", [True, False])
def test_files_and_words_are_for_their_owner_only(tmp_path: Path, *, defended: bool) -> None:
    program = CORE if defended else (sys.executable, "-m", "tests.attacks.undefended", "modes")
    charter, home = found(tmp_path, target_samples=64), tmp_path / "people" / "ada"
    for words, sign in (
        (["backbone", "--charter", str(charter.folder), "--bind", "127.0.0.1"], charter.folder / "ports.json"),
        (["engine", "--home", str(home), "--join", f"potluck://127.0.0.1:1/{'0' * 64}#i"], home / "engine.json"),
    ):
        before = {str(path) for path in tmp_path.rglob("*")}
        command, quiet = [*program, *words, "--with-parent"], subprocess.DEVNULL
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, env=ENVIRONMENT, umask=0o022
        )
        while not sign.exists():
            assert process.poll() is None
            time.sleep(0.05)
        assert not any("potluck:" in word for word in psutil.Process(process.pid).cmdline())
        end(process)
        made = set(readable_by_others(tmp_path)) - before
        assert bool(made) is not defended
