"""Attacks on accounts of several computers, at a real welcome desk over TLS."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from core.api.account import AccountAct
from core.api.moderation import ModerationAct, ModerationWish
from core.authority.acts import signed_wish
from core.backbone.accounts import KEYS_MAX
from core.backbone.admission_log import AdmissionLog
from core.backbone.charter import Charter, keep_document, read_charter_records, revoke
from core.backbone.desk_messages import GRANTS, AccountAnswer, AccountRequest, PassRequest
from core.backbone.fresh_requests import SIGNED_S
from core.backbone.link import Link
from core.base.ids import PeerId, account_of
from core.base.machine import Trace
from core.base.problems import NotTrusted, Problem, ShutOut
from core.base.signing import KeyPair
from core.base.wire import PROTOCOL
from core.joining.account import ask_account
from core.joining.introduction import introduce, session_with, trusting
from core.ledger.board import Board
from core.net.identity.issuers import Issuers
from core.net.identity.passes import verify_pass
from tests.process.test_joining import NOW, desk, found, joining

pytestmark = pytest.mark.process


class Street:
    """A desk, and people with computers."""

    def __init__(self, charter: Charter, link: Link, folder: Path) -> None:
        self.charter, self.link, self.folder = charter, link, folder
        self.keys: dict[str, KeyPair] = {}
        self.desk = PeerId(bytes(32))

    def key(self, name: str) -> KeyPair:
        return self.keys.setdefault(name, KeyPair.generate())

    async def enter(self, computer: str, link: Link | None = None) -> str:
        """A computer asks for a pass; returns the name in it."""
        newcomer = joining(link or self.link, self.folder / computer, self.key(computer))
        joined = await newcomer.try_once(username=computer, device=computer, now=lambda: NOW)
        self.desk = joined.backbone or self.desk
        return joined.name

    async def ask(self, computer: str, act: AccountAct = AccountAct.ADD, *, ended: str = "") -> AccountAnswer:
        gone = self.key(ended).peer_id if ended else None
        return await ask_account(self.link, self.key(computer), lambda: NOW, act, ended=gone)

    async def device_link(self, computer: str) -> Link:
        return replace(self.link, invite=(await self.ask(computer)).invite)

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """What the desk answers to these bytes."""
        introduced = await introduce(self.link, lambda: NOW)
        context = trusting(introduced.issuers, introduced.verifier(lambda: NOW))
        async with session_with(self.link, context) as session, session.post(path, data=body) as response:
            return response.status, await response.read()

    def signed(self, computer: str, *, at: float = NOW, by: str = "", act: AccountAct = AccountAct.ADD) -> bytes:
        key = self.key(computer).peer_id
        asked = AccountRequest(act=act, key=key, desk=self.desk, at=at, nonce=b"n" * 16, protocol=PROTOCOL)
        signature = self.key(by or computer).sign(asked.signed_bytes(self.charter.manifest.id))
        return msgspec.json.encode(msgspec.structs.replace(asked, signature=signature))


def on(tmp_path: Path, visit: Callable[[Street], Awaitable[None]], charter: Charter | None = None) -> Charter:
    charter = charter or found(tmp_path)

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            await visit(Street(charter, link, tmp_path))

    asyncio.run(run())
    return charter


async def refused(asking: Awaitable[object], *words: str) -> None:
    with pytest.raises(Problem) as told:
        await asking
    assert all(word in str(told.value) for word in words), str(told.value)


def test_further_computer_has_the_accounts_name_and_pass(tmp_path: Path) -> None:
    async def visit(street: Street) -> None:
        assert await street.enter("ada") == "ada"
        assert await street.enter("laptop", await street.device_link("ada")) == "ada"
        assert await street.enter("laptop") == "ada", "a renewal needs no invitation"
        (first, second) = (await street.ask("laptop", AccountAct.LIST)).devices
        assert (first.key, second.key) == (street.key("ada").peer_id, street.key("laptop").peer_id)
        assert (first.name, second.name, second.ended) == ("ada", "laptop", False)
        assert await street.enter("third", await street.device_link("laptop")) == "ada"

    log = AdmissionLog(on(tmp_path, visit).folder)
    assert len(log.keys_of("ada")) == 3


def test_device_link_lets_in_one_computer_within_its_hour(tmp_path: Path) -> None:
    async def visit(street: Street) -> None:
        await street.enter("ada")
        earlier, link = await street.device_link("ada"), await street.device_link("ada")
        await refused(street.enter("first", earlier), "not valid")
        assert await street.enter("second", link) == "ada"
        await refused(street.enter("eve", link), "as often as it may")
        await refused(street.enter("eve", replace(link, invite="")), "nobody signs in there")
        for guess in (link.invite[:-1], link.invite[::-1], "x" * 32):
            await refused(street.enter("eve", replace(link, invite=guess)), "not valid")

    on(tmp_path, visit)


def test_request_that_another_has_signed_or_repeats_does_nothing(tmp_path: Path) -> None:
    async def visit(street: Street) -> None:
        await street.enter("ada")
        await street.enter("eve")
        assert (await street.post("/v1/device", street.signed("ada", by="eve")))[0] == 403
        assert (await street.post("/v1/device", street.signed("stranger")))[0] == 403
        for at in (NOW - SIGNED_S - 1, NOW + SIGNED_S + 1):
            assert (await street.post("/v1/device", street.signed("ada", at=at)))[0] == 403
        listing = msgspec.json.decode(street.signed("ada", act=AccountAct.LIST))
        assert (await street.post("/v1/device", msgspec.json.encode({**listing, "act": "add"})))[0] == 403
        once = street.signed("ada")
        assert (await street.post("/v1/device", once))[0] == 200
        assert (await street.post("/v1/device", once))[0] == 403

    on(tmp_path, visit)


def test_request_to_one_desk_does_nothing_at_another(tmp_path: Path) -> None:
    async def visit(street: Street) -> None:
        await street.enter("ada")
        request = street.signed("ada")
        async with desk(street.charter, Trace()) as other:  # it knows the same members
            elsewhere = Street(street.charter, other, tmp_path)
            status, body = await elsewhere.post("/v1/device", request)
            assert (status, b"No member has signed this request" in body) == (403, True)
        assert (await street.post("/v1/device", request))[0] == 200

    on(tmp_path, visit)


def test_account_has_at_most_ten_keys_with_those_ended(tmp_path: Path) -> None:
    async def visit(street: Street) -> None:
        await street.enter("ada")
        link = await street.device_link("ada")
        for number in range(1, KEYS_MAX):
            await street.enter(f"computer {number}", link)
            if number < KEYS_MAX - 1:
                link = await street.device_link("ada")
        assert (await street.ask("ada", AccountAct.END, ended="computer 1")).told
        await refused(street.ask("ada"), "10 computers")
        assert len((await street.ask("ada", AccountAct.LIST)).devices) == KEYS_MAX

    on(tmp_path, visit)


@pytest.mark.parametrize("by", [ModerationAct.BAN, ModerationAct.HOLD])
def test_banned_or_held_account_brings_no_further_computer(tmp_path: Path, by: ModerationAct) -> None:
    async def visit(street: Street) -> None:
        await street.enter("eve")
        await street.enter("laptop", await street.device_link("eve"))
        link = await street.device_link("laptop")
        charter, records = street.charter, read_charter_records(street.charter)
        wish = ModerationWish(act=by, who="eve")
        find = AdmissionLog(charter.folder).keys_of
        keep_document(charter, records, signed_wish(records, charter.authority, NOW, wish, find))
        for computer in ("eve", "laptop", "third"):
            with pytest.raises(ShutOut):
                await street.enter(computer, link)
        with pytest.raises(ShutOut):
            await street.ask("laptop")

    on(tmp_path, visit)


def test_pass_has_the_account_that_the_desk_knows(tmp_path: Path) -> None:
    async def visit(street: Street) -> None:
        await street.enter("ada")
        ada, eve = street.key("ada").peer_id, street.key("eve")
        wanted = x509.Name([x509.NameAttribute(NameOID.USER_ID, account_of(ada).hex())])
        csr = x509.CertificateSigningRequestBuilder().subject_name(wanted).sign(eve.private_key, None)
        asked = PassRequest(street.link.invite, csr.public_bytes(Encoding.DER), "eve", "", PROTOCOL)
        status, body = await street.post("/v1/pass", msgspec.json.encode(asked))
        assert status == 200
        manifest = street.charter.manifest
        found_pass = verify_pass(GRANTS.decode(body).certificate, Issuers(manifest.authority_id, manifest.id), NOW)
        assert (found_pass.username, found_pass.account) == ("eve", account_of(eve.peer_id))

    on(tmp_path, visit)


def test_only_the_own_account_ends_a_computer(tmp_path: Path) -> None:
    async def visit(street: Street) -> None:
        for name in ("ada", "eve"):
            await street.enter(name)
        await street.enter("laptop", await street.device_link("ada"))
        await refused(street.ask("eve", AccountAct.END, ended="laptop"), "not another computer of your account")
        await refused(street.ask("ada", AccountAct.END, ended="ada"), "not another computer of your account")
        assert await street.enter("laptop") == "ada"

    on(tmp_path, visit)


def test_ended_computer_is_out_and_its_account_stays(tmp_path: Path) -> None:
    async def visit(street: Street) -> None:
        await street.enter("ada")
        await street.enter("laptop", await street.device_link("ada"))
        assert (await street.ask("ada", AccountAct.END, ended="laptop")).told
        assert read_charter_records(street.charter).decisions.revoked == (street.key("laptop").peer_id,)
        for asking in (street.enter("laptop"), street.ask("laptop")):
            with pytest.raises(NotTrusted, match="Your account has ended this computer"):
                await asking
        assert await street.enter("ada") == "ada"
        assert await street.enter("third", await street.device_link("ada")) == "ada"
        ended = await street.ask("third", AccountAct.END, ended="ada")
        assert not ended.told, "a list that names the first key bans the account"
        assert await street.enter("third") == "ada"
        with pytest.raises(NotTrusted, match="Your account has ended this computer"):
            await street.enter("ada")

    log = AdmissionLog(on(tmp_path, visit).folder)
    assert len(log.accounts.ended) == 2


def test_whole_account_is_revoked_by_the_name_of_one(tmp_path: Path) -> None:
    async def visit(street: Street) -> None:
        await street.enter("eve")
        await street.enter("laptop", await street.device_link("eve"))
        log = AdmissionLog(street.charter.folder)
        revoke(street.charter, log.keys_of("EVE"), now=NOW)
        banned = read_charter_records(street.charter).decisions.banned
        assert account_of(street.key("eve").peer_id) in banned
        for computer in ("eve", "laptop"):
            with pytest.raises(ShutOut):
                await street.enter(computer)

    on(tmp_path, visit)


def test_person_who_signed_out_is_nobody_elses_way_in(tmp_path: Path) -> None:
    async def visit(street: Street) -> None:
        await street.enter("ada")
        await street.enter("laptop", await street.device_link("ada"))
        answer = await street.ask("laptop", AccountAct.SIGN_OUT)
        assert [one.ended for one in answer.devices] == [False, True]
        await street.enter("eve")
        for link in (street.link, await street.device_link("eve")):  # by somebody else at the same computer
            with pytest.raises(ShutOut):
                await street.enter("laptop", link)
        with pytest.raises(ShutOut):
            await street.ask("laptop")
        assert await street.enter("laptop", await street.device_link("ada")) == "ada"
        assert [one.ended for one in (await street.ask("laptop", AccountAct.LIST)).devices] == [False, False]

    on(tmp_path, visit)


def test_name_of_an_account_that_was_taken_out_is_gone(tmp_path: Path) -> None:
    async def visit(street: Street) -> None:
        await street.enter("ada")
        await street.enter("laptop", await street.device_link("ada"))
        own = street.key("ada").peer_id, street.key("laptop").peer_id
        link = await street.device_link("ada")
        await street.ask("laptop", AccountAct.TAKE_OUT)
        for who, by in (("ada", street.link), ("laptop", street.link), ("tablet", link)):
            with pytest.raises(NotTrusted):
                await street.enter(who, by)
        ben = joining(street.link, tmp_path / "ben", street.key("ben"))
        got = await ben.try_once(username="ada", device="", now=lambda: NOW)
        assert got.name.startswith("ada "), "nobody else gets the name"
        assert [got.grant.named[key] for key in own] == ["", ""]
        board = Board(tmp_path / "board", target_samples=1)
        board.named(dict.fromkeys(own, "ada"))
        board.named(got.grant.named)
        assert not any(board.names[key] for key in own)

    on(tmp_path, visit)
