"""Signing in at the page, from a program's question to its ticket, by each way in."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import Connection

from core.api.moderation import ModerationAct, ModerationWish
from core.authority.acts import signed_wish
from core.backbone.admission_log import Newcomer
from core.backbone.charter import keep_document, read_charter_records
from core.base.site.requests import ModeratorAnswered
from core.base.site.ways import Admit, GitHub, OidcIssuer, Passphrase, WaysIn
from core.cli.organiser.requests import waiting_after
from core.site.accounts import answer
from core.site.device_codes import INTERVAL_S, LIFE_S
from core.site.tables import account, credential, request
from tests.process.issuer import CLIENT, SECRET, TestIssuer
from tests.process.site_sign_in import PASSPHRASE, Browser, Signing, signing, walk
from tests.unit.backbone.site_desk import NOW, key

pytestmark = pytest.mark.process


def open_to(admit: Admit):
    return lambda address: WaysIn(address, passphrase=Passphrase(admit))


def known_by(issuer: TestIssuer, **more):
    client = {"client_id": CLIENT, "client_secret": SECRET, "admit": Admit.ANYBODY, **more}
    return lambda address: WaysIn(address, oidc={"test": OidcIssuer(issuer=issuer.url, **client)})


async def let_in(here: Signing, browser: Browser) -> tuple[str, dict]:
    """A program asks for codes, and its person says yes; returns the long code, and what is answered then."""
    _, codes = await here.ask("/in/device", device="Ada's laptop")
    assert await here.ask("/in/ticket", device_code=codes["device_code"]) == (
        400,
        {"error": "authorization_pending", "words": "Nobody has signed in yet."},
    )
    here.now[0] += INTERVAL_S
    await browser.get(codes["verification_uri_complete"])
    assert codes["user_code"] in browser.text
    assert "Ada&#39;s laptop" in browser.text
    assert "Done" in await browser.post("/in/device", code=codes["user_code"], answer="yes")
    _, said = await here.ask("/in/ticket", device_code=codes["device_code"])
    return codes["device_code"], said


def test_two_computers_of_a_passphrase_are_one_account(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        async with here.browser() as browser:
            assert "<h1><bdi>Ada</bdi></h1>" in await browser.new()
            long, said = await let_in(here, browser)
            assert said == {"ticket": said["ticket"], "account": "", "name": "Ada"}
            assert (await here.ask("/in/ticket", device_code=long))[1]["error"] == "expired_token", "once"
            ticket = here.desk.tickets.named(said["ticket"], here.now[0])
            here.desk.log.admit(Newcomer(key(1), "Ada"), invitations=ticket, secret=said["ticket"], now=NOW)
        async with here.browser() as other:
            await other.passphrase()
            _, said = await let_in(here, other)
            assert said["account"] == here.desk.log.accounts.of(key(1)).hex()
            newcomer = Newcomer(key(2), "Eve", device="<b>laptop</b>")
            ticket = here.desk.tickets.named(said["ticket"], here.now[0])
            assert here.desk.log.admit(newcomer, invitations=ticket, secret=said["ticket"], now=NOW).name == "Ada"
            assert "&lt;b&gt;laptop&lt;/b&gt;" in await other.get("/me")
            await other.post("/me", act="end", key=key(1).hex())
            assert here.desk.log.accounts.ended.keys() == {key(1)}
            await other.get("/me")
            assert "You are out" in await other.post("/me", act="leave", sure="yes")
            assert here.desk.log.accounts.ended.keys() == {key(1), key(2)}
            assert "nobody with this name" in await other.passphrase()

    walk(tmp_path, open_to(Admit.ANYBODY), test)


def test_moderator_is_asked_and_answers(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        database = here.entrance.database
        async with here.browser() as browser:
            await browser.new(words="I am <i>Ada</i>")
            assert "has not answered yet" in browser.text
            _, codes = await here.ask("/in/device", device="x")
            await browser.get(codes["verification_uri_complete"])
            assert "has not answered yet" in await browser.post("/in/device", code=codes["user_code"], answer="yes")
            for error, yes in (("asked", None), ("denied", False), ("asked", None)):
                if yes is not None:
                    await database.do(lambda it: answer(it, 1, yes=False, reason="<Who?>", moderator="Ben"))
                assert (await here.ask("/in/ticket", device_code=codes["device_code"]))[1]["error"] == error
                here.now[0] += INTERVAL_S
                if yes is False:
                    assert "A moderator has said no. &lt;Who?&gt;" in await browser.get("/me")
                    assert "a day after" in await browser.post("/me", act="ask", words="at once")
                    await browser.get("/me")
                    here.now[0] += 1
                    await database.do(lambda it: it.execute(request.update().values(at=NOW - 90_000)))
                    await browser.post("/me", act="ask", words="later")
            here.now[0] += 5 * LIFE_S
            waiting = await asyncio.to_thread(waiting_after, [str(tmp_path)], None)
            assert [(one.number, one.name, one.words) for one in waiting.people] == [(2, "Ada", "later")]
            yes = ModeratorAnswered(number=2, yes=True, moderator="Ben")
            said = [await asyncio.to_thread(waiting_after, [str(tmp_path)], one) for one in (yes, yes)]
            assert [(one.counts, one.people) for one in said] == [(True, ()), (False, ())]
            assert (await here.ask("/in/ticket", device_code=codes["device_code"]))[1]["ticket"]

    walk(tmp_path, open_to(Admit.ASKED), test)


@pytest.mark.parametrize("kind", ["oidc", "github"])
def test_other_site_says_who_it_is(tmp_path: Path, kind: str) -> None:
    def ways(issuer: TestIssuer):
        if kind == "oidc":
            return known_by(issuer)
        settings = GitHub(client_id=CLIENT, client_secret=SECRET, admit=Admit.ANYBODY, site=issuer.url, api=issuer.url)
        return lambda address: WaysIn(address, github=settings)

    async def run() -> None:
        name = "test" if kind == "oidc" else "github"
        async with TestIssuer() as issuer, signing(tmp_path, ways(issuer)) as here:
            issuer.now = here.now
            async with here.browser() as browser:
                _, codes = await here.ask("/in/device", device="Ada's laptop")
                here.now[0] += INTERVAL_S
                await browser.get(codes["verification_uri_complete"])
                await browser.post(f"/in/oidc/{name}")
                assert "You are signed in" in await browser.follow()
                await browser.follow()
                assert codes["user_code"] in browser.text, "the code is kept on the way"
                assert "Done" in await browser.post("/in/device", code=codes["user_code"], answer="yes")
                _, said = await here.ask("/in/ticket", device_code=codes["device_code"])
                assert (said["name"], bool(said["ticket"])) == ("Ada", True)
            issuer.login = "Ada Lovelace"
            async with here.browser() as other:
                await other.get("/in")
                await other.post(f"/in/oidc/{name}")
                await other.follow()
                assert "<bdi>Ada</bdi>" in await other.follow(), "another name there is the same account"

    asyncio.run(run())


@pytest.mark.parametrize("error", ["denied", "banned", "held"])
def test_leaving_ends_no_answer_of_a_moderator(tmp_path: Path, error: str) -> None:
    async def signs_in(here: Signing, browser: Browser) -> str:
        """Sign in by the other site, let a computer in, and say what its program is told then."""
        _, codes = await here.ask("/in/device", device="x")
        here.now[0] += INTERVAL_S
        await browser.get(codes["verification_uri_complete"])
        await browser.post("/in/oidc/test")
        await browser.follow()
        await browser.follow()
        await browser.post("/in/device", code=codes["user_code"], answer="yes")
        _, said = await here.ask("/in/ticket", device_code=codes["device_code"])
        return said.get("ticket", said.get("error"))

    def rows(connection: Connection) -> str:
        return str([connection.execute(table.select()).all() for table in (account, credential, request)])

    async def run() -> None:
        admit = Admit.ASKED if error == "denied" else Admit.ANYBODY
        async with TestIssuer() as issuer, signing(tmp_path, known_by(issuer, admit=admit)) as here:
            issuer.now, database, desk = here.now, here.entrance.database, here.desk
            issuer.subject = "a subject of the issuer's"
            async with here.browser() as browser:
                told = await signs_in(here, browser)
                if error == "denied":
                    assert told == "asked"
                    await database.do(lambda it: answer(it, 1, yes=False, reason="No.", moderator="Ben"))
                else:
                    ticket = desk.tickets.named(told, here.now[0])
                    desk.log.admit(Newcomer(key(1), "Ada"), invitations=ticket, secret=told, now=NOW)
                    act = ModerationAct.BAN if error == "banned" else ModerationAct.HOLD
                    records, wish = read_charter_records(desk.charter), ModerationWish(act=act, who="Ada")
                    document = signed_wish(records, desk.charter.authority, NOW, wish, desk.log.keys_of)
                    keep_document(desk.charter, records, document)
                await browser.get("/me")
                assert "A digest of what you signed in with" in await browser.post("/me", act="leave", sure="yes")
                left = await database.do(rows)
                assert "Ada" not in left
                assert issuer.subject not in left
                assert await signs_in(here, browser) == error
                assert "<h1><bdi>Ada</bdi></h1>" in await browser.get("/me")
                if error == "denied":
                    assert "a day after" in await browser.post("/me", act="ask", words="at once")

    asyncio.run(run())


def test_name_stays_taken_where_a_denied_person_has_left(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        async with here.browser() as browser:
            await browser.new()
            await here.entrance.database.do(lambda it: answer(it, 1, yes=False, reason="", moderator="Ben"))
            await browser.get("/me")
            await browser.post("/me", act="leave", sure="yes")
            assert "has this name already" in await browser.new()
            for said in (PASSPHRASE, "a passphrase that nobody has", ""):
                assert "nobody with this name" in await browser.passphrase(passphrase=said)

    walk(tmp_path, open_to(Admit.ASKED), test)


@pytest.mark.parametrize(
    ("settings", "orgs", "gets_in"),
    [
        ({"organisations": ("bigscience",)}, [{"preferred_username": "BigScience"}], True),
        ({"organisations": ("bigscience",)}, [{"preferred_username": "others"}], False),
        ({"listed": ("aDA",)}, [], False),
        ({"listed": ("aDA",), "match": "preferred_username"}, [], True),
        ({"listed": ("Sub 17",)}, [], True),
        ({"listed": ("sub 17",)}, [], False),
        ({"listed": ("ben",)}, [], False),
    ],
)
def test_listed_people_get_in_and_programs_learn_it(
    tmp_path: Path, settings: dict, orgs: list, gets_in: object
) -> None:
    async def run() -> None:
        issuer = TestIssuer(orgs=orgs, subject="Sub 17")
        async with issuer, signing(tmp_path, known_by(issuer, admit=Admit.LISTED, **settings)) as here:
            issuer.now = here.now
            async with here.browser() as browser:
                _, codes = await here.ask("/in/device", device="x")
                await browser.get(codes["verification_uri_complete"])
                await browser.post("/in/oidc/test")
                assert ("You are signed in" in await browser.follow()) == gets_in
                _, said = await here.ask("/in/ticket", device_code=codes["device_code"])
                assert said["error"] == ("authorization_pending" if gets_in else "not_listed")

    asyncio.run(run())


@pytest.mark.parametrize(
    ("login", "listed", "gets_in"), [("583231", "583231", False), ("Ada", "17", True), ("Ada", "aDA", True)]
)
def test_listed_number_is_no_login(tmp_path: Path, login: str, listed: str, gets_in: object) -> None:
    async def run() -> None:
        async with TestIssuer(login=login) as issuer:
            client = {"client_id": CLIENT, "client_secret": SECRET, "admit": Admit.LISTED, "listed": (listed,)}
            github = GitHub(site=issuer.url, api=issuer.url, **client)
            ways = lambda address: WaysIn(address, github=github)  # noqa: E731
            async with signing(tmp_path, ways) as here, here.browser() as browser:
                await browser.get("/in")
                await browser.post("/in/oidc/github")
                assert ("You are signed in" in await browser.follow()) == gets_in

    asyncio.run(run())


def test_codes_and_sessions_end(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        _, codes = await here.ask("/in/device", device="x")
        assert (await here.ask("/in/ticket", device_code=codes["device_code"]))[1]["error"] == "authorization_pending"
        assert (await here.ask("/in/ticket", device_code=codes["device_code"]))[1]["error"] == "slow_down"
        async with here.browser() as browser:
            await browser.new()
            await browser.get(codes["verification_uri_complete"])
            assert "gets nothing" in await browser.post("/in/device", code=codes["user_code"], answer="no")
            here.now[0] += INTERVAL_S
            assert (await here.ask("/in/ticket", device_code=codes["device_code"]))[1]["error"] == "access_denied"
            _, codes = await here.ask("/in/device", device="x")
            here.now[0] += LIFE_S + 1
            assert (await here.ask("/in/ticket", device_code=codes["device_code"]))[1]["error"] == "expired_token"
            assert "This code has ended" in await browser.get(codes["verification_uri_complete"])
            await browser.get("/me")
            cookie = browser.cookie("session")
            await browser.post("/out")
            browser.client.cookie_jar.update_cookies({"session": cookie})
            assert "Sign in" in await browser.get("/me"), "the server has ended the session"
            await browser.passphrase()
            here.now[0] += 12 * 3600 + 1
            assert "<h1>Sign in</h1>" in await browser.get("/me")

    walk(tmp_path, open_to(Admit.ANYBODY), test)


def test_database_that_is_deleted_costs_signing_in_only(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        async with here.browser() as browser:
            await browser.new()
            (tmp_path / "site.sqlite").unlink()
            assert "is gone" in await browser.get("/me")
            assert browser.status == 503
            await browser.get("/board")
            assert browser.status == 200
            await browser.get("/in")
            assert browser.status == 200

    walk(tmp_path, open_to(Admit.ANYBODY), test)


def test_mistakes_of_a_new_person_are_told(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        async with here.browser() as browser:
            await browser.get("/in/new")
            assert "differ" in await browser.post("/in/new", name="Ada", passphrase=PASSPHRASE, again="x")
            assert "12 to 200 letters" in await browser.new(passphrase="short")
            assert "<h1>Make an account</h1>" in await browser.new(name="<script>")
            assert "&lt;script&gt;" in browser.text
            await browser.new()
            assert "has this name already" in await browser.new(name="ADA")
            await browser.get("/in/device")
            assert "eight letters" in await browser.get("/in/device?code=17")

    walk(tmp_path, open_to(Admit.ANYBODY), test)


def test_origin_that_is_no_address_is_refused(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        async with here.browser() as browser:
            await browser.get("/in")
            await browser.post("/in", origin="http://[", name="Ada", passphrase=PASSPHRASE)
            assert browser.status == 403

    walk(tmp_path, open_to(Admit.ANYBODY), test)
