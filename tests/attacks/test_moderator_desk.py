"""Attacks on what a desk tells moderators, over TLS: it is for them alone, and not too often."""

import asyncio
import contextlib
import shutil
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from core.api.account import AccountWish
from core.api.moderation import ModerationAct, ModerationWish
from core.authority.acts import signed_wish
from core.authority.changes import new_decisions
from core.authority.decisions import GoBack
from core.authority.view import proposal_id
from core.backbone.charter import Charter, keep_document, read_charter_records
from core.backbone.desk_messages import MODERATOR_ANSWERS, ModeratorAct, ModeratorAnswer, ModeratorQuestion
from core.backbone.fresh_requests import SIGNED_S, FreshRequests
from core.backbone.kept_states import STATES, way_back
from core.backbone.moderators.audit_log import ACTOR_DAILY, AuditHeads, AuditLog
from core.backbone.moderators.moderator_desk import ASKED_BURST, PageDesk
from core.base.ids import PeerId
from core.base.problems import BadInput, Busy, NotTrusted
from core.base.signing import KeyPair
from core.base.state_header import ORIGIN_BYTES
from core.base.wire import PROTOCOL
from core.engine.moderation import Moderation
from core.joining.account import OwnAccount
from core.joining.signed_questions import ask_moderator
from core.net.clock import Clock
from tests.attacks.test_accounts import Street, on, refused
from tests.process.test_joining import NOW, found
from tests.unit.backbone.test_going_back import with_copies
from tests.unit.net.people import id_of, keys

pytestmark = pytest.mark.process


def moderated(street: Street) -> None:
    """Ada and Ben are moderators beside the founder, each of them alone.  The charter has two copies."""
    shutil.copytree(
        with_copies(street.folder / "copies", street.charter.manifest) / STATES, street.charter.folder / STATES
    )
    for name in ("ada", "ben"):
        records = read_charter_records(street.charter)
        wish = ModerationWish(act=ModerationAct.ADD, who=id_of(name).hex(), words=name, count=1)
        find = lambda said: [bytes.fromhex(said)]  # noqa: E731
        keep_document(
            street.charter,
            records,
            signed_wish(records, street.charter.authority, Clock().now(), wish, find),  # type: ignore[arg-type]
        )


async def copies(street: Street, by: KeyPair, number: int = 0) -> ModeratorAnswer:
    return (await ask_moderator(street.link, by, lambda: NOW, ModeratorAct.COPIES, number))[1]


def question(street: Street, desk: PeerId, *, by: str, key: str = "", at: float = NOW, run: bytes = b"") -> bytes:
    asked = ModeratorQuestion(
        act=ModeratorAct.COPIES, key=id_of(key or by), number=1, desk=desk, at=at, nonce=b"n" * 16, protocol=PROTOCOL
    )
    signature = keys(by).sign(asked.signed_bytes(run or street.charter.manifest.id))
    return msgspec.json.encode(msgspec.structs.replace(asked, signature=signature))


def test_moderator_without_the_copies_learns_how_to_go_back(tmp_path: Path) -> None:
    async def visit(street: Street) -> None:
        moderated(street)
        listed = await copies(street, keys("ada"))
        assert listed.copies is not None
        assert [(one.number, one.epoch, one.chosen) for one in listed.copies.copies] == [(1, 1, False), (2, 2, False)]
        assert listed.back is None
        back = (await copies(street, keys("ada"), 1)).back
        again = (await copies(street, keys("ben"), 1)).back
        assert back == again, "two who propose the same say the same"
        assert isinstance(back, GoBack)
        mine = way_back(street.charter.folder / STATES, 1, street.charter.manifest.id)
        assert back == mine, "at each backbone the same"
        records = read_charter_records(street.charter)
        wish = ModerationWish(act=ModerationAct.GO_BACK, who="1")
        document = signed_wish(records, street.charter.authority, Clock().now(), wish, lambda _: (), back)
        keep_document(street.charter, records, document)
        assert records.decisions.back == back
        once_more = (await copies(street, keys("ada"), 1)).back
        assert once_more is not None
        assert once_more.root[-ORIGIN_BYTES:] != back.root[-ORIGIN_BYTES:], "each going back has an origin of its own"
        await refused(copies(street, keys("ada"), 9), "There is no copy 9")

    on(tmp_path, visit)


def test_others_learn_nothing_of_copies(tmp_path: Path) -> None:
    async def visit(street: Street) -> None:
        moderated(street)
        await street.enter("eve")
        with pytest.raises(NotTrusted, match="not a moderator"):
            await copies(street, street.key("eve"), 1)
        assert not list((street.charter.folder / STATES).glob(".root*"))
        desk, _ = await ask_moderator(street.link, keys("ben"), lambda: NOW, ModeratorAct.AUDIT)
        for body in (
            question(street, desk, by="eve", key="ada"),
            question(street, desk, by="ada", at=NOW - SIGNED_S - 1),
            question(street, desk, by="ada", run=b"another collaboration"),
            question(street, id_of("another backbone"), by="ada"),
        ):
            assert (await street.post("/v1/moderator", body))[0] == 403
        status, answer = await street.post("/v1/moderator", question(street, desk, by="ada"))
        assert status == 200
        assert MODERATOR_ANSWERS.decode(answer).back is not None
        status, answer = await street.post("/v1/moderator", question(street, desk, by="ada"))
        assert (status, b"made already" in answer) == (403, True), "a repeated question"
        for _ in range(ASKED_BURST - 1):
            await copies(street, keys("ada"))
        await refused(copies(street, keys("ada")), "too often")

    on(tmp_path, visit)


def test_answer_about_another_copy_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backbone tells a moderator who asks for copy 1 of another one."""

    async def visit(street: Street) -> None:
        moderated(street)
        desk = "core.backbone.moderators.moderator_desk.way_back"
        monkeypatch.setattr(desk, lambda folder, _, *more: way_back(folder, 2, *more))
        await refused(copies(street, keys("ada"), 1), "another copy than was asked for")

    on(tmp_path, visit)


def test_backbone_whose_key_was_stolen_is_not_asked(tmp_path: Path) -> None:
    """The thief answers at its address, and tells nobody what the moderators have said since."""

    async def visit(street: Street) -> None:
        moderated(street)
        await copies(street, keys("ada"))
        records, now = read_charter_records(street.charter), Clock().now()
        for act, who in ((ModerationAct.BACKBONE, id_of("another")), (ModerationAct.STOLEN, records.seal.founder)):
            wish = ModerationWish(act=act, who=who.hex(), words="another", places=["127.0.0.1:9"])
            assert records.take(signed_wish(records, keys("ada"), now, wish, lambda _: ()), now)
        here = SimpleNamespace(key=keys("ada"), clock=SimpleNamespace(now=lambda: NOW))
        part = SimpleNamespace(authority=records, place=(street.link, None))
        await refused(Moderation(here, lambda: part).copies(), "have ended this backbone")  # type: ignore[arg-type, return-value]
        account = OwnAccount(keys("ada"), lambda: NOW, lambda: (street.link, ""), records.to_bytes)
        await refused(account.act(AccountWish()), "have ended this backbone")

    on(tmp_path, visit)


def chain(charter: Charter, lines: int) -> None:
    log = AuditLog(charter.folder, charter.manifest.id)
    log.append_all([(f"moderator {n // ACTOR_DAILY}", "did", str(n), "") for n in range(lines)], NOW)


async def asked(street: Street) -> PeerId:
    """The backbone that a moderator asks."""
    return (await ask_moderator(street.link, keys("ada"), lambda: NOW, ModeratorAct.AUDIT))[0]


def auditor(street: Street, folder: Path) -> Moderation:
    records = read_charter_records(street.charter)
    options = SimpleNamespace(home=SimpleNamespace(state=lambda _: folder))
    here = SimpleNamespace(key=keys("ada"), clock=SimpleNamespace(now=lambda: NOW), options=options)
    joined = SimpleNamespace(manifest=street.charter.manifest)
    part = SimpleNamespace(authority=records, place=(street.link, None), joined=joined)
    return Moderation(here, lambda: part)  # type: ignore[arg-type, return-value]


def test_late_moderator_reads_the_end_of_a_long_chain(tmp_path: Path) -> None:
    """A desk gives a hundred lines an answer, and ten answers at once."""
    charter = found(tmp_path)
    chain(charter, 1500)

    async def visit(street: Street) -> None:
        moderated(street)
        seen = await auditor(street, tmp_path).audit()
        assert (seen.count, seen.changed, [line.n for line in seen.lines]) == (1500, 0, [*range(1451, 1501)])

    on(tmp_path, visit, charter)


def test_moderator_who_was_away_reads_a_long_chain_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charter = found(tmp_path)
    chain(charter, 1500)

    async def visit(street: Street) -> None:
        moderated(street)
        moderation = auditor(street, tmp_path)
        first = AuditLog(charter.folder, charter.manifest.id).after(0)[:1]
        AuditHeads(tmp_path / "audit.json", charter.manifest.id).remember(await asked(street), first, NOW)
        await refused(moderation.audit(), "asked too often")
        monkeypatch.setattr(FreshRequests, "take", lambda *_, **__: None)  # two minutes later
        assert (await moderation.audit()).changed == 0
        seen = await moderation.audit()
        assert (seen.lines[-1].n, seen.changed) == (1500, 0)

    on(tmp_path, visit, charter)


def test_backbone_keeps_no_moderator_reading_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It tells that there are two billion lines, and gives the same ones again and again, or one at a time."""
    charter = found(tmp_path)
    chain(charter, 30)
    monkeypatch.setattr(FreshRequests, "take", lambda *_, **__: None)
    monkeypatch.setattr(AuditLog, "count", property(lambda _: 2**31 - 1))
    lines = AuditLog(charter.folder, charter.manifest.id).after(0)

    async def visit(street: Street) -> None:
        moderated(street)
        moderation = auditor(street, tmp_path)
        AuditHeads(tmp_path / "audit.json", charter.manifest.id).remember(await asked(street), lines[:1], NOW)
        for given in (lambda _, n: lines, lambda _, n: [msgspec.structs.replace(lines[0], n=n + 1)]):
            monkeypatch.setattr(AuditLog, "after", given)
            async with asyncio.timeout(10):
                with contextlib.suppress(Busy):
                    assert (await moderation.audit()).changed

    on(tmp_path, visit, charter)


def test_way_back_to_no_copy_is_not_signed(tmp_path: Path) -> None:
    """Its digest says nothing to people, and anybody may give the file that has it."""

    async def visit(street: Street) -> None:
        moderated(street)
        records, now = read_charter_records(street.charter), Clock().now()
        agree = ModerationWish(act=ModerationAct.AGREE, count=2)
        two = signed_wish(records, street.charter.authority, now, agree, lambda _: ())
        keep_document(street.charter, records, records.seal.countersign(two, keys("ada")))
        assert records.roles.threshold == 2
        back = (await copies(street, keys("ada"), 1)).back
        assert back is not None
        here = SimpleNamespace(key=keys("ben"), clock=SimpleNamespace(now=lambda: NOW))
        learn = lambda signed: records.learn(signed, now)  # noqa: E731
        part = SimpleNamespace(authority=records, place=(street.link, None), learn_records=learn)
        ben = Moderation(here, lambda: part)  # type: ignore[arg-type, return-value]
        own = msgspec.structs.replace(back, digest=bytes(32))
        for second, wanted in enumerate((own, msgspec.structs.replace(own, epoch=3), back)):
            proposal = new_decisions(records, keys("ada"), now + second, back=wanted)
            assert records.take(proposal, now)
            signing = ben.act(ModerationWish(act=ModerationAct.SIGN, who=proposal_id(proposal)))
            if wanted == back:
                assert (await signing).done
            else:
                await refused(signing, "does not come from any copy")
        assert records.decisions.back == back

    on(tmp_path, visit)


def test_slow_copy_is_answered_when_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def visit(street: Street) -> None:
        moderated(street)
        monkeypatch.setattr("core.backbone.moderators.moderator_desk.PATIENCE_S", 0.0)
        await refused(copies(street, keys("ada"), 1), "reads that copy")
        monkeypatch.setattr("core.backbone.moderators.moderator_desk.PATIENCE_S", 10.0)
        assert (await copies(street, keys("ada"), 1)).back is not None
        shutil.rmtree(street.charter.folder / STATES)
        with pytest.raises(BadInput):
            await copies(street, keys("ada"), 2)

    on(tmp_path, visit)


def test_lying_backbone_opens_no_other_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def visit(street: Street) -> None:
        moderated(street)

        async def page() -> str:
            return (await ask_moderator(street.link, keys("ada"), lambda: NOW, ModeratorAct.PAGE))[1].page

        await refused(page(), "no page on which moderators sign in")
        for address, holds in (
            ("https://potluck.example.org/m/in?code=x", True),
            ("http://127.0.0.1:8420/m/in?code=x", True),
            ("http://potluck.example.org/m/in?code=x", False),
            ("https://potluck.example.org/", False),
            ("file:///m/in", False),
            ("javascript:/m/in", False),
            ("https://[/m/in", False),
            ("https://a.org/m/in?\x1b[2J", False),
        ):
            monkeypatch.setattr(PageDesk, "way_in", lambda *_, said=address: said)
            if holds:
                assert await page() == address
            else:
                await refused(page(), "an address at which no page can be")

    on(tmp_path, visit)
