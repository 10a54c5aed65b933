"""The backbone's side of the page's process: where it can be served, and what becomes of one that is stuck."""

import asyncio
import importlib.util
import os
import signal
from pathlib import Path
from random import Random

import pytest

from core.api.site_view import PEOPLE_MAX
from core.backbone import site_process
from core.backbone.site_process import SiteAddress, keep_site
from core.base.problems import BadInput, Busy
from tests.process.swarm import alive
from tests.process.test_site import free_port, read, site_of, until
from tests.unit.backbone.site_desk import NOW, desk, key

pytestmark = pytest.mark.process


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="Windows stops no process.")
def test_stuck_page_makes_way_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_process, "STUCK_S", 1.0)
    here, port = desk(tmp_path), free_port()
    here.gave({key(number): 2**40 - number for number in range(PEOPLE_MAX)})  # more than a pipe holds

    async def run() -> None:
        address = SiteAddress("127.0.0.1", port)
        page = asyncio.create_task(keep_site(address, here.facts, lambda: NOW, Random(1)))
        await until(lambda: "Letters" in read(port, "/"))
        stuck = site_of(os.getpid())
        assert stuck is not None
        stuck.suspend()
        await until(lambda: not alive(stuck.pid) and "Letters" in read(port, "/"))
        page.cancel()
        await asyncio.gather(page, return_exceptions=True)
        assert site_of(os.getpid()) is None

    asyncio.run(run())


def test_page_without_its_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(BadInput, match="needs Jinja2"):
        SiteAddress("127.0.0.1", free_port()).check()


def test_page_is_not_served_at_an_address_of_others() -> None:
    SiteAddress("127.0.0.1", free_port()).check()
    for host in ("203.0.113.9", "no.such.host.invalid"):
        with pytest.raises(Busy, match="cannot be served"):
            SiteAddress(host, free_port()).check()


def test_address_is_written_as_browsers_read_it() -> None:
    assert str(SiteAddress("127.0.0.1", 8420)) == "http://127.0.0.1:8420/"
    assert str(SiteAddress("::1", 8420)) == "http://[::1]:8420/"
