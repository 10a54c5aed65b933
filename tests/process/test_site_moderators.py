"""Moderators' pages: signing in by a key, what is shown there, and what strangers and removed moderators get."""

import asyncio
import html
import json
import re
import threading
import time
from pathlib import Path

import pytest
from yarl import URL

from core.api.moderation import ModerationAct, ModerationWish
from core.authority.acts import signed_wish
from core.backbone.admission_log import Newcomer
from core.backbone.charter import keep_document, read_charter_records
from core.backbone.kept_states import STATES
from core.backbone.moderators.moderator_desk import ANSWERED, CODE_S, ENTERED_S, LOOK_BURST, LOOK_S
from core.base.ids import PeerId
from core.base.site.channel import DeskAct, DeskAnswer, DeskAsk
from core.base.site.ways import Admit, WaysIn
from core.base.state_header import state_file_name
from core.site.accounts import answer, waiting
from core.site.entrance import ASK_BURST
from core.site.moderators import TABS
from tests.process.site_sign_in import Browser, Signing, walk
from tests.process.swarm import CORE, ENVIRONMENT, collaboration, found
from tests.process.test_site import free_port, read, until
from tests.process.test_site_sign_in import open_to
from tests.unit.backbone.site_desk import NOW, Desk, key
from tests.unit.net.people import id_of

pytestmark = pytest.mark.process
EVIL = "<script>alert(1)</script>"


def decide(here: Desk, act: ModerationAct, who: str = "", **more) -> None:
    """Have the founder decide something."""
    wish = ModerationWish(act=act, who=who, **more)
    records, founder = read_charter_records(here.charter), here.charter.authority
    document = signed_wish(records, founder, NOW, wish, lambda said: [PeerId(bytes.fromhex(said))])
    keep_document(here.charter, records, document)


def moderated(here: Signing) -> None:
    """The founder and Ada are moderators, each of them alone."""
    decide(here.desk, ModerationAct.ADD, id_of("ada").hex(), words="Ada", count=1)


def way_in(here: Signing, who: str = "ada") -> str:
    """What the desk tells a moderator, as a path."""
    return here.desk.moderators.pages.way_in(id_of(who), here.now[0]).removeprefix(here.address)


async def enter(here: Signing, browser: Browser, who: str = "ada") -> str:
    """Open the address, and press the button."""
    path = way_in(here, who)
    await browser.get(path)
    return await browser.post("/m/in", code=path.partition("=")[2])


def only(address: str) -> WaysIn:
    """Nobody but moderators signs in."""
    return WaysIn(address)


def test_moderator_sees_everything_and_signs_out(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        moderated(here)
        for number, name in ((1, "Ben"), (2, "rm -rf")):
            here.desk.log.enter(Newcomer(key(number), name), invitation="", now=NOW)
        here.desk.gave({key(1): 300, key(2): 100})
        folder = here.desk.charter.folder / STATES
        folder.mkdir()
        (folder / f"000001-{state_file_name(2, bytes(32), bytes(32))}").write_bytes(b"")
        decide(here.desk, ModerationAct.HOLD, key(2).hex(), words="$(rm -rf ~)")
        async with here.browser() as browser:
            assert "Decisions" in await enter(here, browser)
            assert (browser.status, browser.headers["Cache-Control"]) == (200, "no-store")
            assert "$(rm -rf ~)" in html.unescape(browser.text)
            assert f"potluck moderate pardon {key(2).hex()}" in browser.text
            people = await browser.get("/m/people")
            assert "300 samples, 75.0\u202f% of all" in people
            assert "rm -rf" in people
            commands = re.findall(r"<code class=\"link\">(.*?)</code>", people)
            shape = re.compile(r"potluck moderate (ban|hold|pardon) [0-9a-f]{64}( --days 7)? --words &#34;\.\.\.&#34;")
            assert len(commands) == 3
            assert all(shape.fullmatch(one) for one in commands), "no word of a stranger stands in a command"
            assert "Step 2" in await browser.get("/m/copies")
            assert "potluck moderate go-back 1 " in browser.text
            assert "Nothing was done yet." in await browser.get("/m/audit")
            here.desk.moderators.audit.append("Ada", "did", "something", words=EVIL, now=NOW)
            assert "&lt;script&gt;" in await browser.get("/m/audit")
            await browser.post("/m/out")
            for path in TABS:
                assert "These pages are for moderators" in await browser.get(path)
                assert browser.status == 403

    walk(tmp_path, only, test)


def test_moderator_answers_somebody_who_asks_to_be_let_in(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        moderated(here)
        async with here.browser() as browser, here.browser() as person, here.browser() as other:
            await person.new("Zoë", words=EVIL)
            await enter(here, browser)
            assert "&lt;script&gt;" in await browser.get("/m/requests")
            (number,) = re.findall(r'name="number" value="(\d+)"', browser.text)
            for wrong in ("0", "9" * 15, "9" * 40, "x", "", "\u0661"):
                await browser.get("/m/requests")
                assert "answered this request already" in await browser.post("/m/requests", number=wrong, answer="yes")
            await enter(here, other, "ada")
            await other.get("/m/requests")
            assert "Nobody waits" in await browser.post("/m/requests", number=number, answer="yes", reason="Welcome.")
            assert "already" in await other.post("/m/requests", number=number, answer="no")
            assert "A moderator has not answered" not in await person.get("/me")
        (line,) = here.desk.moderators.audit.newest
        assert (line.actor, line.act, line.subject) == ("Ada", ANSWERED, f"Zoë (request {number}): yes")

    walk(tmp_path, open_to(Admit.ASKED), test)


def test_quick_answers_are_written_down_all(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        moderated(here)
        names = [f"Zoë {number}" for number in range(LOOK_BURST)]
        async with here.browser() as browser, here.browser() as person:
            for name in names:
                await person.new(name)
            await enter(here, browser)
            await browser.get("/m/requests")
            token, numbers = browser.text, re.findall(r'name="number" value="(\d+)"', browser.text)
            for number in numbers:
                browser.text = token
                await browser.post("/m/requests", number=number, answer="yes")
                here.now[0] += LOOK_S
        left = await here.entrance.database.do(waiting)
        lines = [line for line in here.desk.moderators.audit.after(0) if line.act == ANSWERED]
        assert len(lines) == len(names) - len(left) > LOOK_BURST // 3

    walk(tmp_path, open_to(Admit.ASKED), test)


def test_moderator_who_leaves_at_once_is_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def slowly(*words, **more) -> bool:
        asked.set()
        time.sleep(0.3)
        return answer(*words, **more)

    monkeypatch.setattr("core.site.moderators.answer", slowly)

    async def test(here: Signing) -> None:
        moderated(here)
        async with here.browser() as browser, here.browser() as person:
            await person.new("Zoë")
            await enter(here, browser)
            (number,) = re.findall(r'name="number" value="(\d+)"', await browser.get("/m/requests"))
            said = asyncio.ensure_future(browser.post("/m/requests", number=number, answer="yes"))
            await asyncio.to_thread(asked.wait, 10)
            said.cancel()
            await asyncio.gather(said, return_exceptions=True)
            await until(lambda: here.desk.moderators.audit.count, within_s=5.0)
            assert await here.entrance.database.do(waiting) == ()

    walk(tmp_path, open_to(Admit.ASKED), test)


def test_page_that_is_taken_over_signs_and_reads_nothing_unasked(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        moderated(here)
        ada, pages = id_of("ada"), here.desk.moderators.pages

        async def told(act: DeskAct, **more) -> DeskAnswer:
            return await pages.answer(DeskAsk(act, key=ada, **more), here.now[0])

        for act in DeskAct:
            assert (await told(act)).facts is None, "no moderator has signed in"
        async with here.browser() as browser:
            await enter(here, browser)
        assert (await told(DeskAct.PEOPLE)).facts is not None
        await told(DeskAct.ANSWERED, words="\u202eno\n\x1b[2J")
        (line,) = here.desk.moderators.audit.newest
        assert line.subject.isprintable()
        here.now[0] += ENTERED_S
        assert (await told(DeskAct.PEOPLE)).facts is None

    walk(tmp_path, only, test)


def test_code_holds_once_for_its_minute_here_alone(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        moderated(here)
        refusal = "This holds no longer, or was used already."
        async with here.browser() as browser:
            earlier, _ = way_in(here), way_in(here)
            for path in (earlier, "/m/in?code=" + "x" * 32, "/m/in"):
                await browser.get(path)
                assert refusal in await browser.post("/m/in", code=path.partition("=")[2])
                assert browser.status == 403
            code = way_in(here).partition("=")[2]
            await browser.get(f"/m/in?code={code}")
            here.now[0] += CODE_S
            assert refusal in await browser.post("/m/in", code=code)
            assert "Decisions" in await enter(here, browser)
            cookie = browser.cookie("moderator")
            path = way_in(here)
            await browser.get(path)
            await browser.post("/m/in", code=path.partition("=")[2])
            assert browser.cookie("moderator") not in {"", cookie}, "each signing in has a cookie of its own"
            await browser.get(path)
            assert refusal in await browser.post("/m/in", code=path.partition("=")[2]), "a code replayed"

    walk(tmp_path, only, test)


def test_page_elsewhere_neither_signs_in_nor_answers(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        moderated(here)
        async with here.browser() as browser, here.browser() as other:
            path = way_in(here)
            code = path.partition("=")[2]
            await browser.get(path)
            await browser.post("/m/in", code=code, origin="https://evil.example")
            assert browser.status == 403
            assert "too old, or not of this page" in await browser.post("/m/in", code=code, token="0" * 43)
            assert "too old, or not of this page" in await other.post("/m/in", code=code), "no visit, no token"
            assert not other.cookie("moderator")
            await enter(here, browser)
            for act in ("/m/requests", "/m/out"):
                assert "too old, or not of this page" in await browser.post(act, token="0" * 32, number="1")
                assert (await browser.post(act, origin="https://evil.example"), browser.status)[1] == 403
            assert "Decisions" in await browser.get("/m")

    walk(tmp_path, only, test)


def test_removed_moderator_reads_nothing_more(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        moderated(here)
        async with here.browser() as browser, here.browser() as other:
            await enter(here, browser)
            path = way_in(here)
            decide(here.desk, ModerationAct.REMOVE, id_of("ada").hex())
            for tab in TABS:
                assert "not a moderator" in await browser.get(tab)
                assert "Proposals" not in browser.text
            await other.get(path)
            assert "not a moderator" in await other.post("/m/in", code=path.partition("=")[2])
            assert not other.cookie("moderator")

    walk(tmp_path, only, test)


def test_session_ends_and_is_never_given_by_a_cookie(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        moderated(here)
        async with here.browser() as browser, here.browser() as person:
            at = URL(here.address)
            browser.client.cookie_jar.update_cookies({"moderator": "A" * 43}, at)
            assert "for moderators" in await browser.get("/m")
            await person.new("Zoë")
            person.client.cookie_jar.update_cookies({"moderator": person.cookie("session")}, at)
            assert "for moderators" in await person.get("/m"), "a person's session is not a moderator's"
            await enter(here, browser)
            assert browser.cookie("moderator") != "A" * 43
            browser.client.cookie_jar.update_cookies({"session": browser.cookie("moderator")}, at)
            assert "Sign in" in await browser.get("/me"), "a moderator's session is not a person's"
            here.now[0] += ENTERED_S
            assert "Decisions" not in await browser.get("/m")
            assert browser.status == 403

    walk(tmp_path, open_to(Admit.ASKED), test)


def test_household_guesses_codes_and_moderator_looks_a_few_times(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        moderated(here)
        async with here.browser() as browser, here.browser() as ada:
            await browser.get("/m/in")
            for number in range(ASK_BURST + 5):
                await browser.post("/m/in", code=f"guess {number}")
                await browser.get("/m/in")
            assert "Too many tries" in await browser.post("/m/in", code="guess")
            assert browser.status == 429
            here.now[0] += ENTERED_S
            await enter(here, ada)
            for _ in range(LOOK_BURST):
                await ada.get("/m/people")
            assert "You look too often" in ada.text

    walk(tmp_path, only, test)


def test_nothing_of_people_is_served_where_moderators_alone_sign_in(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        async with here.browser() as browser:
            for path in ("/in", "/me", "/in/device", "/me/team"):
                await browser.get(path)
                assert browser.status == 404, path
            assert "Sign in" not in await browser.get("/")
            await browser.post("/in/device", origin=None)
            assert browser.status == 405
        assert not here.desk.tickets.site
        assert here.desk.tickets.page

    walk(tmp_path, only, test)


def test_founder_signs_in_with_the_key_of_a_charter(tmp_path: Path) -> None:
    async def run() -> None:
        port, charter = free_port(), found(tmp_path, target_samples=32)
        async with collaboration(charter, tmp_path, "--site", str(port)):
            await until(lambda: read(port, "/"))
            words = ["moderate", "page", "--charter", str(charter.folder), "--json"]
            pipe = asyncio.subprocess.PIPE
            asked = await asyncio.create_subprocess_exec(*CORE, *words, stdout=pipe, env=ENVIRONMENT)
            assert asked.stdout is not None
            address = json.loads(await asked.stdout.read())["address"]
            assert address.startswith(f"http://127.0.0.1:{port}/m/in?code=")
            browser = Browser(f"http://127.0.0.1:{port}")
            await browser.get(address)
            assert "one person decides alone" in await browser.post("/m/in", code=address.partition("=")[2])
            assert "Nobody was let in yet." in await browser.get("/m/people")
            for _ in range(60):  # the backbone looks every 3 s
                if "invitation made" in await browser.get("/m/audit"):
                    break
                await asyncio.sleep(2)
            assert "invitation made" in browser.text
            await browser.client.close()

    asyncio.run(run())
