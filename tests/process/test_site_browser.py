"""The page in a real browser: on a phone and on a desk, light and dark, by keyboard, and nothing from elsewhere."""

import asyncio
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from core.api.site_view import SitePerson, SiteView
from core.base.site.channel import SiteStart, framed
from core.site.database import Database, database_url
from core.site.people_book import PeopleBook
from tests.process.browser import PROGRAM, browser, is_here
from tests.process.test_site import free_port
from tests.process.test_site_try import CHILD
from tests.unit.site.views import ADA, AT, view

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not is_here(), reason=f"This needs the browser {PROGRAM}, of Debian's package of that name."),
]
PATHS = ("/", "/board", f"/board/{ADA.hex()}", "/teams", "/teams/1", "/model", "/try", "/news", "/about", "/nope")
WIDTHS = (360, 800, 1280)
START_S = 60.0
CONTRAST = 4.5
"""Least contrast of text (WCAG 2.2, 1.4.3)."""
SEEN = """(() => {
  const ink = getComputedStyle(document.body);
  const numbers = colour => colour.match(/[0-9.]+/g).map(Number);
  const light = colour => numbers(colour).slice(0, 3).map(part => part / 255).map(
    part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4).reduce(
    (sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const seenThrough = colour => numbers(colour)[3] === 0;
  const ground = one => {
    while (one && seenThrough(getComputedStyle(one).backgroundColor)) one = one.parentElement;
    return one ? getComputedStyle(one).backgroundColor : ink.backgroundColor;
  };
  const contrast = one => {
    const style = getComputedStyle(one);
    const both = [light(one.closest("svg") ? style.fill : style.color), light(ground(one))];
    return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
  };
  const written = [...document.querySelectorAll("body *")].filter(
    one => [...one.childNodes].some(part => part.nodeType === Node.TEXT_NODE && part.data.trim()));
  return {
    contrast: Math.min(...written.map(contrast)),
    wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    ground: ink.backgroundColor,
    size: Math.min(...[...document.querySelectorAll("p, td, th, dd, dt, a, text")].map(
      one => parseFloat(getComputedStyle(one).fontSize))),
    ran: Boolean(window.ran),
  };
})()"""
STATES = "states"
MODEL = (sys.executable, "-c", CHILD)
"""A child that stands for the one with torch."""
TEAM = "W" * 40
HOSTILE = "<script>window.ran = 1</script>" + "W" * 40


async def written_down(shown: SiteView, folder: Path) -> None:
    """Days of its people and a team, in the database of the page that is about to start."""
    database = Database(database_url("", folder))
    book = PeopleBook(database)
    for days, part in ((9, 0.1), (4, 0.4), (1, 0.7)):
        people = (msgspec.structs.replace(one, samples=int(one.samples * part)) for one in shown.people)
        book.look(msgspec.structs.replace(shown, at=AT - days * 86_400, people=tuple(people)))
        await book.close()
    await book.teams.found(ADA, TEAM, AT, has_given=True)
    database.close()


@contextmanager
def served(shown: SiteView, folder: Path) -> Iterator[str]:
    """The page's process, as a backbone starts it."""
    port = free_port()
    command = [sys.executable, "-m", "core.site", "127.0.0.1", str(port), str(folder / STATES), *MODEL]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        assert process.stdin is not None
        process.stdin.write(framed(SiteStart(str(folder))) + framed(shown))
        process.stdin.flush()
        address, until = f"http://127.0.0.1:{port}", time.monotonic() + START_S
        while True:
            with suppress(OSError), urllib.request.urlopen(f"{address}/", timeout=START_S):
                break
            assert time.monotonic() < until
            time.sleep(0.1)
        yield address
        process.stdin.close()
        assert process.wait(START_S) == 0
    finally:
        process.kill()
        process.wait()


def test_pages_fit_every_screen_and_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    asyncio.run(written_down(view(), tmp_path))
    people = (*view().people, SitePerson(4, HOSTILE, 1, 1, 0, bytes(16), (1,)))
    with served(view(name=HOSTILE, people=people), tmp_path) as address, browser() as tab:
        grounds = set()
        for path, width, dark in product(PATHS, WIDTHS, (False, True)):
            tab.open(f"{address}{path}", width=width, dark=dark)
            seen = tab.value(SEEN)
            assert not seen["wide"], (path, width)
            assert not seen["ran"]
            assert seen["size"] >= 12, (path, width)
            assert seen["contrast"] >= CONTRAST, (path, width, dark)
            assert {urlsplit(asked).netloc for asked in tab.asked} == {urlsplit(address).netloc}
            grounds.add((dark, seen["ground"]))
        assert len(grounds) == 2


def test_visitor_tries_the_model_by_keyboard(tmp_path: Path) -> None:
    with served(view(fills_blanks=True), tmp_path) as address, browser() as tab:
        tab.open(f"{address}/try", width=360, dark=False)
        tab.value("document.querySelector('textarea').focus()")
        tab.tell("Input.insertText", text="People bring their ___")
        assert tab.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        tab.press("Tab", 9)
        assert tab.value("document.activeElement.textContent") == "Ask the model"
        tab.submit("Enter", 13)
        assert "People bring their ___" in tab.value("document.querySelector('.said').textContent")
        assert tab.value("document.querySelector('textarea').value") == "People bring their ___"
        assert not tab.value(SEEN)["wide"]


def test_keyboard_reaches_every_link_and_shows_where_it_is(tmp_path: Path) -> None:
    with served(view(), tmp_path) as address, browser() as tab:
        tab.open(f"{address}/", width=1280, dark=False)
        reached = []
        for _ in range(tab.value("document.links.length")):
            tab.press("Tab", 9)
            reached.append(tab.value("document.activeElement.getAttribute('href')"))
            assert tab.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        assert reached == tab.value("[...document.links].map(one => one.getAttribute('href'))")
        assert reached[0] == "#main"
