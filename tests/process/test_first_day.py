"""An organiser's first day: a folder of text, and a volunteer on another computer who has nothing but a link.

The volunteer's programs run in a network namespace of their own, with another home; the folder of text is deleted
before they begin, so that nothing of it can be read but what the backbone gives.
"""

import contextlib
import json
import lzma
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from ipaddress import IPv4Address
from pathlib import Path
from random import Random
from typing import Any

import pytest

import resources
from tests.process.screens import screen
from tests.process.small_disk import small_disk
from tests.process.swarm import CORE, ENVIRONMENT, end, start
from tests.small_task import text_folder

pytestmark = pytest.mark.process
NETWORK = 0x0AD50000 + os.getpid() % 2**14 * 4
"""One of 10.213.0.0/16 for each process: a run that was killed leaves its cable behind."""
BACKBONE, VOLUNTEER = str(IPv4Address(NETWORK + 1)), str(IPv4Address(NETWORK + 2))
NOBODY = "10.214.99.1"
"""The first address of the link, which leads nowhere: the second one is used."""
LONGEST_S = 180.0
PAGES_MOST = 6
PAGE_S = 6.0
"""Time for a page to come: the link is looked at in a second or two."""
LANGUAGES: Mapping[str, str] = {
    "english": "the sea was calm and every sailor looked for the white whale under a low grey sky at dawn",
    "german": "die Köchin stellte den großen Topf auf das Feuer und erzählte dabei von ihrer Zeit am Fluß",
    "bengali": "নদীর ধারে ছোট গ্রামে সকালের আলো এসে পড়ে আর মানুষ কাজের জন্য ঘর থেকে বের হয়",
}


@contextlib.contextmanager
def other_computer() -> Iterator[Sequence[str]]:
    """What a command begins with that runs in a network namespace, at the other end of a cable."""
    name = f"potluck-{os.getpid()}"
    cable = f"pv{os.getpid()}"[:14]

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    try:
        ip("netns", "add", name)
        ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("addr", "add", f"{BACKBONE}/30", "dev", cable)
        ip("link", "set", cable, "up")
        for words in (("addr", "add", f"{VOLUNTEER}/30", "dev", "eth0"), ("link", "set", "eth0", "up")):
            ip("-n", name, *words)
        ip("-n", name, "link", "set", "lo", "up")
        yield ("ip", "netns", "exec", name)
    finally:
        for words in (("link", "del", cable), ("netns", "del", name)):  # the kernel would end the cable a moment later
            subprocess.run(["ip", *words], check=False, capture_output=True)


def lacking() -> str:
    """Why there can be no other computer here; empty: there can."""
    if sys.platform != "linux" or os.geteuid() or shutil.which("ip") is None:
        return "Another computer is a network namespace: this needs Linux, root and iproute2."
    try:
        with other_computer():
            return ""
    except subprocess.CalledProcessError as error:
        return f"This kernel makes no network namespace: {error.stderr.decode().strip()}"


@pytest.fixture
def books(tmp_path: Path) -> Path:
    """Three languages, one of the files packed, and one that is damaged."""
    folder, random = tmp_path / "books", Random(5)
    folder.mkdir()
    for language, words in LANGUAGES.items():
        known = words.split()
        paragraphs = [" ".join(random.choices(known, k=60)).capitalize() + "." for _ in range(160)]
        (folder / f"{language}.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")
    (folder / "packed.txt.xz").write_bytes(lzma.compress(b"A text that is packed.\n\n" * 40))
    (folder / "torn.jsonl.gz").write_bytes(b"\x1f\x8bno gzip at all")
    return folder


def potluck(*words: object, before: Sequence[str] = ()) -> str:
    command = [*before, *CORE, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT, timeout=LONGEST_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextlib.contextmanager
def commands(link: str, home: Path, there: Sequence[str]) -> Iterator[None]:
    """The volunteer types `potluck join` and `potluck engine`."""
    potluck("join", link, "--yes", "--home", home, before=there)
    words = ["engine", "--home", str(home), "--with-parent"]
    engine = start(words, home.with_suffix(".log"), program=(*there, *CORE))
    try:
        yield
    finally:
        end(engine)


@contextlib.contextmanager
def window(link: str, home: Path, there: Sequence[str]) -> Iterator[None]:
    """The volunteer types `potluck`, and the link into the window; the return key leads on from page to page."""
    with screen() as environ, home.with_suffix(".log").open("ab") as log:
        person = {name: value for name, value in environ.items() if not name.startswith("XDG_")}
        person |= {name: value for name, value in ENVIRONMENT.items() if name.startswith("POTLUCK_")}
        person["HOME"] = str(home.parent)
        opened = subprocess.Popen([*there, *CORE, "--home", str(home)], env=person, stdout=log, stderr=log)

        def xdotool(*words: str) -> str:
            return subprocess.run(["xdotool", *words], env=environ, capture_output=True, check=True, text=True).stdout

        try:
            shown = xdotool("search", "--sync", "--onlyvisible", "--name", "Welcome to Potluck").split()
            xdotool("windowactivate", "--sync", shown[-1])
            xdotool("type", link)
            for _ in range(PAGES_MOST):
                xdotool("key", "Return")
                time.sleep(PAGE_S)  # a window tells no other process which of its pages shows
                if (home / "collaborations.json").exists():
                    break
            yield
        finally:
            opened.kill()
            opened.wait()
            quits = [*there, *CORE, "quit", "--home", str(home)]  # an engine goes on without its window
            subprocess.run(quits, env=ENVIRONMENT, check=False, timeout=LONGEST_S)


@pytest.mark.parametrize("joins", [commands, pytest.param(window, marks=pytest.mark.long)])
def test_a_link_alone_brings_another_computer_to_its_first_contribution(
    tmp_path: Path, books: Path, joins: Callable[[str, Path, Sequence[str]], AbstractContextManager[None]]
) -> None:
    """The organiser's commands are `found` and `backbone`."""
    if why := lacking():
        pytest.skip(why)
    began = time.monotonic()
    ours, home = tmp_path / "ours", tmp_path / "elsewhere"
    recipe = tmp_path / "letters.toml"
    recipe.write_text(
        resources.file("recipes", "small-gpt.toml").read_text().replace("_samples = 512", "_samples = 64")
    )
    where = ("--charter", ours, "--host", NOBODY, "--host", BACKBONE)
    founded = json.loads(potluck("found", recipe, "--text", books, *where, "--json").splitlines()[-1])
    assert (founded["reach"], founded["also"]) == ("home", [BACKBONE])
    (text,) = founded["text"]
    assert "torn.jsonl.gz" in [one["name"] for one in text["losses"]]
    assert text["characters"] > sum(len(path.read_text(encoding="utf-8")) for path in books.glob("*.txt")) * 0.95
    assert str(tmp_path).encode() not in (ours / "manifest.json").read_bytes()
    shutil.rmtree(books)
    with other_computer() as there:
        backbone = start(
            [*founded["command"].split()[1:], "--with-parent", "--json"],
            tmp_path / "backbone.log",
            stdout=subprocess.PIPE,
        )
        try:
            assert backbone.stdout is not None
            link = json.loads(backbone.stdout.readline())["link"]
            assert link == founded["link"]
            with joins(link, home, there):
                first = contribution(home, there, until=began + LONGEST_S)
        finally:
            end(backbone)
    assert first["me"]["samples"] > 0
    assert time.monotonic() - began < LONGEST_S
    admitted = [json.loads(line) for line in (ours / "admitted.log").read_text().splitlines() if line]
    assert len(admitted) == 2  # the backbone itself, and the volunteer


def contribution(home: Path, there: Sequence[str], *, until: float) -> dict[str, Any]:
    """The volunteer's first status that tells of something given."""
    last = ""
    while time.monotonic() < until:
        words = [*there, *CORE, "status", "--home", str(home), "--json"]
        last = subprocess.run(words, capture_output=True, text=True, check=False, env=ENVIRONMENT).stdout
        with contextlib.suppress(ValueError, KeyError, TypeError):
            found: dict[str, Any] = json.loads(last)["snapshot"]
            if found["me"]["samples"] > 0:
                return found
        time.sleep(0.5)
    raise AssertionError(f"nothing was given in time; last was {last}")


def test_a_disk_that_fills_while_text_is_cut_leaves_nothing(tmp_path: Path) -> None:
    folder = text_folder(tmp_path / "books")
    with small_disk(tmp_path / "disk", mib=1) as mounted:
        if not mounted:
            pytest.skip("needs the right to mount a file system")
        (tmp_path / "disk" / "ballast").write_bytes(bytes(253 * 4096))  # of 256 pages
        command = [*CORE, "found", "small-gpt", "--text", str(folder), "--charter", str(tmp_path / "disk" / "ours")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT, timeout=LONGEST_S)
        assert done.returncode == 2
        assert "The disk is full" in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr
        assert [path.name for path in (tmp_path / "disk").iterdir()] == ["ballast"]
