"""A member starts while no backbone answers: by its pass, which is kept; links with several addresses."""

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from core.api.verdict import Verdict, sentence
from core.backbone.charter import Charter, read_charter_records, revoke
from core.backbone.join import JoinedCollaboration, Joining
from core.backbone.kept_pass import FILE, RECORDS
from core.backbone.link import Link, parse_link
from core.base.authority_records import AuthorityRecords, sign_records
from core.base.problems import NotTrusted
from core.base.signing import KeyPair
from core.base.trace import Trace
from tests.process.test_joining import NOW, desk, found, joining

pytestmark = pytest.mark.process
DAY_S = 86_400.0


async def begun(
    joining: Joining, at: float = NOW, waiting: Callable[[Verdict], None] = lambda _: None
) -> JoinedCollaboration:
    return await joining.begin(username="Ada", device="", now=lambda: at, random=Random(1), waiting=waiting)


async def waits(joining: Joining, at: float = NOW) -> str:
    """What a member is told that waits for a backbone, the second time, once it has looked at what it kept."""
    told = asyncio.Queue[str]()
    beginning = asyncio.create_task(begun(joining, at, lambda verdict: told.put_nowait(sentence(verdict))))
    try:
        async with asyncio.timeout(20):
            await told.get()
            return await told.get()
    finally:
        beginning.cancel()


async def member(charter: Charter, folder: Path, key: KeyPair) -> Link:
    """Let a key in; returns the link, at which nobody answers any more."""
    async with desk(charter, Trace()) as link:
        assert (await begun(joining(link, folder, key))).kept_until is None
    return link


def test_member_takes_part_by_its_kept_pass_without_a_backbone(tmp_path: Path) -> None:
    charter, key = found(tmp_path), KeyPair.generate()

    async def run() -> None:
        link = await member(charter, tmp_path, key)
        got = await begun(joining(link, tmp_path, key), NOW + DAY_S / 2)
        assert got.kept_until is not None
        assert NOW + DAY_S / 2 < got.kept_until <= NOW + DAY_S + 1
        assert (got.manifest, got.name, got.contacts[0].port) == (charter.manifest, "Ada", 7)

    asyncio.run(run())
    assert (tmp_path / "state" / FILE).stat().st_mode & 0o077 == 0


async def _silent_port() -> tuple[socket.socket, int]:
    """A port that takes connections and says nothing, as a backbone does whose computer stands still."""
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    held.listen()
    return held, int(held.getsockname()[1])


def test_backbone_that_stands_still_is_not_waited_for(tmp_path: Path) -> None:
    charter, key = found(tmp_path), KeyPair.generate()

    async def run() -> None:
        link = await member(charter, tmp_path, key)
        held, port = await _silent_port()
        with held:
            async with asyncio.timeout(6):
                got = await begun(joining(Link("127.0.0.1", port, link.manifest_id, link.invite), tmp_path, key))
        assert got.kept_until is not None

    asyncio.run(run())


def _damage(folder: Path) -> None:
    (folder / FILE).write_bytes((folder / FILE).read_bytes()[:-9])


def _lengthen(folder: Path) -> None:
    (folder / FILE).write_bytes(b"[" * 2_000_000)


def _lose_a_file(folder: Path) -> None:
    next((folder.parent / "blobs").iterdir()).write_bytes(b"another")


@pytest.mark.parametrize(
    ("change", "at", "said", "set_aside"),
    [
        (_damage, NOW, "does not answer", True),
        (_lengthen, NOW, "does not answer", True),
        (_lose_a_file, NOW, "does not answer", False),
        (lambda _: None, NOW + 2 * DAY_S, "does not hold now", False),
        (lambda _: None, NOW - DAY_S, "does not hold now", False),
        (lambda _: None, NOW + 3650 * DAY_S, "does not hold now", False),
    ],
    ids=["damaged", "long", "without a file", "ended in sleep", "clock behind", "clock ten years ahead"],
)
def test_kept_pass_that_does_not_hold_waits_for_a_backbone(
    tmp_path: Path, change: Callable[[Path], None], at: float, said: str, *, set_aside: bool
) -> None:
    charter, key = found(tmp_path), KeyPair.generate()

    async def run() -> None:
        link = await member(charter, tmp_path, key)
        change(tmp_path / "state")
        again = joining(link, tmp_path, key)
        assert said in await waits(again, at)
        assert bool(list((tmp_path / "state").glob(f"{FILE}.damaged-*"))) == set_aside == bool(again.kept.notices)
        async with desk(charter, Trace()) as link:
            assert (await begun(joining(link, tmp_path, key), at)).kept_until is None
        assert (await begun(joining(link, tmp_path, key), NOW)).kept_until is not None

    asyncio.run(run())


@pytest.mark.parametrize("others", ["collaboration", "key"])
def test_pass_of_another_is_set_aside(tmp_path: Path, others: str) -> None:
    (tmp_path / "other").mkdir()
    charter, other, key = found(tmp_path), found(tmp_path / "other"), KeyPair.generate()

    async def run() -> None:
        link = await member(charter, tmp_path, key)
        if others == "collaboration":
            await member(other, tmp_path / "other", key)
        else:
            await member(charter, tmp_path / "other", KeyPair.generate())
        (tmp_path / "other" / "state" / FILE).replace(tmp_path / "state" / FILE)
        again = joining(link, tmp_path, key)
        assert "does not answer" in await waits(again)
        assert len(again.kept.notices) == 1

    asyncio.run(run())


def test_revoked_member_does_not_begin_by_its_kept_pass(tmp_path: Path) -> None:
    charter, key = found(tmp_path), KeyPair.generate()

    async def run() -> None:
        link = await member(charter, tmp_path, key)
        revoke(charter, [key.peer_id], now=NOW)
        (tmp_path / "state" / RECORDS).write_bytes(read_charter_records(charter)[0])
        with pytest.raises(NotTrusted, match="shut this computer out"):
            await begun(joining(link, tmp_path, key))

    asyncio.run(run())


def test_newest_records_are_kept_whatever_a_backbone_gives(tmp_path: Path) -> None:
    """A backbone with an earlier copy of the charter does not let in again whom peers have told to be out."""
    charter, key, eve = found(tmp_path), KeyPair.generate(), KeyPair.generate().peer_id
    newer, older = (
        sign_records(AuthorityRecords(number=number, revoked=out), charter.authority, charter.manifest.id)
        for number, out in ((9, (eve,)), (8, ()))
    )

    async def run() -> None:
        (charter.folder / RECORDS).write_bytes(older)
        async with desk(charter, Trace()) as link:
            assert (await begun(joining(link, tmp_path, key))).records == older
            (tmp_path / "state" / RECORDS).write_bytes(newer)
            assert (await begun(joining(link, tmp_path, key))).records == newer
        (tmp_path / "state" / RECORDS).write_bytes(newer[:-1] + bytes([newer[-1] ^ 1]))
        again = joining(link, tmp_path, key)
        assert (await begun(again)).records == older
        assert "shut out" in again.kept.notices[0]

    asyncio.run(run())


def test_link_of_several_finds_the_backbone_among_them(tmp_path: Path) -> None:
    """Nobody is at its first address, another collaboration at the second; its third stands still."""
    (tmp_path / "other").mkdir()
    charter, other = found(tmp_path), found(tmp_path / "other")

    async def run() -> None:
        held, silent = await _silent_port()
        async with desk(other, Trace()) as wrong, desk(charter, Trace()) as right:
            at = (wrong.port, silent, right.port)
            link = Link("127.0.0.1", 1, right.manifest_id, right.invite, tuple(("127.0.0.1", port) for port in at))
            newcomer = joining(parse_link(str(link)), tmp_path, KeyPair.generate())
            with held:
                async with asyncio.timeout(5):
                    assert (await begun(newcomer)).name == "Ada"
            assert "another collaboration" in newcomer.passed_over[wrong.where]
            two = Link("127.0.0.1", wrong.port, right.manifest_id, right.invite, (("::1", 1),))
            with pytest.raises(OSError, match=r"::1"):
                await joining(two, tmp_path, KeyPair.generate()).try_once(username="A", device="", now=lambda: NOW)

    asyncio.run(run())
