"""Several desks with an issuer each: any of them renews a pass, and one that was ended lets nobody in."""

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from core.api.moderation import ModerationAct, ModerationWish
from core.authority.acts import signed_wish
from core.authority.records import AuthorityRecords
from core.backbone import charter as charters
from core.backbone.admission_log import AdmissionLog, Newcomer
from core.backbone.admitted import Admitted
from core.backbone.charter import Charter, CharterRecords, keep_document, read_charter_records
from core.backbone.invitations import Invitation, InvitationUses, new_invitation, write_invitations
from core.backbone.link import Link
from core.backbone.log_copies import LogCopies
from core.base.ids import PeerId
from core.base.machine import Trace
from core.base.problems import NotTrusted
from core.base.signing import KeyPair
from core.joining.introduction import Impostor
from core.joining.join import JoinedCollaboration
from core.joining.other_logs import copy_log
from core.net.identity.issuers import issuers_of
from core.net.identity.passes import signed_pass
from tests.process.test_joining import NOW, desk, found, joining

pytestmark = pytest.mark.process


def stand_in(charter: Charter, folder: Path, key: KeyPair) -> Charter:
    """A charter beside the first one, with a key of its own."""
    folder.mkdir(parents=True)
    for name in (charters.MANIFEST, charters.BLOBS, "invitations.json"):
        (shutil.copytree if (charter.folder / name).is_dir() else shutil.copy)(charter.folder / name, folder / name)
    return Charter(folder, charter.manifest, key)


def without_invitations(charter: Charter) -> None:
    """Its one invitation has expired."""
    write_invitations(charter.folder, [new_invitation(uses_max=1, expires=NOW - 1)])


def decide(charter: Charter, act: ModerationAct, who: str, *others: Charter, **more: object) -> None:
    """The founder decides, and all these backbones have heard it."""
    records = read_charter_records(charter)
    document = signed_wish(records, charter.authority, NOW, ModerationWish(act=act, who=who, **more), lambda _: [])
    for one in (charter, *others):
        keep_document(one, read_charter_records(one), document)


async def asked(link: Link, folder: Path, key: KeyPair, name: str = "Ada") -> JoinedCollaboration:
    return await joining(link, folder, key).try_once(username=name, device="", now=lambda: NOW)


def issuer_of(got: JoinedCollaboration) -> PeerId:
    records = AuthorityRecords(got.manifest.authority_id, got.manifest.id)
    records.learn(got.records, NOW)
    return signed_pass(got.grant.certificate, issuers_of(records)).issuer


def test_desk_lets_nobody_in_before_moderators_have_named_it(tmp_path: Path) -> None:
    first, key = found(tmp_path), KeyPair.generate()
    second = stand_in(first, tmp_path / "second", key)

    async def run() -> None:
        async with desk(second, Trace()) as link:
            with pytest.raises(Impostor):
                await asked(link, tmp_path / "early", KeyPair.generate())
            decide(first, ModerationAct.BACKBONE, key.peer_id.hex(), second)
            got = await asked(link, tmp_path / "late", KeyPair.generate())
            assert got.admission(key).verifier().issuers.founder == first.authority.peer_id

    asyncio.run(run())


def test_member_renews_at_another_desk_when_its_own_is_gone(tmp_path: Path) -> None:
    """Its folder is gone, too: the pass alone tells the other desk who this is."""
    first, key, ada = found(tmp_path), KeyPair.generate(), KeyPair.generate()
    second = stand_in(first, tmp_path / "second", key)
    without_invitations(second)

    async def run() -> None:
        async with desk(second, Trace()) as there:
            async with desk(first, Trace()) as link:
                place = f"{there.host}:{there.port}"
                decide(first, ModerationAct.BACKBONE, key.peer_id.hex(), second, words="second", places=(place,))
                before = await asked(link, tmp_path, ada)
            shutil.rmtree(first.folder)
            after = await asked(link, tmp_path, ada)
            assert (after.name, after.account) == (before.name, before.account)
            assert after.grant.contacts != before.grant.contacts
            await asked(link, tmp_path, ada)
            with pytest.raises(NotTrusted, match="has expired"):
                await asked(there, tmp_path / "stranger", KeyPair.generate(), "Eve")

    asyncio.run(run())


def test_invitation_stays_at_the_desks_of_its_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, key, ada = found(tmp_path), KeyPair.generate(), KeyPair.generate()
    second = stand_in(first, tmp_path / "second", key)
    heard: list[str] = []
    valid, admit = InvitationUses.valid, AdmissionLog.admit

    def checked(log: InvitationUses, known: Sequence[Invitation], secret: str, **more: Any) -> Invitation:
        heard.append(secret)
        return valid(log, known, secret, **more)

    def admitted(log: AdmissionLog, who: Newcomer, *, secret: str, **more: Any) -> Admitted:
        heard.append(secret)
        return admit(log, who, secret=secret, **more)

    monkeypatch.setattr(InvitationUses, "valid", checked)
    monkeypatch.setattr(AdmissionLog, "admit", admitted)

    async def run() -> None:
        async with desk(second, Trace()) as there:
            async with desk(first, Trace()) as link:
                place = f"{there.host}:{there.port}"
                decide(first, ModerationAct.BACKBONE, key.peer_id.hex(), second, words="second", places=(place,))
                await asked(link, tmp_path, ada)
            assert {*heard} == {link.invite}
            heard.clear()
            await asked(link, tmp_path, ada)
            assert {*heard} == {""}

    asyncio.run(run())


@pytest.mark.parametrize("act", [ModerationAct.RETIRE, ModerationAct.STOLEN])
def test_ended_founder_lets_in_neither_newcomer_nor_member(tmp_path: Path, act: ModerationAct) -> None:
    """The thief runs the first desk from a copy of the charter, which knows nothing of that."""
    first, key, ada = found(tmp_path), KeyPair.generate(), KeyPair.generate()
    second = stand_in(first, tmp_path / "second", key)

    async def run() -> None:
        async with AsyncExitStack() as open_desks:
            there = await open_desks.enter_async_context(desk(second, Trace()))
            link = await open_desks.enter_async_context(desk(first, Trace()))
            place = f"{there.host}:{there.port}"
            decide(first, ModerationAct.BACKBONE, key.peer_id.hex(), second, words="second", places=(place,))
            await asked(link, tmp_path, ada)
            old = (first.folder / charters.RECORDS).read_bytes()
            decide(first, act, first.authority.peer_id.hex(), second)
            with pytest.raises(Impostor, match="ended this backbone"):
                await asked(link, tmp_path / "newcomer", KeyPair.generate(), "Bob")
            await asked(there, tmp_path, ada)
            (first.folder / charters.RECORDS).write_bytes(old)
            for _ in range(3):
                got = await asked(link, tmp_path, ada)
                assert issuer_of(got) == key.peer_id

    asyncio.run(run())


def test_somebody_elses_pass_lets_nobody_in(tmp_path: Path) -> None:
    first, key, ada = found(tmp_path), KeyPair.generate(), KeyPair.generate()
    second = stand_in(first, tmp_path / "second", key)
    without_invitations(second)
    decide(first, ModerationAct.BACKBONE, key.peer_id.hex(), second)

    async def run() -> None:
        async with desk(first, Trace()) as link:
            await asked(link, tmp_path, ada)
        async with desk(second, Trace()) as there:
            with pytest.raises(NotTrusted, match="has expired"):
                await asked(there, tmp_path, KeyPair.generate(), "Eve")  # with all that Ada has kept except her key
            assert (await asked(there, tmp_path, ada)).name == "Ada"

    asyncio.run(run())


async def copied(charter: Charter, issuer: KeyPair, link: Link) -> None:
    """What the desk of this charter does every some seconds."""
    records = CharterRecords(charter)
    copies = LogCopies(charter.authority, AdmissionLog(charter.folder), records.read)
    await copy_log(copies, issuer.peer_id, [(link.host, link.port)], lambda: NOW - 60)


def test_members_of_a_stolen_issuer_renew_by_the_copied_log(tmp_path: Path) -> None:
    """Those whom the thief lets in later are strangers there."""
    first, key, ada, eve = found(tmp_path), KeyPair.generate(), KeyPair.generate(), KeyPair.generate()
    second = stand_in(first, tmp_path / "second", key)
    without_invitations(second)

    async def run() -> None:
        async with desk(first, Trace()) as link:
            decide(first, ModerationAct.BACKBONE, key.peer_id.hex(), second)
            await asked(link, tmp_path, ada)
            await copied(second, first.authority, link)
            await asked(link, tmp_path / "eve", eve, "Eve")
            old = (first.folder / charters.RECORDS).read_bytes()
            decide(first, ModerationAct.STOLEN, first.authority.peer_id.hex(), second)
            (first.folder / charters.RECORDS).write_bytes(old)
            with pytest.raises(Impostor):
                await copied(second, first.authority, link)
        async with desk(second, Trace()) as there:
            renewed = await asked(there, tmp_path, ada)
            assert (renewed.name, issuer_of(renewed)) == ("Ada", key.peer_id)
            with pytest.raises(NotTrusted, match="has expired"):
                await asked(there, tmp_path / "eve", eve, "Eve")

    asyncio.run(run())


def test_log_is_copied_from_the_issuer_that_is_meant_alone(tmp_path: Path) -> None:
    first, key, third = found(tmp_path), KeyPair.generate(), KeyPair.generate()
    second = stand_in(first, tmp_path / "second", key)
    for one in (key, third):
        decide(first, ModerationAct.BACKBONE, one.peer_id.hex(), second)

    async def run() -> None:
        async with desk(first, Trace()) as link:
            await asked(link, tmp_path, KeyPair.generate())
            with pytest.raises(Impostor):
                await copied(second, third, link)
            await copied(second, first.authority, link)
        assert len(AdmissionLog(second.folder).admitted) == 1

    asyncio.run(run())


@pytest.mark.parametrize(
    ("told", "opened"),
    [("https://pot.example/", "https://pot.example"), ("http://pot.example", ""), ("file:///etc/passwd", "")],
)
def test_browser_opens_only_a_page_with_https(tmp_path: Path, told: str, opened: str) -> None:
    async def run() -> None:
        async with desk(found(tmp_path), Trace(), site=told) as link:
            newcomer = joining(link, tmp_path, KeyPair.generate())
            joined = await newcomer.try_once(username="Ada", device="", now=lambda: NOW)
        assert joined.page == opened

    asyncio.run(run())
