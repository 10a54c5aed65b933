"""Joining by the command line, at a real welcome desk; a restart goes back to what was joined."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from core.backbone.link import Link
from core.base.machine import Trace
from core.base.problems import NotTrusted, UserProblem
from core.control.client import ControlClient
from core.engine.remembered.collaborations import Collaborations
from core.joining.look import look
from core.storage.paths import Home
from tests.process.swarm import LOOPBACK, Volunteer, start
from tests.process.test_joining import NOW, desk
from tests.process.test_joining import found as found_desk

pytestmark = pytest.mark.process


def potluck(*words: object, stdin: str = "") -> tuple[int, list[dict], str]:
    command = [sys.executable, "-m", "core", *map(str, words)]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done.stderr


def test_a_link_is_shown_joined_and_left(tmp_path: Path) -> None:
    charter, home = found_desk(tmp_path), Home(tmp_path / "home")
    where = ["--home", home.directory, "--json"]

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            code, told, _ = await asyncio.to_thread(potluck, "join", "-", "--show", *where, stdin=f"{link}\n")
            assert code == 0
            (shown,) = told
            assert (shown["name"], shown["organiser"], shown["download_bytes"]) == ("n", "o", 6000)
            assert shown["fingerprint"].replace(" ", "") == charter.manifest.authority[:32]
            assert not home.collaborations_file.exists()
            code, _, err = await asyncio.to_thread(potluck, "join", link, *where)
            assert code == 2
            assert "--yes" in err
            code, told, _ = await asyncio.to_thread(potluck, "join", link, "--yes", *where)
            assert (code, told[-1]) == (0, {"event": "joined", "running": False, "name": "n"})
            assert Collaborations(home).current == link
            code, told, _ = await asyncio.to_thread(potluck, "collaborations", *where)
            assert [(each["name"], each["current"]) for each in told] == [("n", True)]

    asyncio.run(run())
    code, told, _ = potluck("leave", *where)
    assert code == 0
    assert Path(told[0]["folder"]).is_dir()
    assert Collaborations(home).current is None


def test_what_a_link_leads_to_is_proven(tmp_path: Path) -> None:
    charter = found_desk(tmp_path)

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            assert (await look(link, lambda: NOW)).manifest == charter.manifest
            with pytest.raises(NotTrusted, match="another collaboration"):
                await look(Link(link.host, link.port, b"\7" * 32, link.invite), lambda: NOW)
        with pytest.raises(UserProblem, match="No backbone answers"):
            await look(link, lambda: NOW)

    asyncio.run(run())


def test_restarted_engine_goes_to_the_current_collaboration(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    first, second = (Link("127.0.0.1", 1 + n, bytes([n]) * 32, "invitation") for n in range(2))
    Collaborations(home).keep(first)
    words = [
        "engine",
        "--home",
        str(home.directory),
        "--or-embedded",
        "--with-parent",
        "--stay",
        *LOOPBACK,
        "--port",
        "0",
    ]
    ada = Volunteer(home, start(words, tmp_path / "ada.log"))

    async def run() -> None:
        waiting = await ada.until(lambda news: news.verdict.reason == "backbone")
        assert "127.0.0.1:1 does not answer" in waiting.sentence
        Collaborations(home).keep(second)
        async with ControlClient.connect(home) as client:
            await client.call("restart")
        again = await ada.until(lambda news: "127.0.0.1:2 does not answer" in news.sentence)
        assert again.pid == waiting.pid
        async with ControlClient.connect(home) as client:
            await client.call("quit")
        assert await asyncio.to_thread(ada.process.wait, 10) == 0

    try:
        asyncio.run(run())
    finally:
        ada.kill()


def test_second_engine_on_a_home_changes_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    first, second = (Link("127.0.0.1", 1 + n, bytes([n]) * 32, "invitation") for n in range(2))
    words = ["engine", "--home", str(home.directory), "--with-parent", *LOOPBACK, "--port", "0"]
    ada = Volunteer(home, start([*words, "--join", str(first)], tmp_path / "ada.log"))
    try:
        asyncio.run(ada.until(lambda news: news.verdict.reason == "backbone"))
        code, _, err = potluck(*words, "--join", second)
        assert code == 2
        assert "already running" in err
        assert Collaborations(home).current == first
    finally:
        ada.kill()


def test_engine_remembers_the_link_that_it_was_started_with(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    link = Link("127.0.0.1", 1, b"\1" * 32, "invitation")
    words = ["engine", "--home", str(home.directory), "--with-parent", *LOOPBACK, "--port", "0"]
    for more in (["--join", str(link)], []):
        ada = Volunteer(home, start([*words, *more], tmp_path / "ada.log"))
        try:
            asyncio.run(ada.until(lambda news: "127.0.0.1:1 does not answer" in news.sentence))
        finally:
            ada.kill()
    assert Collaborations(home).leave("").link == link
    code, _, err = potluck(*words)
    assert code == 2
    assert "takes part in no collaboration" in err


def test_refusal_is_told_after_the_engine_has_ended(tmp_path: Path) -> None:
    charter, home = found_desk(tmp_path), Home(tmp_path / "home")
    where = ["--home", home.directory]

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            wrong = Link(link.host, link.port, link.manifest_id, "0" * len(link.invite))
            code, _, err = await asyncio.to_thread(potluck, "engine", "--join", wrong, *LOOPBACK, *where)
            assert code == 2
            assert err.count("This invitation is not valid") == 1
            code, told, _ = await asyncio.to_thread(potluck, "status", "--json", *where)
            assert (code, told[0]["reason"]) == (2, "refused")
            assert "This invitation is not valid" in told[0]["sentence"]
            _, told, _ = await asyncio.to_thread(potluck, "collaborations", "--json", *where)
            assert (told[0]["why_not"], told[0]["served"]) == ("refused", False)
            assert "This invitation is not valid" in told[0]["refusal"]["message"]
            code, told, _ = await asyncio.to_thread(potluck, "log", "--json", *where)
            assert code == 0
            assert any("This invitation is not valid" in each["notice"]["text"] for each in told)
            code, told, _ = await asyncio.to_thread(potluck, "join", link, "--show", "--json", *where)
            assert "This invitation is not valid" in told[0]["refusal"]["message"]
            await asyncio.to_thread(potluck, "join", link, "--yes", *where)
            _, told, _ = await asyncio.to_thread(potluck, "status", "--json", *where)
            assert told[0]["reason"] == "stopped"

    asyncio.run(run())


def test_several_settings_are_changed_at_once_or_none(tmp_path: Path) -> None:
    where = ["--home", tmp_path / "home", "--json"]
    code, told, _ = potluck("settings", "-", *where, stdin='{"name": "Ada", "threads": 2, "hours": "sat"}\n')
    assert code == 0
    assert {field: told[0]["settings"][field] for field in ("name", "threads", "hours")} == {
        "name": "Ada",
        "threads": 2,
        "hours": "sat",
    }
    for wrong in ('{"threads": 3, "name": "<b>"}', "[]", ""):
        code, told, _ = potluck("settings", "-", *where, stdin=f"{wrong}\n")
        assert (code, told[-1]["event"]) == (2, "problem")
    code, told, _ = potluck("settings", *where)
    assert (told[0]["settings"]["name"], told[0]["settings"]["threads"]) == ("Ada", 2)
