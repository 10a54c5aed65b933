"""A member starts while no backbone answers: by its pass, which is kept; links with several addresses."""

import asyncio
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from core.api.verdict import Verdict, sentence
from core.backbone.charter import Charter, read_charter_records, revoke
from core.backbone.kept_pass import FILE, MANIFEST, RECORDS
from core.backbone.link import Link, parse_link
from core.base.machine import Trace
from core.base.manifest import Manifest
from core.base.problems import NoSpace, NotTrusted
from core.base.signing import KeyPair
from core.joining import join
from core.joining.introduction import Impostor
from core.joining.join import JoinedCollaboration, Joining
from tests.process.test_joining import NOW, desk, found, joining
from tests.unit.authority.people import founders

pytestmark = pytest.mark.process
DAY_S = 86_400.0


async def begun(
    joining: Joining, at: float = NOW, waiting: Callable[[Verdict], None] = lambda _: None
) -> JoinedCollaboration:
    async with asyncio.timeout(20):
        return await joining.begin(username="Ada", device="", now=lambda: at, random=Random(1), waiting=waiting)


async def waits(joining: Joining, at: float = NOW) -> str:
    """What a member is told that waits for a backbone, the second time, once it has looked at what it kept."""
    told = asyncio.Queue[str]()
    beginning = asyncio.create_task(begun(joining, at, lambda verdict: told.put_nowait(str(sentence(verdict)))))
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
        got = await begun(joining(link, tmp_path, key), NOW + 3 * DAY_S)
        assert got.kept_until is not None
        assert NOW + 3 * DAY_S < got.kept_until <= NOW + 4 * DAY_S + 1
        assert (got.manifest, got.name, got.grant.contacts[0].port) == (charter.manifest, "Ada", 7)

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


def test_who_has_got_the_backbones_address_keeps_no_member_out(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    charter, other, key = found(tmp_path), found(tmp_path / "other"), KeyPair.generate()

    async def run() -> None:
        link = await member(charter, tmp_path, key)
        async with desk(other, Trace()) as wrong:
            there = replace(link, port=wrong.port)
            assert (await begun(joining(there, tmp_path, key))).kept_until is not None
            (tmp_path / "newcomer").mkdir()
            with pytest.raises(Impostor, match="another collaboration"):
                await begun(joining(there, tmp_path / "newcomer", KeyPair.generate()))

    asyncio.run(run())


def _damage(folder: Path) -> None:
    (folder / FILE).write_bytes((folder / FILE).read_bytes()[:-9])


def _lengthen(folder: Path) -> None:
    (folder / FILE).write_bytes(b"[" * 2_000_000)


def _damage_manifest(folder: Path) -> None:
    (folder / MANIFEST).write_bytes(b"{}")


def _lose_a_file(folder: Path) -> None:
    next((folder.parent / "blobs").iterdir()).write_bytes(b"another")


@pytest.mark.parametrize(
    ("change", "at", "said", "set_aside"),
    [
        (_damage, NOW, "does not answer", FILE),
        (_lengthen, NOW, "does not answer", FILE),
        (_damage_manifest, NOW, "does not answer", MANIFEST),
        (_lose_a_file, NOW, "does not answer", ""),
        (lambda _: None, NOW + 4 * DAY_S + 120, "does not hold now", ""),
        (lambda _: None, NOW - DAY_S, "does not hold now", ""),
        (lambda _: None, NOW + 3650 * DAY_S, "does not hold now", ""),
    ],
    ids=[
        "damaged",
        "long",
        "manifest damaged",
        "without a file",
        "ended in sleep",
        "clock behind",
        "clock ten years ahead",
    ],
)
def test_kept_pass_that_does_not_hold_waits_for_a_backbone(
    tmp_path: Path, change: Callable[[Path], None], at: float, said: str, set_aside: str
) -> None:
    charter, key = found(tmp_path), KeyPair.generate()

    async def run() -> None:
        link = await member(charter, tmp_path, key)
        change(tmp_path / "state")
        again = joining(link, tmp_path, key)
        assert said in await waits(again, at)
        aside = [path.name.partition(".damaged-")[0] for path in (tmp_path / "state").glob("*.damaged-*")]
        assert aside == [set_aside] * len(again.kept.notices) == [set_aside][: bool(set_aside)]
        assert all(("The kept pass" in str(said)) == (set_aside == FILE) for said in again.kept.notices)
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
        (tmp_path / "state" / RECORDS).write_bytes(read_charter_records(charter).to_bytes())
        with pytest.raises(NotTrusted, match="shut this computer out"):
            await begun(joining(link, tmp_path, key))

    asyncio.run(run())


def test_pass_from_before_the_rollover_waits_for_a_backbone(tmp_path: Path) -> None:
    """More people were shut out meanwhile than a list names, so that all passes of before hold no longer."""
    charter, key = found(tmp_path), KeyPair.generate()
    newer = founders(9, since=NOW + 1, by=charter.authority, manifest_id=charter.manifest.id)

    async def run() -> None:
        link = await member(charter, tmp_path, key)
        (tmp_path / "state" / RECORDS).write_bytes(newer)
        assert "does not hold now" in await waits(joining(link, tmp_path, key), NOW + DAY_S)

    asyncio.run(run())


def test_newest_records_are_kept_whatever_a_backbone_gives(tmp_path: Path) -> None:
    """A backbone with an earlier copy of the charter does not let in again whom peers have told to be out."""
    charter, key, eve = found(tmp_path), KeyPair.generate(), KeyPair.generate().peer_id
    newer, older = (
        founders(number, *out, by=charter.authority, manifest_id=charter.manifest.id)
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
        assert "shut out" in str(again.kept.notices[0])

    asyncio.run(run())


def test_link_of_forty_finds_the_backbone_among_them(tmp_path: Path) -> None:
    """Nobody is at its first and third address, another collaboration at the second; its fourth stands still."""
    (tmp_path / "other").mkdir()
    charter, other = found(tmp_path), found(tmp_path / "other")

    async def run() -> None:
        held, silent = await _silent_port()
        async with desk(other, Trace()) as wrong, desk(charter, Trace()) as right:
            at = (wrong.port, 2, silent, right.port, *range(3, 38))
            link = Link("127.0.0.1", 1, right.manifest_id, right.invite, tuple(("127.0.0.1", port) for port in at))
            newcomer = joining(parse_link(str(link)), tmp_path, KeyPair.generate())
            with held:
                async with asyncio.timeout(5):
                    assert (await begun(newcomer)).name == "Ada"
            ((passed, why),) = newcomer.passed_over.items()
            assert (passed, "another collaboration" in str(why)) == (wrong.where, True)
            two = Link("127.0.0.1", wrong.port, right.manifest_id, right.invite, (("::1", 1),))
            with pytest.raises(OSError, match=r"::1"):
                await joining(two, tmp_path, KeyPair.generate()).try_once(username="A", device="", now=lambda: NOW)

    asyncio.run(run())


@pytest.mark.parametrize("answer", ["a pass", "a refusal"])
def test_answer_that_comes_while_a_kept_pass_is_read_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    """The files are so large that the backbone has answered before all of them were read."""
    charter, key, trace = found(tmp_path), KeyPair.generate(), Trace()
    has_all = join.has_all

    def slowly(*words: Any) -> bool:
        end = time.monotonic() + 10
        while not trace["welcome.pass"] + trace["welcome.refused"] and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.3)
        return has_all(*words)

    async def run() -> None:
        await member(charter, tmp_path, key)
        monkeypatch.setattr(join, "ASK_S", 0.0)
        monkeypatch.setattr(join, "has_all", slowly)
        if answer == "a refusal":
            revoke(charter, [key.peer_id], now=NOW)
        async with desk(charter, trace) as link:
            if answer == "a pass":
                assert (await begun(joining(link, tmp_path, key))).kept_until is None
                return
            with pytest.raises(NotTrusted, match="shut this computer out"):
                await begun(joining(link, tmp_path, key))

    asyncio.run(run())


@pytest.mark.parametrize("wrong_s", [7 * DAY_S, -7 * DAY_S, 3650 * DAY_S])
@pytest.mark.parametrize("renewed", [False, True], ids=["as it came", "renewed"])
def test_wrong_clock_is_known_without_a_backbone(tmp_path: Path, wrong_s: float, *, renewed: bool) -> None:
    charter, key = found(tmp_path), KeyPair.generate()

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            first = joining(link, tmp_path, key, wall=lambda: NOW + wrong_s)
            assert (await begun(first, NOW + wrong_s)).clock_ahead_s == -wrong_s
            if renewed:  # the collaboration's time is known by now
                assert (await begun(first, NOW)).clock_ahead_s == 0
        got = await begun(joining(link, tmp_path, key), NOW + wrong_s + 60)
        assert got.kept_until is not None
        assert got.clock_ahead_s == -wrong_s
        put_right = await begun(joining(link, tmp_path, key), NOW + 60)
        assert put_right.kept_until is not None
        assert put_right.clock_ahead_s == 0

    asyncio.run(run())


@pytest.mark.parametrize(("wrong_s", "then_s", "ahead_s"), [(-7200.0, 0.0, 0.0), (7200.0, 7200.0, -7200.0)])
def test_clock_is_never_started_ahead(tmp_path: Path, wrong_s: float, then_s: float, ahead_s: float) -> None:
    """It was behind and has been put right, or is ahead as it was: the pass would hold either way."""
    charter, key = found(tmp_path), KeyPair.generate()

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            await begun(joining(link, tmp_path, key), NOW + wrong_s)
        assert (await begun(joining(link, tmp_path, key), NOW + then_s + 60)).clock_ahead_s == ahead_s

    asyncio.run(run())


def test_problem_of_this_computer_is_met_once(tmp_path: Path) -> None:
    charter, tried = found(tmp_path), list[str]()

    def unable(manifest: Manifest) -> None:
        tried.append(manifest.name)
        raise NoSpace("The disk is full.")

    async def run() -> None:
        async with desk(charter, Trace()) as one, desk(charter, Trace()) as two:
            link = replace(one, also=((two.host, two.port),))
            with pytest.raises(NoSpace):
                await joining(link, tmp_path, KeyPair.generate(), willing=unable).try_once(
                    username="A", device="", now=lambda: NOW
                )

    asyncio.run(run())
    assert tried == ["n"]


def test_backbone_is_called_where_it_has_answered(tmp_path: Path) -> None:
    charter, key = found(tmp_path), KeyPair.generate()

    async def run() -> None:
        async with desk(charter, Trace(), at="localhost") as link:
            got = await begun(joining(link, tmp_path, key))
        assert [(one.host, one.port) for one in got.grant.contacts] == [("127.0.0.1", 7), ("localhost", 7)]
        assert len({one.peer for one in got.grant.contacts}) == 1

    asyncio.run(run())
