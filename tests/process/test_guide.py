"""docs/organiser.md as its reader follows it: the commands of its first block, typed as they stand there.

`POTLUCK_LONG=1 python -m pytest -s tests/process/test_guide.py` prints how long it took; POTLUCK_BOOKS names a folder
of text in the place of some made-up paragraphs.
"""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.process.swarm import CORE, ENVIRONMENT, end
from tests.process.test_first_day import BACKBONE, LONGEST_S, books, contribution, lacking, other_computer
from tests.process.test_site import free_port, read

__all__ = ["books"]
pytestmark = [pytest.mark.process, pytest.mark.long]
GUIDE = Path(__file__).parents[2] / "docs" / "organiser.md"
COMMANDS_MOST = 5
PATIENCE_S = 600.0
"""Bounds a failure: a busy computer takes minutes for the first epoch."""


def commands(**places: str) -> list[list[str]]:
    """The words of each command in the guide's first block, with something real at the places that it leaves open."""
    block = GUIDE.read_text().split("```")[1]
    lines = [shlex.split(line, comments=True) for line in block.strip().splitlines()]
    assert all(words[0] == "potluck" for words in lines)
    return [[places.get(word, word) for word in words[1:]] for words in lines]


def typed(words: Sequence[str], folder: Path, env: Mapping[str, str], before: Sequence[str] = ()) -> str:
    """What a command says that ends by itself."""
    command = [*before, *CORE, *words]
    done = subprocess.run(
        command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=LONGEST_S
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    return done.stdout.decode()


def running(
    words: Sequence[str], folder: Path, env: Mapping[str, str], before: Sequence[str] = ()
) -> "subprocess.Popen[bytes]":
    """A command that goes on, until the test ends it."""
    pipe, log = subprocess.PIPE, (folder / f"{words[0]}.log").open("ab")
    with log:
        return subprocess.Popen([*before, *CORE, *words], cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=log)


def link_in(said: str) -> str:
    return next(word for word in said.split() if word.startswith("potluck://"))


def test_reader_of_the_guide_brings_two_volunteers_to_the_board(tmp_path: Path, books: Path) -> None:
    if why := lacking():
        pytest.skip(why)
    port = free_port()
    library = str(Path(os.environ.get("POTLUCK_BOOKS", books)).absolute())
    typed_here = commands(library=library, ADDRESS=BACKBONE, **{"--site": f"--site={port}"})
    assert len(typed_here) <= COMMANDS_MOST
    found, backbone, invite, join, engine = typed_here
    took: dict[str, float] = {}
    began = time.monotonic()

    def reached(name: str) -> None:
        took[name] = round(time.monotonic() - began, 1)

    ours = {**ENVIRONMENT, "POTLUCK_HOME": str(tmp_path / "organiser")}
    with other_computer() as there, ExitStack() as ends:
        typed(found, tmp_path, ours)
        reached("found")
        desk = running([*backbone, "--with-parent"], tmp_path, ours)
        ends.callback(end, desk)
        assert desk.stdout is not None
        links = [next(link_in(line) for line in map(bytes.decode, desk.stdout) if "potluck://" in line)]
        reached("link")
        links.append(link_in(typed(invite, tmp_path, ours)))
        assert links[0] != links[1]
        homes = []
        for name, link in zip(("Ada", "Ben"), links, strict=True):
            home = tmp_path / name
            home.mkdir()
            homes.append(home)
            theirs = {**ENVIRONMENT, "POTLUCK_HOME": str(home / "home")}
            typed([link if word == "LINK" else word for word in (*join, "--yes")], home, theirs, there)
            volunteer = running([*engine, "--name", name, "--with-parent"], home, theirs, there)
            ends.callback(end, volunteer)
            reached(f"{name} has joined")
        for home in homes:
            contribution(home / "home", there, until=time.monotonic() + PATIENCE_S)
            reached(f"{home.name}'s first round")
            while f">{home.name}<" not in read(port, "/board"):
                assert time.monotonic() - began < 3 * PATIENCE_S
                time.sleep(0.5)
            reached(f"{home.name} on the board")
    sys.stdout.write(f"{json.dumps(took, indent=1)}\n")
