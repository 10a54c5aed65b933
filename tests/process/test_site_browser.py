"""The page in a real browser: on a phone and on a desk, light and dark, by keyboard, and nothing from elsewhere."""

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

from core.api.site_view import LENGTH_BYTES, SitePerson, SiteView
from tests.process.browser import PROGRAM, browser, is_here
from tests.process.test_site import free_port
from tests.unit.site.views import view

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not is_here(), reason=f"This needs the browser {PROGRAM}, of Debian's package of that name."),
]
PATHS = ("/", "/board", "/model", "/news", "/about", "/nope")
WIDTHS = (360, 800, 1280)
START_S = 60.0
SEEN = """(() => {
  const ink = getComputedStyle(document.body);
  return {
    wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    ground: ink.backgroundColor,
    size: Math.min(...[...document.querySelectorAll("p, td, th, dd, dt, a, text")].map(
      one => parseFloat(getComputedStyle(one).fontSize))),
    ran: Boolean(window.ran),
  };
})()"""
HOSTILE = "<script>window.ran = 1</script>" + "W" * 40


@contextmanager
def served(shown: SiteView, folder: Path) -> Iterator[str]:
    """The page's process, as a backbone starts it."""
    port = free_port()
    command = [sys.executable, "-m", "core.site", "127.0.0.1", str(port), str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        data = msgspec.msgpack.encode(shown)
        assert process.stdin is not None
        process.stdin.write(len(data).to_bytes(LENGTH_BYTES, "big") + data)
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
    people = (*view().people, SitePerson(4, HOSTILE, 1, 1, 0))
    with served(view(name=HOSTILE, people=people), tmp_path) as address, browser() as tab:
        grounds = set()
        for path, width, dark in product(PATHS, WIDTHS, (False, True)):
            tab.open(f"{address}{path}", width=width, dark=dark)
            seen = tab.value(SEEN)
            assert not seen["wide"], (path, width)
            assert not seen["ran"]
            assert seen["size"] >= 12, (path, width)
            assert {urlsplit(asked).netloc for asked in tab.asked} == {urlsplit(address).netloc}
            grounds.add((dark, seen["ground"]))
        assert len(grounds) == 2


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
