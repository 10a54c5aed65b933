"""Attacks on signing in by another site: on what comes back from there, and by issuers that lie."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from core.base.site.ways import Admit, OidcIssuer, WaysIn
from tests.process.issuer import CLIENT, NOW, OTHER_KEY, SECRET, TestIssuer, symmetric
from tests.process.site_sign_in import Browser, signing
from tests.process.test_site_sign_in import known_by

pytestmark = pytest.mark.process


def two(one: TestIssuer, other: TestIssuer) -> Callable[[str], WaysIn]:
    def ways(address: str) -> WaysIn:
        made = {
            name: OidcIssuer(issuer=each.url, client_id=CLIENT, client_secret=SECRET, admit=Admit.ANYBODY)
            for name, each in (("one", one), ("other", other))
        }
        return WaysIn(address, oidc=made)

    return ways


async def answer_of(browser: Browser, name: str) -> str:
    """Where an issuer sends a browser back to."""
    await browser.get("/in")
    await browser.post(f"/in/oidc/{name}")
    found = re.search(r'url=([^"]*)"', browser.text)
    assert found
    async with browser.client.get(found[1].replace("&amp;", "&"), allow_redirects=False) as answer:
        return answer.headers["Location"]


def test_answer_counts_in_its_own_browser_once(tmp_path: Path) -> None:
    async def run() -> None:
        issuers = TestIssuer(), TestIssuer()
        async with (
            issuers[0] as one,
            issuers[1] as other,
            signing(tmp_path, two(one, other)) as here,
            here.browser() as ada,
            here.browser() as eve,
        ):
            mine, hers = await answer_of(ada, "one"), await answer_of(eve, "one")
            code = parse_qs(urlsplit(hers).query)["code"][0]
            state = parse_qs(urlsplit(mine).query)["state"][0]
            await ada.get(hers)
            assert "not for you" in ada.text, "the state of another browser"
            async with here.browser() as bare:
                assert "Begin again" in await bare.get(mine), "no cookie"
            mine = await answer_of(await fresh(ada), "one")
            state = parse_qs(urlsplit(mine).query)["state"][0]
            await ada.get(f"/in/back/one?code={code}&state={state}")
            assert (ada.status, one.refused) == (403, 1), "a stolen code, which PKCE makes useless"
            assert "used already" in await ada.get(mine), "one answer for each visit"
            mine = await answer_of(await fresh(ada), "one")
            assert "signed in" in await ada.get(mine)
            await ada.get(mine)
            assert ada.status == 403, "replayed"

    asyncio.run(run())


async def fresh(browser: Browser) -> Browser:
    browser.client.cookie_jar.clear()
    return browser


def test_answer_of_another_issuer_is_refused(tmp_path: Path) -> None:
    async def run() -> None:
        async with TestIssuer() as one, TestIssuer() as other, signing(tmp_path, two(one, other)) as here:
            async with here.browser() as browser:
                mixed = (await answer_of(browser, "one")).replace("/in/back/one", "/in/back/other")
                assert "not for you" in await browser.get(mixed), "each issuer has its own state"
                one.says_issuer = other.url
                assert "Another site" in await browser.get(await answer_of(await fresh(browser), "one"))
                one.says_issuer, one.metadata = "", {"authorization_response_iss_parameter_supported": True}
            async with TestIssuer() as third, signing(tmp_path / "again", two(third, other)) as again:
                third.metadata = {"authorization_response_iss_parameter_supported": True}
                async with again.browser() as browser:
                    assert "Another site" in await browser.get(await answer_of(browser, "one"))
                    third.says_issuer = third.url
                    assert "signed in" in await browser.get(await answer_of(await fresh(browser), "one"))

    (tmp_path / "again").mkdir()
    asyncio.run(run())


@pytest.mark.parametrize(
    "lie",
    [
        {"claims": {"nonce": "another"}},
        {"claims": {"nonce": None}},
        {"claims": {"aud": "another client"}},
        {"claims": {"aud": [CLIENT, "another"], "azp": "another"}},
        {"claims": {"iss": "https://another.example"}},
        {"claims": {"sub": ""}},
        {"claims": {"sub": None}},
        {"claims": {"sub": "18"}},
        {"claims": {"exp": None}},
        {"claims": {"exp": NOW - 300}},
        {"key": OTHER_KEY},
        {"key": symmetric(), "algorithm": "HS256"},
        {"metadata": {"issuer": "https://another.example"}},
        {"metadata": {"token_endpoint": "http://192.0.2.1/token"}},
    ],
    ids=lambda lie: " ".join([*lie, *lie.get("claims", lie.get("metadata", ()))]),
)
def test_token_with_a_lie_signs_nobody_in(tmp_path: Path, lie: dict) -> None:
    async def run() -> None:
        issuer = TestIssuer(**lie)
        async with issuer, signing(tmp_path, known_by(issuer)) as here, here.browser() as browser:
            await browser.get("/in")
            await browser.post("/in/oidc/test")
            if "refresh" in browser.text:
                await browser.follow()
            assert browser.status == 403
            assert not browser.cookie("session")

    asyncio.run(run())


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        ({"claims": {"exp": NOW - 300}}, "The clock of this site, or of the other one, is wrong."),
        ({"claims": {"iat": NOW + 300}}, "The clock of this site, or of the other one, is wrong."),
        ({"metadata": {"authorization_endpoint": 7}}, "The other site does not answer as it should."),
        ({}, "The other site does not answer as it should."),
    ],
)
def test_issuer_of_another_time_or_away_is_told(tmp_path: Path, lie: dict, says: str) -> None:
    async def run() -> None:
        issuer = TestIssuer(**lie)
        async with issuer, signing(tmp_path, known_by(issuer)) as here, here.browser() as browser:
            await browser.get("/in")
            if not lie and issuer.runner is not None:
                await issuer.runner.cleanup()
            await browser.post("/in/oidc/test")
            if "refresh" in browser.text:
                await browser.follow()
            assert says in browser.text
            assert "Ask the organiser" in browser.text or "Try again" in browser.text

    asyncio.run(run())
