"""Attacks on signing in at the page: each row of the README names the defence without which its test fails."""

import asyncio
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp.test_utils import make_mocked_request
from argon2 import PasswordHasher
from yarl import URL

from core.base.site.ways import Admit, Passphrase, WaysIn
from core.site import entrance, forms
from core.site.accounts import SignInError
from core.site.browser import VISIT_S, Cookies, Visit
from core.site.device_codes import GUESSES, INTERVAL_S, OF_ONE_MAX, WAITING_MAX, DeviceCodes
from core.site.forms import BODY_BYTES_MAX
from core.site.ways import passphrase
from core.site.ways.passphrase import EVERY_BURST, EVERY_S, NAME_BURST, QUEUE_MAX
from tests.process.issuer import NOW, TestIssuer
from tests.process.site_sign_in import PASSPHRASE, Signing, signing, walk
from tests.process.test_site_sign_in import known_by, open_to

pytestmark = pytest.mark.process
EVIL = "<script>alert(1)</script>"


def count_checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The digests that passphrases are compared with."""
    seen: list[str] = []
    verify = PasswordHasher.verify
    monkeypatch.setattr(
        PasswordHasher, "verify", lambda self, secret, said: (seen.append(secret), verify(self, secret, said))[1]
    )
    return seen


def test_household_tries_a_few_passphrases_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = count_checks(monkeypatch)

    async def test(here: Signing) -> None:
        async with here.browser() as browser:
            for number in range(3 * EVERY_BURST):
                await browser.passphrase("Ada", f"guessed passphrase {number}")
            assert "Too many tries" in browser.text
        assert len(checks) == EVERY_BURST

    walk(tmp_path, open_to(Admit.ANYBODY), test)


def test_household_locks_no_owner_out(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        async with here.browser() as browser, here.browser() as owner:
            await owner.new()
            browser.client.headers["X-Forwarded-For"] = "198.51.100.1"
            for _ in range(NAME_BURST + 10):
                here.now[0] += EVERY_S
                await browser.passphrase("Ada", "a guessed passphrase")
            assert "Too many tries" in browser.text
            assert "<h1><bdi>Ada</bdi></h1>" in await owner.passphrase()

    walk(tmp_path, open_to(Admit.ANYBODY), test)


def test_many_households_try_a_name_seldom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checks, bound = count_checks(monkeypatch), 30
    monkeypatch.setattr(passphrase, "NAMED_BURST", bound)

    async def test(here: Signing) -> None:
        async with here.browser() as browser:
            for number in range(bound + 10):
                browser.client.headers["X-Forwarded-For"] = f"198.51.100.{number}"
                await browser.passphrase("ADA" if number % 2 else "ada", "a guessed passphrase")
        assert len(checks) == bound

    walk(tmp_path, open_to(Admit.ANYBODY), test)


def test_unknown_name_is_answered_as_a_wrong_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = count_checks(monkeypatch)

    async def test(here: Signing) -> None:
        async with here.browser() as browser:
            await browser.new()
        async with here.browser() as browser:
            told = [re.sub(r'value="[^"]*"', "", await browser.passphrase(name, "x" * 20)) for name in ("Ada", "Eve")]
        assert told[0] == told[1]
        assert len(checks) == 2

    walk(tmp_path, open_to(Admit.ANYBODY), test)


def test_few_passphrases_wait_to_be_checked(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        known = here.entrance.passphrases.known
        tries = (known(f"n{n}", "x" * 20, household=str(n), now=NOW) for n in range(3 * QUEUE_MAX))
        told = [one.error for one in await asyncio.gather(*tries, return_exceptions=True)]
        assert told.count("busy") >= QUEUE_MAX

    walk(tmp_path, open_to(Admit.ANYBODY), test)


def test_session_is_never_one_that_was_there_before(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        fixed = "A" * 43
        async with here.browser() as browser, here.browser() as attacker:
            await browser.new()
            await browser.post("/out")
            for each in (browser, attacker):
                each.client.cookie_jar.update_cookies({"session": fixed}, URL(here.address))
            await browser.get("/in")
            visit = browser.cookie("visit")
            await browser.passphrase()
            assert "<bdi>Ada</bdi>" in browser.text
            assert browser.cookie("session") not in {fixed, visit, ""}
            assert not browser.cookie("visit")
            attacker.client.cookie_jar.update_cookies({"visit": visit}, URL(here.address))
            assert "<h1>Sign in</h1>" in await attacker.get("/me")

    walk(tmp_path, open_to(Admit.ANYBODY), test)


def test_form_of_another_page_does_nothing(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        async with here.browser() as ada, here.browser() as eve:
            await ada.new()
            await eve.new("Eve")
            token = re.search(r'name="token" value="([^"]*)"', eve.text)
            assert token
            forms = [
                ("/me", {"act": "name", "shown": "no"}),
                ("/me", {"act": "leave", "sure": "yes"}),
                ("/out", {}),
                ("/in", {"name": "Eve", "passphrase": PASSPHRASE}),
            ]
            for path, fields in forms:
                for more in (
                    {"origin": "https://evil.example"},
                    {"token": token[1]},
                    {"token": ""},
                    {"origin": "null"},
                ):
                    await ada.get("/in" if path == "/in" else "/me")
                    await ada.post(path, **fields, **more)
                    assert ada.status == 403, (path, more)
            _, codes = await here.ask("/in/device", device="Eve's")
            await ada.get(codes["verification_uri_complete"])
            await ada.post("/in/device", code=codes["user_code"], answer="yes", token=token[1])
            assert (await here.ask("/in/ticket", device_code=codes["device_code"]))[1][
                "error"
            ] == "authorization_pending"
            assert "Strangers read your name" in await ada.get("/me")

    walk(tmp_path, open_to(Admit.ANYBODY), test)


def test_reading_a_page_changes_nothing(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        async with here.browser() as browser:
            await browser.new()
            _, codes = await here.ask("/in/device", device="x")
            for path in ("/out", "/me?act=leave&sure=yes", f"/in/device?code={codes['user_code']}&answer=yes"):
                await browser.get(path)
            assert "<bdi>Ada</bdi>" in await browser.get("/me")
            assert (await here.ask("/in/ticket", device_code=codes["device_code"]))[1][
                "error"
            ] == "authorization_pending"

    walk(tmp_path, open_to(Admit.ANYBODY), test)


def test_words_of_strangers_are_no_markup(tmp_path: Path) -> None:
    async def run() -> None:
        issuer = TestIssuer(login=EVIL)
        both = lambda address: WaysIn(address, Passphrase(Admit.ASKED), oidc=known_by(issuer)(address).oidc)  # noqa: E731
        async with issuer, signing(tmp_path, both) as here, here.browser() as browser:
            seen = [await browser.new(EVIL, words=EVIL), await browser.new("Ada", words=EVIL)]
            _, codes = await here.ask("/in/device", device=EVIL)
            seen += [
                await browser.get(codes["verification_uri_complete"]),
                await browser.get(f"/in/device?code={EVIL}"),
            ]
            await browser.get("/me")
            await browser.post("/out")
            seen += [
                await browser.passphrase(EVIL),
                await browser.get(f"/in?code={EVIL}"),
                await browser.get(f"/in/{EVIL}"),
            ]
            await browser.get("/in")
            await browser.post("/in/oidc/test")
            await browser.follow()
            seen += [await browser.follow(), await browser.get(f"/in/back/test?state={EVIL}&error={EVIL}&iss={EVIL}")]
            assert not [text for text in seen if "<script" in text]
            assert "script-src" not in browser.headers["Content-Security-Policy"]
            assert "default-src 'none'" in browser.headers["Content-Security-Policy"]

    asyncio.run(run())


def test_addresses_lead_to_no_file_and_no_other_site(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        async with here.browser() as browser:
            await browser.new()
            for path in (
                "/in/oidc/..%2f..%2fways.toml",
                "/in/back/..%2fways.toml",
                "/in/back/",
                "/in/%00",
            ):
                await browser.get(path)
                assert browser.status in {403, 404}, path
            for code in ("//evil.example", "https://evil.example", "..%2f", "BDFG%0d%0aX: y"):
                await browser.get(f"/in/device?code={code}")
                await browser.get(f"/in?code={code}")
                await browser.passphrase()
                assert browser.status == 200
                assert "evil" not in browser.text

    walk(tmp_path, open_to(Admit.ANYBODY), test)


def test_control_characters_are_no_form(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        async with here.browser() as browser:
            for letter in ("\0", "\x1b", "\x85"):
                await browser.new(f"A{letter}da")
                assert browser.status == 400
                await browser.passphrase(passphrase=PASSPHRASE + letter)
                assert browser.status == 400
            await browser.new(words="Two\r\nlines")
            assert "<h1><bdi>Ada</bdi></h1>" in browser.text

    walk(tmp_path, open_to(Admit.ASKED), test)


def test_visits_that_came_back_keep_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entrance, "USED_MAX", 3)

    async def test(here: Signing) -> None:
        visits = [Cookies(secure=False).visit(make_mocked_request("GET", "/"), NOW) for _ in range(5)]
        for visit in visits:
            here.entrance.use(visit)
        for visit in visits[2:]:
            with pytest.raises(SignInError, match="used already"):
                here.entrance.use(visit)

    walk(tmp_path, open_to(Admit.ANYBODY), test)


@pytest.mark.parametrize("kind", [forms.FORM, forms.JSON])
def test_bodies_are_bounded_in_bytes_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(forms, "BODY_S", 0.2)

    async def sent(here: Signing, path: str, *parts: bytes, length: int) -> bytes:
        port = urlsplit(here.address).port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Content-Type: {kind}", f"Content-Length: {length}"
        writer.writelines(["\r\n".join((*head, "", "")).encode(), *parts])
        answer = await reader.read()
        writer.close()
        return answer.split(b" ")[1]

    async def test(here: Signing) -> None:
        for path in ("/in", "/in/new", "/me", "/out") if kind == forms.FORM else ("/in/device", "/in/ticket"):
            large = b"a" * (BODY_BYTES_MAX + 1)
            assert await sent(here, path, large, length=len(large)) == b"413", path
            assert await sent(here, path, b"a", length=100) == b"408", path

    walk(tmp_path, open_to(Admit.ANYBODY), test)


async def state_of_code(here: Signing, codes: dict) -> str:
    """What a program reads that asks for its ticket."""
    return str((await here.ask("/in/ticket", device_code=codes["device_code"]))[1]["error"])


def test_ten_thousand_guessed_codes_are_refused() -> None:
    codes, told = DeviceCodes(), []
    long, _ = codes.begin("x", "home", NOW)
    for number in range(10_000):
        with pytest.raises(SignInError) as raised:
            codes.poll(long[:-4] + f"{number:04d}", "home", NOW)
        told.append(raised.value.error)
    assert told == ["expired_token"] * GUESSES + ["too_often"] * (10_000 - GUESSES)
    for number in range(100):
        with pytest.raises(SignInError):
            codes.read(f"BCDFGH{number:02d}", "home", NOW)
    with pytest.raises(SignInError, match="Nobody has signed in yet"):
        codes.poll(long, "elsewhere", NOW + INTERVAL_S)


def test_computers_that_wait_are_bounded() -> None:
    codes = DeviceCodes()
    for number in range(WAITING_MAX):
        codes.begin("x", str(number // OF_ONE_MAX), NOW)
    with pytest.raises(SignInError, match="Too many computers"):
        codes.begin("x", "1", NOW)
    codes.begin("x", "0", NOW + 1000)


def test_households_with_many_codes_keep_nobody_out() -> None:
    codes = DeviceCodes()
    first, _ = codes.begin("x", "home", NOW)
    oldest, _ = codes.begin("x", "0", NOW)
    for number in range(1, WAITING_MAX - 1):
        codes.begin("x", str(number // OF_ONE_MAX), NOW)
    last, made = codes.begin("x", "another home", NOW)
    assert codes.read(made.code, "another home", NOW) == made
    for long, error in ((oldest, "expired_token"), (first, "authorization_pending"), (last, "authorization_pending")):
        with pytest.raises(SignInError) as raised:
            codes.poll(long, "home", NOW + INTERVAL_S)
        assert raised.value.error == error


def test_cookies_are_for_this_host_and_no_script(tmp_path: Path) -> None:
    async def test(here: Signing) -> None:
        async with here.browser() as browser:
            await browser.get("/in")
            set_cookie = browser.headers["Set-Cookie"]
            for word in ("__Host-visit=", "Secure", "HttpOnly", "SameSite=Lax", "Path=/"):
                assert word in set_cookie
            assert "Domain" not in set_cookie

    secure = lambda _: WaysIn("https://potluck.example.org", Passphrase(Admit.ANYBODY))  # noqa: E731
    walk(tmp_path, secure, test)


def test_forged_and_old_visits_do_not_hold() -> None:
    class Asks:
        def __init__(self, value: str) -> None:
            self.cookies = {"visit": value}

    cookies = Cookies(secure=False)
    visit = cookies.visit(Asks(""), NOW, "BDFGHJKL")
    assert cookies.known_visit(Asks(visit.value), NOW) == visit
    assert cookies.known_visit(Asks(visit.value), NOW + VISIT_S + 1) is None
    assert Cookies(secure=False).known_visit(Asks(visit.value), NOW) is None
    assert cookies.known_visit(Asks(visit.value.replace("BDFGHJKL", "BDFGHJKM")), NOW) is None
    assert cookies.visit(Asks(visit.value), NOW, "CDFGHJKL").value != visit.value
    assert len({visit.derived(label) for label in ("state a", "state b", "nonce a", "form")}) == 4
    assert isinstance(visit, Visit)
