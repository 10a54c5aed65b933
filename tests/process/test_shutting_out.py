"""Who is shut out gets no other pass from a real desk: by key for good, by invitation, by household."""

import asyncio
import builtins
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.__main__ import main
from core.authority.decisions import REVOKED_MAX
from core.backbone.admission_log import AdmissionLog, Newcomer
from core.backbone.charter import Charter, read_charter_records, revoke, revoked_keys
from core.backbone.link import Link
from core.base.ids import PeerId
from core.base.machine import Trace
from core.base.problems import NotTrusted, ShutOut
from core.base.signing import KeyPair
from core.joining import join as joins
from tests.process.test_joining import NOW, desk, found, joining

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.cli.organiser.revoke.ENTERING_S", 0.1)


class Door:
    """A desk, and people who come to it."""

    def __init__(self, charter: Charter, link: Link, folder: Path) -> None:
        self.charter, self.link, self.folder = charter, link, folder
        self.keys: dict[str, KeyPair] = {}

    async def enter(self, name: str) -> str:
        key = self.keys.setdefault(name, KeyPair.generate())
        newcomer = joining(self.link, self.folder / name, key)
        return (await newcomer.try_once(username=name, device="", now=lambda: NOW)).name

    async def organiser(self, *words: str) -> int:
        return await asyncio.to_thread(main, [words[0], "--charter", str(self.charter.folder), *words[1:]])


def at_desk(tmp_path: Path, visit: Callable[[Door], Any]) -> None:
    charter = found(tmp_path)

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            await visit(Door(charter, link, tmp_path))

    asyncio.run(run())


def test_revoked_key_stays_out_after_a_thousand_others(tmp_path: Path) -> None:
    async def visit(door: Door) -> None:
        assert [await door.enter(name) for name in ("eve", "ada")] == ["eve", "ada"]
        assert await door.organiser("revoke", "eve") == 0
        others = [PeerId(number.to_bytes(32, "big")) for number in range(REVOKED_MAX)]
        revoke(door.charter, others, now=NOW)
        assert door.keys["eve"].peer_id not in read_charter_records(door.charter).decisions.revoked
        with pytest.raises(ShutOut, match="shut this computer out"):
            await door.enter("eve")
        assert await door.enter("ada") == "ada"
        assert await door.organiser("revoke", "--undo", "eve") == 0
        assert await door.enter("eve") == "eve"

    at_desk(tmp_path, visit)


def test_household_that_is_shut_out_brings_no_other_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def visit(door: Door) -> None:
        for name in ("ada", "eve"):
            await door.enter(name)
        assert await door.organiser("revoke", "eve") == 0
        assert "--household" in capsys.readouterr().out, "the door that is open is named"
        assert await door.enter("eve again") == "eve again"
        assert await door.organiser("revoke", "--household", "127.0.0.1", "--since", "2020-01-01", "--yes") == 0
        for name in ("ada", "eve again", "eve once more"):
            with pytest.raises(ShutOut):
                await door.enter(name)
        assert await door.organiser("people") == 0
        assert "1 household is shut out" in capsys.readouterr().out
        assert await door.organiser("revoke", "--undo", "ada") == 0
        assert await door.enter("ada") == "ada", "who is in is no newcomer"
        assert await door.organiser("revoke", "--undo", "--yes", "--household", "ada") == 0
        assert await door.enter("eve once more") == "eve once more"

    at_desk(tmp_path, visit)


def test_invitation_is_shut_out_while_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetching, may_go_on, fetch = asyncio.Event(), asyncio.Event(), joins.fetch_blobs

    async def slowly(*words: Any, **named: Any) -> None:
        fetching.set()
        await may_go_on.wait()
        await fetch(*words, **named)

    async def visit(door: Door) -> None:
        for name in ("ada", "bob", "eve"):
            await door.enter(name)
        (one,) = door.charter.invitations
        monkeypatch.setattr(joins, "fetch_blobs", slowly)
        mallory = asyncio.create_task(door.enter("mallory"))
        await fetching.wait()
        assert await door.organiser("revoke", "--invitation", one.id, "--yes") == 0
        may_go_on.set()
        with pytest.raises(NotTrusted, match="not valid"):
            await mallory
        for name in ("ada", "bob", "eve"):
            with pytest.raises(ShutOut):
                await door.enter(name)
        assert await door.organiser("revoke", "--invitation", one.id) == 2, "nobody is left"

    at_desk(tmp_path, visit)


@pytest.mark.parametrize("answer", ["y", "n"])
def test_more_than_one_are_named_and_asked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)

    async def visit(door: Door) -> None:
        loop, asked = asyncio.get_running_loop(), list[str]()

        def ask(question: str) -> str:
            asked.append(question)
            asyncio.run_coroutine_threadsafe(door.enter("late"), loop).result(30)  # while a person thinks
            return answer

        monkeypatch.setattr(builtins, "input", ask)
        for name in ("ada", "bob"):
            await door.enter(name)
        (one,) = door.charter.invitations
        assert await door.organiser("revoke", "--invitation", one.id, "--since", "2020-01-01") == 0
        said = capsys.readouterr().out
        assert "ada: let in 2027-" in said
        assert "bob: let in 2027-" in said
        assert asked == ["Shut these 2 computers out? [y/N] "]
        assert len(AdmissionLog(door.charter.folder).admitted) == 3
        assert len(revoked_keys(door.charter)) == (3 if answer == "y" else 0)

    at_desk(tmp_path, visit)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Say who is meant"),
        (("ada", "--since", "2026-01-01"), "Say who is meant"),
        (("--invitation", "0", "--household", "ada"), "do not go together"),
        (("nobody",), "Nobody here is called"),
        (("--since", "tuesday"), "is not a date"),
        (("--since", "2099-01-01"), "Nobody came in so"),
        (("--invitation", "01234567"), "There is no invitation"),
        (("--household", "nobody"), "Nobody here is called"),
        (("--household", "203.0.113.9", "--undo"), "Nobody who is meant is shut out"),
        (("ada", "--undo"), "Nobody who is meant is shut out"),
        (("--since", "2020-01-01"), "Nobody can be asked here"),
    ],
)
def test_words_that_mean_nobody_shut_nobody_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    charter = found(tmp_path)
    log = AdmissionLog(charter.folder)
    for number, name in enumerate(("ada", "bob")):
        log.enter(Newcomer(PeerId(bytes([number]) * 32), name), invitation=charter.invitations[0].id, now=NOW)
    assert main(["revoke", "--charter", str(charter.folder), *words]) == 2
    assert said in capsys.readouterr().err
    assert not revoked_keys(charter)
