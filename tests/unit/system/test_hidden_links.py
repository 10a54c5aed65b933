"""Invitations stand in no command line; read as another person of the computer reads it."""

import subprocess
import sys

import pytest

LINK = f"potluck://a.example:1/{'0' * 64}#secret"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows shows words to their own person only")


@pytest.mark.parametrize(
    "words",
    [
        ["engine", "--join", LINK, "--stay"],
        ["engine", f"--join={LINK}"],
        [LINK],
        [f" \u2039{LINK}\u203a"],
        ["join", LINK + "\udcff" + "x" * 9000],
        ["status"],
        ["link-by-pipe-99"],
        [],
    ],
)
def test_no_link_stays_in_a_command_line(words: list[str]) -> None:
    lines = (
        subprocess.run(
            [sys.executable, "-m", "tests.unit.system.words_of_a_process", *words],
            capture_output=True,
            check=True,
            timeout=20,
        )
        .stdout.decode()
        .splitlines()
    )
    assert lines[0] == ascii(words)
    assert "secret" not in lines[1]
