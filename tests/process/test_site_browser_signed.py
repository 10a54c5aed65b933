"""Signing in and moderating in a real browser: by keyboard, on a phone and on a desk, light and dark."""

import asyncio
import os
from collections.abc import Callable, Iterable
from itertools import pairwise, product
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from core.api.moderation import ModerationAct
from core.averaging.distances import DistanceBook, PartsSeen
from core.backbone.admission_log import Newcomer
from core.backbone.kept_states import STATES
from core.base.site.ways import Admit, OidcIssuer, Passphrase, WaysIn
from core.base.state_header import state_file_name
from core.site.device_codes import shown
from core.site.moderators import TABS
from tests.process.browser import PROGRAM, Browser, browser, is_here
from tests.process.issuer import CLIENT, SECRET, TestIssuer
from tests.process.site_sign_in import PASSPHRASE, Signing, signing
from tests.process.test_site_browser import CONTRAST, SEEN
from tests.process.test_site_moderators import decide, way_in
from tests.unit.backbone.site_desk import NOW, key
from tests.unit.net.people import id_of

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not is_here(), reason=f"This needs the browser {PROGRAM}, of Debian's package of that name."),
]
PICTURES = os.environ.get("POTLUCK_PICTURES", "")
"""A folder for pictures of the pages; empty: none are kept."""
SCREENS = ((360, True), (360, False), (1280, True), (1280, False)) if PICTURES else ((360, True), (1280, False))
"""Widths, and whether it is dark: colours do not follow from widths, so two are enough where nobody wants pictures."""
LONG = "W" * 40
WORDS = "<script>window.ran = 1</script> " + "W" * 200


def look(tab: Browser, addresses: Iterable[str], hosts: set[str]) -> None:
    """See that pages fit, can be read, run nothing and ask no other host."""
    for address, (width, dark) in product(addresses, SCREENS):
        tab.open(address, width=width, dark=dark)
        tab.value("document.querySelectorAll('details').forEach(one => one.open = true)")
        seen = tab.value(SEEN)
        if PICTURES:
            name = urlsplit(address).path.strip("/").replace("/", "-")
            tab.picture(Path(PICTURES) / f"{name}-{width}-{'dark' if dark else 'light'}.png")
        levels = tab.value("[...document.querySelectorAll('h1, h2, h3')].map(one => Number(one.tagName[1]))")
        assert all(after <= before + 1 for before, after in pairwise(levels)), (address, levels)
        assert not seen["wide"], (address, width)
        assert not seen["ran"]
        assert seen["size"] >= 12, (address, width)
        assert seen["contrast"] >= CONTRAST, (address, width, dark)
        assert {urlsplit(asked).netloc for asked in tab.asked} <= hosts


def press(tab: Browser, label: str) -> None:
    """Go to a button by keyboard, and press it."""
    for _ in range(60):
        tab.press("Tab", 9)
        if tab.value("document.activeElement.textContent.trim()") == label:
            assert tab.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
            tab.submit("Enter", 13)
            return
    raise AssertionError(f"no key leads to {label}")


def fill(tab: Browser, **fields: str) -> None:
    for name, words in fields.items():
        tab.value(f"document.querySelector('[name={name}]').focus()")
        tab.tell("Input.insertText", text=words)


def title(tab: Browser) -> str:
    return str(tab.value("document.querySelector('h1').textContent"))


def walk(folder: Path, ways: Callable[[str], WaysIn], seen: Callable[[Signing, Browser], None]) -> None:
    async def run() -> None:
        async with signing(folder, ways) as here:
            with browser() as tab:
                await asyncio.to_thread(seen, here, tab)

    asyncio.run(run())


def full(here: Signing) -> None:
    """People, proposals, a hold, copies and lines, all with the longest words."""
    desk, book = here.desk, DistanceBook(b"secret")
    decide(desk, ModerationAct.ADD, id_of("ada").hex(), words="Ada", count=1)
    for number, name in ((1, LONG), (2, "Zoë")):
        desk.log.enter(Newcomer(key(number), name), invitation="", now=NOW)
        book.note(key(number), b"1", PartsSeen(looks=1, numbers=0.03, ratios=1.5, cosines=-0.25, clipped=1, dropped=2))
    desk.moderators.pages.distances = book
    desk.gave({key(1): 300_000, key(2): 100})
    decide(desk, ModerationAct.NOTICE, words=WORDS)
    decide(desk, ModerationAct.HOLD, key(2).hex(), words=WORDS[:200])
    decide(desk, ModerationAct.BAN, key(1).hex(), words=WORDS)
    decide(desk, ModerationAct.AGREE, count=2, words=WORDS)
    (desk.charter.folder / STATES).mkdir()
    (desk.charter.folder / STATES / f"000001-{state_file_name(2, bytes(32), bytes(32))}").write_bytes(b"")
    desk.moderators.audit.append(LONG * 2, "did", "W" * 80, words=WORDS, now=NOW)


def test_moderator_signs_in_and_answers_by_keyboard(tmp_path: Path) -> None:
    def seen(here: Signing, tab: Browser) -> None:
        full(here)
        host = {urlsplit(here.address).netloc}
        tab.open(f"{here.address}/in/new", width=360, dark=False)
        fill(tab, name="Ben", passphrase=PASSPHRASE, again=PASSPHRASE, words=WORDS)
        press(tab, "Ask a moderator")
        look(tab, [f"{here.address}/m", here.address + way_in(here)], host)
        press(tab, "Sign in")
        assert title(tab) == "Decisions"
        assert "To agree" in tab.value("document.body.textContent")
        look(tab, [here.address + path for path in TABS], host)
        tab.open(f"{here.address}/m/requests", width=360, dark=False)
        press(tab, "Let them in")
        assert "Nobody waits" in tab.value("document.body.textContent")
        press(tab, "Sign out")
        tab.open(f"{here.address}/m/people", width=360, dark=False)
        assert title(tab) == "Not signed in"

    walk(tmp_path, lambda address: WaysIn(address, passphrase=Passphrase(Admit.ASKED)), seen)


def test_person_signs_in_by_each_way_and_reads_every_page(tmp_path: Path) -> None:
    def seen(here: Signing, tab: Browser, other: str) -> None:
        hosts = {urlsplit(here.address).netloc}
        _, device = here.entrance.codes.begin("W" * 40, "here", here.now[0])
        asked = f"{here.address}/in/device?code={shown(device.code)}"
        look(tab, [f"{here.address}/in", f"{here.address}/in/new", asked], hosts)
        tab.open(f"{here.address}/in/new", width=360, dark=False)
        fill(tab, name=LONG[:20], passphrase=PASSPHRASE, again=PASSPHRASE, words=WORDS)
        press(tab, "Ask a moderator")
        assert title(tab) == "Let a computer in"
        look(tab, [asked], hosts)
        press(tab, "Yes, let it in")
        assert title(tab) == "Almost", "a moderator has to answer"
        look(tab, [f"{here.address}{path}" for path in ("/me", "/me/team", "/in/device")], hosts)
        tab.open(f"{here.address}/me", width=360, dark=False)
        press(tab, "Sign out here")
        tab.open(f"{here.address}/in", width=360, dark=True)
        press(tab, "Go on with The test")
        while title(tab) != "Ada":
            tab.wait()
        assert {urlsplit(asked).netloc for asked in tab.asked} <= {*hosts, other}
        look(tab, [f"{here.address}/me"], hosts)

    async def run() -> None:
        async with TestIssuer() as issuer:
            client = OidcIssuer(issuer=issuer.url, title="The test", client_id=CLIENT, client_secret=SECRET)
            ways = lambda address: WaysIn(address, passphrase=Passphrase(Admit.ASKED), oidc={"test": client})  # noqa: E731
            async with signing(tmp_path, ways) as here:
                issuer.now = here.now
                with browser() as tab:
                    await asyncio.to_thread(seen, here, tab, urlsplit(issuer.url).netloc)

    asyncio.run(run())
