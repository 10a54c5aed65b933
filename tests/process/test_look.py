"""A look at a link before joining, at a real welcome desk: what is shown, and each way in which it leads nowhere."""

import asyncio
import dataclasses
import socket
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from core.api.verdict import Verdict, sentence
from core.backbone.charter import Charter
from core.backbone.invitations import new_invitation, write_invitations
from core.backbone.link import Link
from core.base.machine import Trace
from core.base.signing import KeyPair
from core.base.wire import PROTOCOL
from core.joining.look import LinkProblem, look
from core.storage.paths import Home
from tests.process.test_collaborations import potluck
from tests.process.test_joining import NOW, desk, joining
from tests.process.test_joining import found as found_desk

pytestmark = pytest.mark.process


def invited(charter: Charter, link: Link, **limits: float) -> Link:
    one = new_invitation(**limits)
    write_invitations(charter.folder, [*charter.invitations, one])
    return dataclasses.replace(link, invite=one.secret)


def seen(charter: Charter, make: Callable[[Link], Link], *, member: bool = False) -> str:
    """The code of the look at the link that `make` makes of a good one; empty: it leads to the collaboration."""

    async def run() -> str:
        async with desk(charter, Trace()) as link:
            try:
                found = await look(make(link), lambda: NOW, member=member)
            except LinkProblem as problem:
                return problem.code if f"{problem.message[-1]}{problem.hint[-1]}" == ".." else "no sentence"
            assert found.manifest == charter.manifest
            return ""

    return asyncio.run(run())


def test_good_link_is_no_problem(tmp_path: Path) -> None:
    assert seen(found_desk(tmp_path), lambda link: link) == ""


def test_expired_and_withdrawn_invitations_are_told_apart(tmp_path: Path) -> None:
    charter = found_desk(tmp_path)
    assert seen(charter, lambda link: invited(charter, link, expires=NOW - 1)) == "link.expired"
    assert seen(charter, lambda link: invited(charter, link, expires=NOW + 1)) == ""
    assert seen(charter, lambda link: dataclasses.replace(link, invite="guess")) == "link.withdrawn"


def test_member_may_look_after_its_invitation_ended(tmp_path: Path) -> None:
    charter = found_desk(tmp_path)
    assert seen(charter, lambda link: invited(charter, link, expires=NOW - 1), member=True) == ""


def test_used_up_invitation_is_full(tmp_path: Path) -> None:
    charter = found_desk(tmp_path)

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            one = invited(charter, link, uses_max=1)
            await look(one, lambda: NOW)
            newcomer = joining(one, tmp_path, KeyPair.generate())
            await newcomer.try_once(username="Ada", device="", now=lambda: NOW)
            with pytest.raises(LinkProblem) as told:
                await look(one, lambda: NOW)
            assert told.value.code == "link.full"

    asyncio.run(run())


def test_link_without_invitation_leads_nowhere_where_nobody_signs_in(tmp_path: Path) -> None:
    charter = found_desk(tmp_path)
    assert seen(charter, lambda link: dataclasses.replace(link, invite="")) == "link.no_invitation"
    assert seen(charter, lambda link: dataclasses.replace(link, invite=""), member=True) == ""


@pytest.mark.parametrize(("protocol", "code"), [(PROTOCOL - 1, "link.newer"), (PROTOCOL + 1, "link.older")])
def test_other_version_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: int, code: str) -> None:
    monkeypatch.setattr("core.joining.look.PROTOCOL", protocol)
    assert seen(found_desk(tmp_path), lambda link: link) == code


def test_desk_that_cannot_read_its_charter_is_closed(tmp_path: Path) -> None:
    charter = found_desk(tmp_path)

    def spoil(link: Link) -> Link:
        (charter.folder / "invitations.json").write_bytes(b"{")
        return link

    assert seen(charter, spoil) == "link.closed"


def test_nobody_at_the_address_is_unreachable(tmp_path: Path) -> None:
    charter = found_desk(tmp_path)
    assert seen(charter, lambda link: dataclasses.replace(link, port=1)) == "link.unreachable"


def test_show_prints_the_estimate_and_changes_nothing(tmp_path: Path) -> None:
    charter, home = found_desk(tmp_path), Home(tmp_path / "home")

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            where = ["--home", home.directory, "--json"]
            code, (told,), _ = await asyncio.to_thread(potluck, "join", "-", "--show", *where, stdin=f"{link}\n")
            assert code == 0
            assert (told["computers"], told["folder"]) == (0, "")
            assert told["estimate"]["share"] == 1.0
            assert told["estimate"]["memory_bytes"] > 700_000_000
            assert told["estimate"]["day_bytes"] is None  # nobody computes: how fast it goes is not known
            assert told["computer"]["cores"] >= told["computer"]["threads"] >= 1
            assert not home.directory.exists()
            _, _, err = await asyncio.to_thread(potluck, "join", link, "--show", "--home", home.directory)
            assert err.startswith("Asking what the link leads to\n"), "seconds pass until it is known"

    asyncio.run(run())


def test_newcomer_reads_that_the_links_name_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    class Told(Exception):
        pass

    def waiting(verdict: Verdict) -> None:
        raise Told(str(sentence(verdict)))

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setattr("core.joining.join.has_way", lambda _: True)
    newcomer = joining(Link("nobody.invalid", 4000, "ab" * 32, "invitation"), tmp_path, KeyPair.generate())
    with pytest.raises(Told, match=r"No computer is called nobody\.invalid:4000, as the link says"):
        asyncio.run(newcomer.join(username="Ada", device="", now=lambda: NOW, random=Random(1), waiting=waiting))
